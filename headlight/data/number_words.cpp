// How each language puts the words of a number together.
#include "headlight/data/number_words.h"

#include "headlight/base/base.h"
#include "headlight/data/number_lexicon.h"

namespace headlight::data {
namespace {

using enum NumberHabit;

constexpr unsigned with(std::initializer_list<NumberHabit> habits) {
  unsigned all = 0;
  for (const NumberHabit habit : habits) all |= static_cast<unsigned>(habit);
  return all;
}

constexpr NumberLanguage kEn = NumberLanguage::english, kTr = NumberLanguage::turkish,
                         kAz = NumberLanguage::azerbaijani, kKo = NumberLanguage::korean;

constexpr NumberForm kEnglishForms[] = {
    {kEn, "hyphens", with({hyphen, space_words, space_groups})},
    {kEn, "hyphens_and", with({hyphen, say_and, space_words, space_groups})},
    {kEn, "words", with({space_words, space_groups})},
    {kEn, "words_and", with({say_and, space_words, space_groups})},
    {kEn, "a_hundred", with({hyphen, say_and, say_a, space_words, space_groups})},
    {kEn, "twelve_hundred", with({hyphen, count_hundreds, space_words, space_groups})}};
constexpr NumberForm kTurkishForms[] = {{kTr, "apart", with({space_words, space_groups})},
                                        {kTr, "joined", with({})},
                                        {kTr, "groups", with({space_groups})}};
constexpr NumberForm kAzerbaijaniForms[] = {
    {kAz, "apart", with({space_words, space_groups})},
    {kAz, "joined", with({})},
    {kAz, "ones", with({say_one, space_words, space_groups})}};
constexpr NumberForm kKoreanForms[] = {{kKo, "groups", with({space_groups})},
                                       {kKo, "joined", with({})},
                                       {kKo, "apart", with({space_words, space_groups})},
                                       {kKo, "ones", with({say_one, space_groups})},
                                       {kKo, "ones_joined", with({say_one})}};

// Words one after the other, of one number.
class Writer {
 public:
  explicit Writer(const NumberHabits& has) : has_(has) {}

  bool has(NumberHabit habit) const { return has_(habit); }
  bool is_empty() const { return text_.empty(); }
  void begin_group() { is_new_group_ = true; }

  void add(std::string_view word) {
    if (!text_.empty() && has_(is_new_group_ ? space_groups : space_words)) text_ += ' ';
    is_new_group_ = false;
    text_ += word;
  }
  void add_behind(std::string_view between, std::string_view word) {
    text_.append(between).append(word);
  }
  std::string take() { return std::move(text_); }

 private:
  const NumberHabits& has_;
  std::string text_;
  bool is_new_group_ = false;
};

// A number in a language that counts in thousands.
class ThousandsWriter {
 public:
  ThousandsWriter(const NumberLexicon& words, const NumberHabits& has)
      : words_(words), writer_(has) {}

  std::string write(int64_t number) {
    const int64_t hundreds = number / 100;
    if (number == 0) {
      writer_.add(words_.small[0]);
    } else if (words_.is_english && hundreds > 10 && hundreds < 100 && hundreds % 10 != 0 &&
               writer_.has(count_hundreds)) {
      add_below_hundred(hundreds);
      writer_.add(words_.hundred);
      add_rest_of_hundreds(number % 100);
    } else {
      add_thousands(number / 1000);
      if (number >= 1000 && number % 1000 < 100) {
        add_rest_of_hundreds(number % 1000);
      } else {
        add_below_thousand(number % 1000);
      }
    }
    return writer_.take();
  }

 private:
  void add_thousands(int64_t thousands) {
    if (thousands == 0) return;
    if (thousands == 1) {
      add_one();
    } else {
      add_below_thousand(thousands);
    }
    writer_.add(words_.thousand);
    writer_.begin_group();
  }

  void add_below_thousand(int64_t number) {
    const int64_t hundreds = number / 100;
    if (hundreds == 1) add_one();
    if (hundreds > 1) writer_.add(words_.small[static_cast<size_t>(hundreds)]);
    if (hundreds > 0) {
      writer_.add(words_.hundred);
      add_rest_of_hundreds(number % 100);
    } else {
      add_below_hundred(number);
    }
  }

