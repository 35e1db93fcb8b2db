// Number words, checked by hand in each language.
#include <gtest/gtest.h>

#include <set>

#include "headlight/data/data.h"
#include "tests/autograd/fixture.h"

namespace headlight::data {
namespace {

using Case = std::pair<int64_t, const char*>;

template <size_t kCount>
void expect_words(NumberLanguage language, const Case (&cases)[kCount]) {
  for (const auto& [number, words] : cases) EXPECT_EQ(number_words(number, language), words);
}

TEST(NumberWords, in_english_have_hyphens_and_no_and) {
  expect_words(NumberLanguage::english,
               {{0, "zero"},
                {1, "one"},
                {7, "seven"},
                {10, "ten"},
                {11, "eleven"},
                {12, "twelve"},
                {13, "thirteen"},
                {15, "fifteen"},
                {18, "eighteen"},
                {19, "nineteen"},
                {20, "twenty"},
                {21, "twenty-one"},
                {40, "forty"},
                {85, "eighty-five"},
                {99, "ninety-nine"},
                {100, "one hundred"},
                {101, "one hundred one"},
                {110, "one hundred ten"},
                {111, "one hundred eleven"},
                {205, "two hundred five"},
                {999, "nine hundred ninety-nine"},
                {1000, "one thousand"},
                {1001, "one thousand one"},
                {1010, "one thousand ten"},
                {1100, "one thousand one hundred"},
                {2345, "two thousand three hundred forty-five"},
                {10000, "ten thousand"},
                {10001, "ten thousand one"},
                {12300, "twelve thousand three hundred"},
                {21000, "twenty-one thousand"},
                {100000, "one hundred thousand"},
                {100001, "one hundred thousand one"},
                {101000, "one hundred one thousand"},
                {110013, "one hundred ten thousand thirteen"},
                {345678, "three hundred forty-five thousand six hundred seventy-eight"},
                {999999, "nine hundred ninety-nine thousand nine hundred ninety-nine"}});
}

TEST(NumberWords, in_turkish_do_not_say_one_before_hundred_and_thousand) {
  expect_words(NumberLanguage::turkish,
               {{0, "sıfır"},
                {1, "bir"},
                {2, "iki"},
                {3, "üç"},
                {4, "dört"},
                {5, "beş"},
                {6, "altı"},
                {7, "yedi"},
                {8, "sekiz"},
                {9, "dokuz"},
                {10, "on"},
                {11, "on bir"},
                {19, "on dokuz"},
                {20, "yirmi"},
                {34, "otuz dört"},
                {41, "kırk bir"},
                {52, "elli iki"},
                {63, "altmış üç"},
                {77, "yetmiş yedi"},
                {88, "seksen sekiz"},
                {99, "doksan dokuz"},
                {100, "yüz"},
                {101, "yüz bir"},
                {110, "yüz on"},
                {205, "iki yüz beş"},
                {999, "dokuz yüz doksan dokuz"},
                {1000, "bin"},
                {1001, "bin bir"},
                {1100, "bin yüz"},
                {1453, "bin dört yüz elli üç"},
                {2000, "iki bin"},
                {10000, "on bin"},
                {10001, "on bin bir"},
                {11000, "on bir bin"},
                {12300, "on iki bin üç yüz"},
                {100000, "yüz bin"},
                {101000, "yüz bir bin"},
                {100100, "yüz bin yüz"},
                {345678, "üç yüz kırk beş bin altı yüz yetmiş sekiz"},
                {999999, "dokuz yüz doksan dokuz bin dokuz yüz doksan dokuz"}});
}

TEST(NumberWords, in_azerbaijani_have_their_own_spellings) {
  expect_words(NumberLanguage::azerbaijani,
               {{0, "sıfır"},
                {1, "bir"},
                {2, "iki"},
                {3, "üç"},
                {4, "dörd"},
                {5, "beş"},
                {6, "altı"},
                {7, "yeddi"},
                {8, "səkkiz"},
                {9, "doqquz"},
                {10, "on"},
                {11, "on bir"},
                {18, "on səkkiz"},
                {20, "iyirmi"},
                {34, "otuz dörd"},
                {41, "qırx bir"},
                {52, "əlli iki"},
                {63, "altmış üç"},
                {77, "yetmiş yeddi"},
                {88, "səksən səkkiz"},
                {99, "doxsan doqquz"},
                {100, "yüz"},
                {101, "yüz bir"},
                {110, "yüz on"},
                {205, "iki yüz beş"},
                {1000, "min"},
                {1001, "min bir"},
                {1100, "min yüz"},
                {1918, "min doqquz yüz on səkkiz"},
                {2000, "iki min"},
                {10000, "on min"},
                {10001, "on min bir"},
                {12300, "on iki min üç yüz"},
                {100000, "yüz min"},
                {101000, "yüz bir min"},
                {345678, "üç yüz qırx beş min altı yüz yetmiş səkkiz"},
                {999999, "doqquz yüz doxsan doqquz min doqquz yüz doxsan doqquz"}});
}

TEST(NumberWords, in_korean_are_grouped_by_ten_thousands) {
  expect_words(NumberLanguage::korean, {{0, "영"},
                                        {1, "일"},
                                        {2, "이"},
                                        {3, "삼"},
                                        {4, "사"},
                                        {5, "오"},
                                        {6, "육"},
                                        {7, "칠"},
                                        {8, "팔"},
                                        {9, "구"},
                                        {10, "십"},
                                        {11, "십일"},
                                        {20, "이십"},
                                        {36, "삼십육"},
                                        {99, "구십구"},
                                        {100, "백"},
                                        {101, "백일"},
                                        {110, "백십"},
                                        {111, "백십일"},
                                        {205, "이백오"},
                                        {999, "구백구십구"},
                                        {1000, "천"},
                                        {1001, "천일"},
                                        {1010, "천십"},
                                        {1100, "천백"},
                                        {1111, "천백십일"},
                                        {2024, "이천이십사"},
                                        {10000, "만"},
                                        {10001, "만 일"},
                                        {11000, "만 천"},
                                        {12300, "만 이천삼백"},
                                        {20000, "이만"},
                                        {34567, "삼만 사천오백육십칠"},
                                        {100000, "십만"},
                                        {100001, "십만 일"},
                                        {101000, "십만 천"},
                                        {110000, "십일만"},
                                        {111111, "십일만 천백십일"},
                                        {210000, "이십일만"},
                                        {345678, "삼십사만 오천육백칠십팔"},
                                        {999999, "구십구만 구천구백구십구"}});
}

// In each form of the language, in the order of number_forms().
template <size_t kCount>
void expect_forms(NumberLanguage language, int64_t number, const char* const (&expected)[kCount]) {
  const std::span<const NumberForm> forms = number_forms(language);
  ASSERT_EQ(forms.size(), kCount);
  for (size_t i = 0; i < kCount; ++i)
    EXPECT_EQ(number_words(number, forms[i]), expected[i]) << forms[i].name;
}

TEST(NumberForms, in_english_differ_in_hyphens_and_a_and_hundreds) {
  using enum NumberLanguage;
  expect_forms(
      english, 21,
      {"twenty-one", "twenty-one", "twenty one", "twenty one", "twenty-one", "twenty-one"});
  expect_forms(
      english, 100,
      {"one hundred", "one hundred", "one hundred", "one hundred", "a hundred", "one hundred"});
  expect_forms(
      english, 123,
      {"one hundred twenty-three", "one hundred and twenty-three", "one hundred twenty three",
       "one hundred and twenty three", "a hundred and twenty-three", "one hundred twenty-three"});
  expect_forms(english, 1001,
               {"one thousand one", "one thousand and one", "one thousand one",
                "one thousand and one", "a thousand and one", "one thousand one"});
  expect_forms(english, 1234,
               {"one thousand two hundred thirty-four", "one thousand two hundred and thirty-four",
                "one thousand two hundred thirty four", "one thousand two hundred and thirty four",
                "a thousand two hundred and thirty-four", "twelve hundred thirty-four"});
  expect_forms(english, 2000,
               {"two thousand", "two thousand", "two thousand", "two thousand", "two thousand",
                "two thousand"});
  expect_forms(english, 101100,
               {"one hundred one thousand one hundred", "one hundred and one thousand one hundred",
                "one hundred one thousand one hundred", "one hundred and one thousand one hundred",
                "a hundred and one thousand one hundred", "one hundred one thousand one hundred"});
}

TEST(NumberForms, in_turkish_are_apart_joined_or_grouped) {
  using enum NumberLanguage;
  expect_forms(turkish, 10, {"on", "on", "on"});
  expect_forms(turkish, 123, {"yüz yirmi üç", "yüzyirmiüç", "yüzyirmiüç"});
  expect_forms(turkish, 1000, {"bin", "bin", "bin"});
  expect_forms(turkish, 345678,
               {"üç yüz kırk beş bin altı yüz yetmiş sekiz", "üçyüzkırkbeşbinaltıyüzyetmişsekiz",
                "üçyüzkırkbeşbin altıyüzyetmişsekiz"});
}

TEST(NumberForms, in_azerbaijani_are_apart_or_joined_and_may_say_one) {
  using enum NumberLanguage;
  expect_forms(azerbaijani, 100, {"yüz", "yüz", "bir yüz"});
  expect_forms(azerbaijani, 1100, {"min yüz", "minyüz", "bir min bir yüz"});
  expect_forms(azerbaijani, 121000,
               {"yüz iyirmi bir min", "yüziyirmibirmin", "bir yüz iyirmi bir min"});
}

TEST(NumberForms, in_korean_differ_in_spaces_and_may_say_one) {
  using enum NumberLanguage;
  expect_forms(korean, 10000, {"만", "만", "만", "일만", "일만"});
  expect_forms(korean, 11, {"십일", "십일", "십 일", "일십일", "일십일"});
  expect_forms(korean, 12300,
               {"만 이천삼백", "만이천삼백", "만 이천 삼백", "일만 이천삼백", "일만이천삼백"});
  expect_forms(korean, 111111,
               {"십일만 천백십일", "십일만천백십일", "십일만 천 백 십 일",
                "일십일만 일천일백일십일", "일십일만일천일백일십일"});
  expect_forms(korean, 345678,
               {"삼십사만 오천육백칠십팔", "삼십사만오천육백칠십팔", "삼십사만 오천 육백 칠십 팔",
                "삼십사만 오천육백칠십팔", "삼십사만오천육백칠십팔"});
}

TEST(NumberForms, are_read_back_below_100000_and_in_samples_above) {
  for (const NumberLanguage language : kNumberLanguages) {
    for (const NumberForm& form : number_forms(language)) {
      for (int64_t number = 0; number <= kLargestNumber; number += number < 100000 ? 1 : 89) {
        const std::string words = number_words(number, form);
        ASSERT_EQ(read_number_words(words), number) << words;
      }
      ASSERT_EQ(read_number_words(number_words(kLargestNumber, form)), kLargestNumber);
    }
  }
}

TEST(NumberForms, are_read_when_they_are_mixed) {
  for (const NumberLanguage language : kNumberLanguages) {
    const std::span<const NumberForm> forms = number_forms(language);
    for (int64_t number = 0; number <= kLargestNumber; number += number < 3000 ? 1 : 331) {
      const base::Random random(static_cast<uint64_t>(number));
      uint64_t next = 0;
      const std::string words = number_words(number, language, [&](NumberHabit habit) {
        return forms[random.below(next++, forms.size())].has(habit);
      });
      ASSERT_EQ(read_number_words(words), number) << words;
    }
  }
}

TEST(NumberWords, that_nobody_writes_are_not_read) {
  for (const char* words : {"",
                            " ",
                            "-",
                            "hello",
                            "and",
                            "a",
                            "a one",
                            "one a",
                            "hundred",
                            "thousand",
                            "one one",
                            "one hundred and",
                            "and one",
                            "one thousand and one hundred",
                            "zero one",
                            "twenty-eleven",
                            "twenty hundred",
                            "ten hundred",
                            "one thousand thousand",
                            "one million",
                            "twentyone",
                            "one hundred two hundred",
                            "one  two",
                            "one ",
                            "bir bin",
                            "bin bin",
                            "on on",
                            "yüz on on",
                            "iki sıfır",
                            "yi rmi",
                            "on-bir",
                            "min yüz yüz",
                            "만만",
                            "백만",
                            "일일",
                            "삼 천",
                            "십 일만",
                            "영일",
                            "만 ",
                            " 만",
                            "천만",
                            "1",
                            "42",
                            "one hundred 42"}) {
    EXPECT_EQ(read_number_words(words), std::nullopt) << words;
  }
}

TEST(NumberWords, of_different_numbers_differ_and_are_nfc) {
  for (const NumberLanguage language : kNumberLanguages) {
    std::set<std::string> seen;
    for (int64_t number = 0; number <= kLargestNumber; number += number < 2000 ? 1 : 37) {
      const std::string words = number_words(number, language);
      ASSERT_TRUE(seen.insert(words).second) << words;
    }
    for (const int64_t number : {345678, 999999, 0, 19283}) {
      const std::string words = number_words(number, language);
      EXPECT_EQ(text::normalized(words, text::NormalForm::nfc), words);
    }
  }
}

TEST(NumberWords, end_below_a_million) {
  const auto refusal = [](int64_t number) {
    return tests::error_of([number] { number_words(number, NumberLanguage::korean); });
  };
  EXPECT_EQ(refusal(1000000), "number words: 1000000 is not within 0 and 999999");
  EXPECT_EQ(refusal(-1), "number words: -1 is not within 0 and 999999");
}

TEST(NumberWords, know_the_code_of_each_language) {
  std::string codes;
  for (const NumberLanguage language : kNumberLanguages) codes += language_code(language);
  EXPECT_EQ(codes, "entrazko");
}

}  // namespace
}  // namespace headlight::data
