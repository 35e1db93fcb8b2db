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
  EXPECT_LT(places, tokens + tokens / 4);
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
    for (const HeldOutCases& cases : task->held_out(2000)) {
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
      ASSERT_EQ(first[kind].pairs.size(), 300);
      for (int64_t i = 0; i < 300; ++i) {
        EXPECT_EQ(first[kind].pairs.source(i), second[kind].pairs.source(i));
        sources.insert(first[kind].pairs.source(i));
      }
      EXPECT_EQ(sources.size(), 300U);
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

TEST(NumbersTask, gives_words_to_digits_with_all_lengths_as_likely) {
  const auto task = generated_task("numbers");
  std::map<size_t, int> lengths;
  std::map<std::string, int> languages;
  for (const TokenPair& pair : pool_of(*task, 375)) {
    const std::string words = task->tokenizer().decode(pair.source);
    const std::string digits = task->tokenizer().decode(pair.target);
    ++lengths[digits.size()];
    const int64_t number = io::parse_number<int64_t>(digits).value();
    EXPECT_NE(number % 97, 13);
    bool known = false;
    for (const NumberLanguage language : kNumberLanguages) {
      if (number_words(number, language) != words) continue;
      known = true;
      ++languages[std::string(language_code(language))];
    }
    EXPECT_TRUE(known) << words << " " << digits;
    EXPECT_LE(static_cast<int64_t>(pair.source.size()), task->longest_source());
  }
  EXPECT_EQ(lengths.size(), 6U);
  for (const auto& [length, times] : lengths) EXPECT_NEAR(times, 500, 90) << length;
  EXPECT_NEAR(languages["en"], 750, 100);
  EXPECT_NEAR(languages["ko"], 750, 100);
}

TEST(NumbersTask, holds_out_13_modulo_97_in_each_language_with_short_numbers_too) {
  const auto task = generated_task("numbers");
  const std::vector<HeldOutCases> held_out = task->held_out(400);
  ASSERT_EQ(held_out.size(), 4U);
  for (size_t kind = 0; kind < 4; ++kind) {
    EXPECT_EQ(held_out[kind].kind, language_code(kNumberLanguages[kind]));
    std::map<size_t, int> lengths;
    for (int64_t i = 0; i < held_out[kind].pairs.size(); ++i) {
      const std::string digits = task->tokenizer().decode(held_out[kind].pairs.target(i));
      const int64_t number = io::parse_number<int64_t>(digits).value();
      EXPECT_EQ(number % 97, 13);
      EXPECT_EQ(task->tokenizer().decode(held_out[kind].pairs.source(i)),
                number_words(number, kNumberLanguages[kind]));
      ++lengths[digits.size()];
    }
    EXPECT_EQ(lengths[2], 1);   // 13
    EXPECT_EQ(lengths[3], 10);  // 110, 207, ... 983
    EXPECT_GT(lengths[4], 80);
    EXPECT_GT(lengths[5], 120);
    EXPECT_GT(lengths[6], 120);
  }
  EXPECT_EQ(task->held_out(1000000)[0].pairs.size(), 10310);
}

TEST(NumbersTask, has_tokens_for_every_number_and_none_is_longer_than_it_says) {
  const auto task = generated_task("numbers");
  int64_t longest = 0;
  for (const NumberLanguage language : kNumberLanguages) {
    // The longest number consists of the longest thousands and the longest rest.
    for (int64_t number = 0; number < 1000; ++number) {
      const std::string words = number_words(number * 1000 + number, language);
      longest = std::max(longest, static_cast<int64_t>(task->tokenizer().encode(words).size()));
    }
  }
  EXPECT_EQ(task->longest_source(), longest);
}

}  // namespace
}  // namespace headlight::data