  // The one of one hundred and one thousand.
  void add_one() {
    if (words_.is_english) {
      writer_.add(writer_.is_empty() && writer_.has(say_a) ? "a" : words_.small[1]);
    } else if (words_.may_say_one && writer_.has(say_one)) {
      writer_.add(words_.small[1]);
    }
  }

  // What is below a hundred, behind hundreds or thousands.
  void add_rest_of_hundreds(int64_t number) {
    if (number > 0 && words_.is_english && writer_.has(say_and)) writer_.add("and");
    add_below_hundred(number);
  }

  void add_below_hundred(int64_t number) {
    if (number == 0) return;
    if (number < (words_.is_english ? 20 : 10)) {
      writer_.add(words_.small[static_cast<size_t>(number)]);
      return;
    }
    writer_.add(words_.tens[static_cast<size_t>(number / 10)]);
    if (number % 10 == 0) return;
    const std::string_view last = words_.small[static_cast<size_t>(number % 10)];
    if (words_.is_english && writer_.has(hyphen)) {
      writer_.add_behind("-", last);
    } else {
      writer_.add(last);
    }
  }

  const NumberLexicon& words_;
  Writer writer_;
};

// Up to 9,999: digits with their places. What is before the ten thousand is one word.
void add_korean_group(Writer& writer, int64_t number, bool is_one_word) {
  bool is_first = true;
  const auto add = [&](std::string_view digit, std::string_view place) {
    const std::string text = std::string(digit).append(place);
    if (is_first || !is_one_word) {
      writer.add(text);
    } else {
      writer.add_behind("", text);
    }
    is_first = false;
  };
  int64_t unit = 1000;
  for (const std::string_view place : kKoreanPlaces) {
    const int64_t digit = number / unit % 10;
    unit /= 10;
    if (digit == 0) continue;
    const bool is_said = digit > 1 || writer.has(say_one);
    add(is_said ? kKoreanDigits[static_cast<size_t>(digit)] : "", place);
  }
  if (number % 10 > 0) add(kKoreanDigits[static_cast<size_t>(number % 10)], "");
}

std::string in_korean(int64_t number, const NumberHabits& has) {
  if (number == 0) return std::string(kKoreanZero);
  Writer writer(has);
  const int64_t ten_thousands = number / 10000;
  if (ten_thousands > 1 || (ten_thousands == 1 && has(say_one)))
    add_korean_group(writer, ten_thousands, true);
  if (ten_thousands > 0) {
    writer.add_behind("", kKoreanTenThousand);
    writer.begin_group();
  }
  add_korean_group(writer, number % 10000, false);
  return writer.take();
}

}  // namespace

std::string_view language_code(NumberLanguage language) {
  constexpr std::array<std::string_view, 4> kCodes = {"en", "tr", "az", "ko"};
  return kCodes[static_cast<size_t>(language)];
}

std::span<const NumberForm> number_forms(NumberLanguage language) {
  switch (language) {
    case NumberLanguage::english:
      return kEnglishForms;
    case NumberLanguage::turkish:
      return kTurkishForms;
    case NumberLanguage::azerbaijani:
      return kAzerbaijaniForms;
    case NumberLanguage::korean:
      return kKoreanForms;
  }
  return {};
}

std::string number_words(int64_t number, NumberLanguage language, const NumberHabits& has) {
  if (number < 0 || number > kLargestNumber) {
    throw base::Error(
        base::ErrorKind::bad_input, "number words", "",
        std::to_string(number) + " is not within 0 and " + std::to_string(kLargestNumber));
  }
  switch (language) {
    case NumberLanguage::english:
      return ThousandsWriter(kEnglishNumbers, has).write(number);
    case NumberLanguage::turkish:
      return ThousandsWriter(kTurkishNumbers, has).write(number);
    case NumberLanguage::azerbaijani:
      return ThousandsWriter(kAzerbaijaniNumbers, has).write(number);
    case NumberLanguage::korean:
      return in_korean(number, has);
  }
  return {};
}

std::string number_words(int64_t number, const NumberForm& form) {
  return number_words(number, form.language, [&](NumberHabit habit) { return form.has(habit); });
}

std::string number_words(int64_t number, NumberLanguage language) {
  return number_words(number, number_forms(language).front());
}

}  // namespace headlight::data
