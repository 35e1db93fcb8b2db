// Generated tasks: what they draw, and what they hold out.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "headlight/io/io.h"
#include "tests/data/support.h"

namespace headlight::data {
namespace {

// The rows of a batch without padding, start and end.
std::vector<TokenPair> pairs_of(const PairBatch& batch) {
  std::vector<TokenPair> pairs;
  for (size_t row = 0; row < static_cast<size_t>(batch.source_ids.size(0)); ++row) {
    TokenPair pair{row_of(batch.source_ids, row), row_of(batch.targets, row)};
    pair.source.resize(static_cast<size_t>(batch.source_lens.data<int64_t>()[row]));
    pair.target.resize(static_cast<size_t>(batch.target_lens.data<int64_t>()[row]) - 1);
    pairs.push_back(pair);
  }
  return pairs;
}

// Those of all batches that were drawn together.
std::vector<TokenPair> pool_of(const GeneratedTask& task, int64_t rows) {
  std::vector<TokenPair> all;
  for (uint64_t step = 0; step < GeneratedTask::kBatchPool; ++step) {
    for (TokenPair& pair : pairs_of(task.batch(1, step, rows))) all.push_back(std::move(pair));
  }
  return all;
}

TEST(GeneratedTask, puts_cases_of_similar_length_together) {
  const auto task = generated_task("numbers");
  int64_t tokens = 0, places = 0;
  for (uint64_t step = 0; step < GeneratedTask::kBatchPool; ++step) {
    const PairBatch batch = task->batch(1, step, 64);
    places += batch.source_ids.elements();
    for (int64_t row = 0; row < 64; ++row) tokens += batch.source_lens.data<int64_t>()[row];
  }
  EXPECT_LT(places, tokens + tokens / 2);
}

TEST(GeneratedTask, depends_on_seed_and_step_alone) {
  for (const char* name : {"copy", "reverse", "numbers"}) {
    const auto task = generated_task(name), again = generated_task(name);
    EXPECT_TRUE(same(task->batch(1, 2, 16), again->batch(1, 2, 16)));
    EXPECT_FALSE(same(task->batch(1, 2, 16), task->batch(1, 3, 16)));
    EXPECT_FALSE(same(task->batch(1, 2, 16), task->batch(2, 2, 16)));
  }
}

TEST(GeneratedTask, never_trains_on_what_is_held_out) {
  for (const char* name : {"copy", "reverse", "numbers"}) {
    const auto task = generated_task(name);
    std::set<std::vector<int64_t>> held_out;
    for (const TaskCases& cases : task->held_out(2000)) {
      for (int64_t i = 0; i < cases.pairs.size(); ++i) held_out.insert(cases.pairs.source(i));
    }
    for (uint64_t step = 0; step < 100; ++step) {
      for (const TokenPair& pair : pairs_of(task->batch(9, step, 100))) {
        EXPECT_FALSE(held_out.contains(pair.source));
      }
    }
  }
}

TEST(GeneratedTask, holds_out_the_same_different_cases_every_time) {
  for (const char* name : {"copy", "reverse", "numbers"}) {
    const auto first = generated_task(name)->held_out(300),
               second = generated_task(name)->held_out(300);
    ASSERT_EQ(first.size(), second.size());
    for (size_t kind = 0; kind < first.size(); ++kind) {
      std::set<std::vector<int64_t>> sources;
      const int64_t count = first[kind].pairs.size();
      ASSERT_EQ(count, second[kind].pairs.size());
      if (first[kind].form != "twelve_hundred") {  // there are not so many
        ASSERT_EQ(count, 300);
      }
      for (int64_t i = 0; i < count; ++i) {
        EXPECT_EQ(first[kind].pairs.source(i), second[kind].pairs.source(i));
        sources.insert(first[kind].pairs.source(i));
      }
      EXPECT_EQ(std::ssize(sources), count);
    }
  }
}

TEST(GeneratedTask, of_another_name_is_refused) {
  try {
    generated_task("sort");
    FAIL();
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::usage);
    EXPECT_STREQ(error.what(),
                 "task (sort): is not generated; generated are numbers, copy, reverse");
  }
}

TEST(CopyTask, repeats_ten_numbers_in_a_vocabulary_of_eleven) {
  const auto task = generated_task("copy");
  EXPECT_EQ(task->tokenizer().size(), 11);
  EXPECT_EQ(task->longest_source(), 10);
  std::set<int64_t> seen;
  for (const TokenPair& pair : pairs_of(task->batch(1, 1, 200))) {
    EXPECT_EQ(pair.source.size(), 10U);
    EXPECT_EQ(pair.target, pair.source);
    seen.insert(pair.source.begin(), pair.source.end());
    EXPECT_EQ(task->tokenizer().encode(task->tokenizer().decode(pair.source)), pair.source);
  }
  EXPECT_EQ(seen.size(), 8U);
  for (const int64_t id : {task->ids().pad, task->ids().start, task->ids().end}) {
    EXPECT_FALSE(seen.contains(id));
  }
}

TEST(ReverseTask, turns_up_to_25_numbers_round_with_all_lengths_as_likely) {
  const auto task = generated_task("reverse");
  EXPECT_EQ(task->tokenizer().size(), 53);
  EXPECT_EQ(task->longest_source(), 25);
  EXPECT_EQ(task->tokenizer().token(task->tokenizer().size() - 1), "49");
  std::map<size_t, int> lengths;
  std::set<int64_t> seen;
  for (TokenPair& pair : pool_of(*task, 625)) {
    ++lengths[pair.source.size()];
    seen.insert(pair.source.begin(), pair.source.end());
    std::reverse(pair.target.begin(), pair.target.end());
    EXPECT_EQ(pair.target, pair.source);
  }
  EXPECT_EQ(seen.size(), 50U);
  EXPECT_EQ(lengths.size(), 25U);
  EXPECT_EQ(lengths.rbegin()->first, 25U);
  for (const auto& [length, times] : lengths) EXPECT_NEAR(times, 200, 60) << length;
}

// The number that a case asks for.
int64_t number_of(const GeneratedTask& task, const std::vector<int64_t>& target) {
  return io::parse_number<int64_t>(task.tokenizer().decode(target)).value();
}

TEST(NumbersTask, gives_words_to_digits_with_all_lengths_as_likely) {
  const auto task = generated_task("numbers");
  std::map<size_t, int> lengths;
  std::map<std::string, int> languages;
  for (const TokenPair& pair : pool_of(*task, 375)) {
    const std::string words = task->tokenizer().decode(pair.source);
    const std::string digits = task->tokenizer().decode(pair.target);
    ++lengths[digits.size()];
    const int64_t number = number_of(*task, pair.target);
    EXPECT_NE(number % 97, 13);
    EXPECT_EQ(read_number_words(words), number) << words;
    EXPECT_EQ(task->tokenizer().encode(words), pair.source) << "as the tokenizer has it";
    for (const NumberLanguage language : kNumberLanguages) {
      for (const NumberForm& form : number_forms(language)) {
        if (number_words(number, form) != words) continue;
        ++languages[std::string(language_code(language))];
        break;
      }
    }
    EXPECT_LE(static_cast<int64_t>(pair.source.size()), task->longest_source());
  }
  EXPECT_EQ(lengths.size(), 6U);
  for (const auto& [length, times] : lengths) EXPECT_NEAR(times, 500, 90) << length;
  EXPECT_NEAR(languages["en"], 750, 130);
  EXPECT_NEAR(languages["ko"], 700, 130);
}

TEST(NumbersTask, trains_on_every_form_and_on_round_and_small_numbers) {
  const auto task = generated_task("numbers");
  std::set<std::pair<std::string, int64_t>> seen;  // words in a form of theirs
  std::map<int64_t, int> times;
  for (uint64_t step = 0; step < 400; ++step) {
    for (const TokenPair& pair : pairs_of(task->batch(1, step, 128))) {
      const int64_t number = number_of(*task, pair.target);
      ++times[number];
      seen.emplace(task->tokenizer().decode(pair.source), number);
    }
  }
  // In a tenth of a training run.
  for (const int64_t number : {0, 7, 10, 100, 1000, 10000, 100000, 2000, 20000, 500000})
    EXPECT_GT(times[number], 4) << number;
  for (const NumberLanguage language : kNumberLanguages) {
    for (const NumberForm& form : number_forms(language)) {
      int64_t found = 0;
      for (int64_t number = 100; number < 10000; number += 7)
        found += seen.contains({number_words(number, form), number});
      EXPECT_GT(found, 20) << language_code(language) << " " << form.name;
    }
  }
}

TEST(NumbersTask, holds_out_13_modulo_97_in_each_form_with_short_numbers_too) {
  const auto task = generated_task("numbers");
  const std::vector<TaskCases> held_out = task->held_out(400);
  size_t next = 0;
  for (const NumberLanguage language : kNumberLanguages) {
    for (const NumberForm& form : number_forms(language)) {
      const TaskCases& cases = held_out.at(next++);
      EXPECT_EQ(cases.kind, language_code(language));
      EXPECT_EQ(cases.form, form.name);
      std::map<size_t, int> lengths;
      for (int64_t i = 0; i < cases.pairs.size(); ++i) {
        const int64_t number = number_of(*task, cases.pairs.target(i));
        EXPECT_EQ(number % 97, 13);
        EXPECT_EQ(task->tokenizer().decode(cases.pairs.source(i)), number_words(number, form));
        ++lengths[std::to_string(number).size()];
      }
      if (&form != &number_forms(language).front()) continue;
      EXPECT_EQ(lengths[2], 1);   // 13
      EXPECT_EQ(lengths[3], 10);  // 110, 207, ... 983
      EXPECT_GT(lengths[4], 80);
      EXPECT_GT(lengths[5], 120);
      EXPECT_GT(lengths[6], 120);
    }
  }
  EXPECT_EQ(next, held_out.size());
  EXPECT_EQ(task->held_out(1000000)[0].pairs.size(), 10310);
}

TEST(NumbersTask, counts_a_case_in_the_first_form_that_writes_it_so) {
  std::map<std::string, std::set<std::vector<int64_t>>> of_language;
  for (const TaskCases& cases : generated_task("numbers")->held_out(1000)) {
    for (int64_t i = 0; i < cases.pairs.size(); ++i)
      EXPECT_TRUE(of_language[cases.kind].insert(cases.pairs.source(i)).second) << cases.form;
  }
}

TEST(NumbersTask, asks_six_digits_tried_numbers_and_all_small_ones_in_each_form) {
  const auto task = generated_task("numbers");
  const std::vector<ExamPart> exam = task->exam(600);
  ASSERT_EQ(exam.size(), 4u);
  EXPECT_EQ(exam[0].name, "held_out");
  EXPECT_EQ(exam[1].name, "six_digits");
  EXPECT_EQ(exam[2].name, "tried");
  EXPECT_EQ(exam[3].name, "below_10000");
  for (const TaskCases& cases : exam[1].forms) {
    if (cases.form == "twelve_hundred") {
      EXPECT_EQ(cases.pairs.size(), 0);
      continue;
    }
    EXPECT_EQ(cases.pairs.size(), 300) << cases.kind << " " << cases.form;
    for (int64_t i = 0; i < cases.pairs.size(); ++i) {
      const int64_t number = number_of(*task, cases.pairs.target(i));
      EXPECT_GE(number, 100000);
      EXPECT_EQ(number % 97, 13);
    }
  }
  std::set<std::string> languages;
  for (const TaskCases& cases : exam[2].forms) {
    if (!languages.insert(cases.kind).second) continue;  // some forms leave out what others have
    std::set<int64_t> numbers;
    for (int64_t i = 0; i < cases.pairs.size(); ++i)
      numbers.insert(number_of(*task, cases.pairs.target(i)));
    for (const int64_t number : {0, 1, 13, 100, 1000, 10000, 100000, 999999, 123456, 2024, 500000})
      EXPECT_TRUE(numbers.contains(number)) << number;
  }
  EXPECT_EQ(exam[3].forms.front().pairs.size(), 10000);
  EXPECT_EQ(generated_task("copy")->exam(10).size(), 1u);
}

TEST(NumbersTask, has_tokens_for_every_number_and_none_is_longer_than_it_says) {
  const auto task = generated_task("numbers");
  EXPECT_EQ(task->tokenizer().size(), 58) << "as models have that were trained before";
  int64_t longest = 0;
  for (const NumberLanguage language : kNumberLanguages) {
    for (const NumberForm& form : number_forms(language)) {
      // The longest number consists of the longest thousands and the longest rest.
      for (int64_t number = 0; number < 1000; ++number) {
        const std::string words = number_words(number * 1000 + number, form);
        longest = std::max(longest, static_cast<int64_t>(task->tokenizer().encode(words).size()));
      }
    }
  }
  EXPECT_EQ(task->longest_source(), longest);
}

TEST(NumbersTask, reads_words_as_people_type_them) {
  const text::Tokenizer tokenizer = generated_task("numbers")->tokenizer();
  const auto read = [&](std::string_view text) { return tokenizer.decode(tokenizer.encode(text)); };
  EXPECT_EQ(read("  One Hundred\tand  Twenty-Three.\n"), "one hundred and twenty-three");
  EXPECT_EQ(read("ONE THOUSAND, TWO HUNDRED FIFTY-SIX"), "one thousand two hundred fifty-six");
  EXPECT_EQ(read("twenty\u2013one"), "twenty-one");
  EXPECT_EQ(read("YÜZ KIRK İKİ BİN ALTI"), "yüz kırk iki bin altı");
  EXPECT_EQ(read("Altmış Altı"), "altmış altı");
  EXPECT_EQ(read("altmis alti bin uc yuz dort"), "altmış altı bin üç yüz dört");
  EXPECT_EQ(read("I\u0307ki yu\u0308z u\u0308c\u0327"), "iki yüz üç") << "decomposed";
  EXPECT_EQ(read("i\u0307ki"), "iki") << "small İ of other programs";
  EXPECT_EQ(read("SƏKKİZ MİN QIRX BEŞ"), "səkkiz min qırx beş");
  EXPECT_EQ(read("sekkiz min qirx bes"), "səkkiz min qırx beş");
  EXPECT_EQ(read("sifir"), "sıfır");
  EXPECT_EQ(read("\u1109\u1161\u11b7\u1106\u1161\u11ab \u110b\u1169\u1107\u1162\u11a8"),
            "삼만 오백");
  EXPECT_EQ(read("삼만\u3000오백"), "삼만 오백");
  EXPECT_EQ(read(" \n"), "");
  EXPECT_EQ(read("one-hundred 42"), "one-hundred 42");
}

// Small letters without their marks, and capitals as an English keyboard has them.
std::string without_marks(std::string words) {
  constexpr std::pair<std::string_view, char> kMarked[] = {
      {"ı", 'i'}, {"ü", 'u'}, {"ö", 'o'}, {"ç", 'c'}, {"ş", 's'}};
  for (const auto& [letter, bare] : kMarked) {
    for (size_t at; (at = words.find(letter)) != words.npos;)
      words.replace(at, letter.size(), 1, bare);
  }
  return words;
}

TEST(NumbersTask, reads_its_own_words_as_they_are_and_turkish_ones_without_marks) {
  const text::Tokenizer tokenizer = generated_task("numbers")->tokenizer();
  const auto read = [&](std::string_view text) { return tokenizer.decode(tokenizer.encode(text)); };
  for (const NumberLanguage language : kNumberLanguages) {
    for (const NumberForm& form : number_forms(language)) {
      for (int64_t number = 0; number <= kLargestNumber; number += number < 1200 ? 1 : 797) {
        const std::string words = number_words(number, form);
        EXPECT_EQ(read(words), words);
        // ə without its shape is e, and səksən then Turkish.
        if (language == NumberLanguage::turkish) {
          EXPECT_EQ(read(without_marks(words)), words);
        }
      }
    }
  }
}

TEST(NumbersTask, says_what_is_no_number) {
  const auto task = generated_task("numbers");
  for (const char* words : {"one hundred forty-two", "on bin", "bir min", "천", "a thousand"})
    EXPECT_FALSE(task->why_not_source(words)) << words;
  for (const char* words : {"hello", "one million", "123", "two two", "백만", "-", "bir bin"}) {
    const auto why = task->why_not_source(words);
    ASSERT_TRUE(why) << words;
    EXPECT_EQ(why->find("is no number from 0 to 999999 in English, Turkish"), 0u) << *why;
  }
  EXPECT_FALSE(generated_task("copy")->why_not_source("hello")) << "who knows";
}

}  // namespace
}  // namespace headlight::data
