// The embedded model `numbers` on what people try, in every form; and, longer, its whole exam.
#include "tests/recipes/support.h"

namespace headlight::recipes {
namespace {

// The first that people try when they have a model that reads number words.
constexpr int64_t kNumbersPeopleTry[] = {
    0,      1,      2,      3,      4,      5,      6,      7,      8,      9,      10,     11,
    12,     13,     14,     15,     16,     17,     18,     19,     20,     21,     22,     30,
    33,     40,     42,     44,     50,     55,     60,     66,     70,     77,     80,     88,
    90,     99,     100,    101,    102,    110,    111,    112,    115,    120,    123,    142,
    150,    199,    200,    201,    205,    210,    222,    250,    300,    333,    365,    404,
    500,    512,    555,    600,    666,    700,    750,    777,    800,    888,    900,    909,
    911,    987,    990,    999,    1000,   1001,   1002,   1010,   1011,   1024,   1100,   1101,
    1110,   1111,   1200,   1234,   1453,   1492,   1500,   1900,   1918,   1919,   1923,   1945,
    1950,   1984,   1988,   1999,   2000,   2001,   2002,   2010,   2020,   2023,   2024,   2025,
    2026,   2100,   2222,   2345,   2500,   3000,   3333,   4000,   4321,   5000,   5555,   6000,
    6789,   7000,   7777,   8000,   8888,   9000,   9876,   9990,   9999,   10000,  10001,  10002,
    10010,  10011,  10100,  10101,  11000,  11001,  11011,  11111,  12000,  12300,  12345,  15000,
    16384,  19000,  20000,  20001,  20020,  22222,  25000,  30000,  32768,  33333,  40000,  50000,
    50005,  54321,  60000,  65536,  70000,  77777,  80000,  88888,  90000,  90009,  98765,  99000,
    99099,  99999,  100000, 100001, 100002, 100010, 100011, 100100, 100101, 101000, 101010, 101101,
    110000, 110011, 111000, 111111, 120000, 123000, 123456, 150000, 199999, 200000, 200002, 202020,
    222222, 234567, 250000, 300000, 303030, 333333, 345678, 400000, 444444, 500000, 500005, 505050,
    512512, 555555, 600000, 654321, 666666, 700000, 700007, 750000, 777777, 800000, 888888, 900000,
    900007, 900009, 909090, 987654, 990000, 990099, 999000, 999001, 999900, 999990, 999998, 999999};

class NumbersModel : public testing::Test {
 protected:
  // What the model answers, by the tokenizer that comes with it.
  std::vector<std::string> answers(const std::vector<std::string>& texts) {
    std::vector<std::vector<int64_t>> sources;
    for (const std::string& text : texts) sources.push_back(tokenizer_.encode(text));
    tensor::Arena arena;
    autograd::Context context{.threads = threads_, .arena = arena};
    std::vector<std::string> answers;
    for (const auto& found : translate(context, *loaded_.model, tokenizer_, sources))
      answers.push_back(found.front().text);
    return answers;
  }

  FilesWithEmbedded files_;
  base::ThreadPool threads_{2};
  LoadedModel loaded_ = load_named_model(files_, "numbers");
  text::Tokenizer tokenizer_ = need_tokenizer(files_, loaded_);
};

TEST_F(NumbersModel, has_the_tokenizer_of_its_task) {
  EXPECT_EQ(tokenizer_.json(), data::generated_task("numbers")->tokenizer().json());
}

TEST_F(NumbersModel, reads_the_numbers_people_try_in_every_form) {
  for (const data::NumberLanguage language : data::kNumberLanguages) {
    for (const data::NumberForm& form : data::number_forms(language)) {
      std::vector<std::string> words;
      for (const int64_t number : kNumbersPeopleTry)
        words.push_back(data::number_words(number, form));
      const std::vector<std::string> read = answers(words);
      for (size_t i = 0; i < words.size(); ++i)
        EXPECT_EQ(read[i], std::to_string(kNumbersPeopleTry[i])) << words[i];
    }
  }
}

TEST_F(NumbersModel, reads_words_as_they_are_typed) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"ten thousand", "10000"},
      {"on bin", "10000"},
      {"천", "1000"},
      {"만", "10000"},
      {"One Hundred And Forty-Two.", "142"},
      {"  a   thousand ", "1000"},
      {"ONE THOUSAND, TWO HUNDRED", "1200"},
      {"Nineteen Hundred Eighty-Four", "1984"},
      {"YÜZ KIRK İKİ", "142"},
      {"yuz kirk iki bin alti yuz altmis", "142660"},
      {"yüz kırkiki", "142"},
      {"BİR MİN ALTMIŞ ALTI", "1066"},
      {"sekkiz yuz qirx dord", "844"},
      {"일만이천삼백사십오", "12345"},
      {"\u1109\u1161\u11b7\u1106\u1161\u11ab\u110b\u1169\u1107\u1162\u11a8", "30500"}};
  std::vector<std::string> words;
  for (const auto& [typed, digits] : cases) words.push_back(typed);
  const std::vector<std::string> read = answers(words);
  for (size_t i = 0; i < cases.size(); ++i) EXPECT_EQ(read[i], cases[i].second) << words[i];
}

TEST_F(NumbersModel, is_known_to_be_asked_for_number_words) {
  const TaskSources sources(files_, loaded_.folder);
  sources.check("translate", "", "one hundred");
  expect_refused(
      ErrorKind::bad_input, [&] { sources.check("translate", "--text", "hello"); },
      "translate (--text): \"hello\" is no number from 0 to 999999");
  TaskSources(files_, "embedded:stories").check("translate", "", "hello");
}

TEST_F(NumbersModel, of_a_folder_is_known_by_the_run_that_trained_it) {
  const TemporaryFolder folder;
  EXPECT_EQ(generated_task_of(files_, folder.path()), "");
  folder.put("run.json", R"({"task":"numbers"})");
  EXPECT_EQ(generated_task_of(files_, folder.path()), "numbers");
  for (const char* other :
       {R"({"task":"translate"})", R"({"task":"sort"})", R"({"task":1})", "[]", "{"}) {
    folder.put("run.json", other);
    EXPECT_EQ(generated_task_of(files_, folder.path()), "") << other;
  }
}

// All held-out numbers of six digits and all below 10,000 are half a million cases.
using LongNumbersModel = NumbersModel;
TEST_F(LongNumbersModel, reads_995_of_1000_in_every_part_of_the_exam_and_form) {
  const auto task = data::generated_task("numbers");
  const ExactMatch result =
      exact_match(threads_, *loaded_.model, *task, {.scope = ExamScope::whole});
  EXPECT_GE(result.all, 0.995);
  ASSERT_EQ(result.forms.size(), 17u);
  for (const ExamForm& form : result.forms) {
    for (const auto& [part, count] : form.parts) {
      EXPECT_GE(count.share(), 0.995) << form.kind << " " << form.form << " " << part << ": "
                                      << count.right << " of " << count.cases;
    }
  }
}

}  // namespace
}  // namespace headlight::recipes
