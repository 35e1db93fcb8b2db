// What is trained and validated on.
#include "headlight/train/task.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "headlight/train/checksum.h"
#include "tests/base/temporary_folder.h"

namespace headlight::train {
namespace {

data::TokenStream counting(int64_t count, int64_t vocabulary = 20000) {
  std::vector<int64_t> ids(static_cast<size_t>(count));
  std::iota(ids.begin(), ids.end(), 0);
  data::TokenStream tokens(vocabulary);
  tokens.append(ids);
  return tokens;
}

std::vector<int64_t> numbers(const tensor::Tensor& tensor) {
  return {tensor.data<int64_t>(), tensor.data<int64_t>() + tensor.elements()};
}

std::multiset<int64_t> validation_targets(const Task& task) {
  std::multiset<int64_t> targets;
  for (int64_t i = 0; i < task.validation_batches(); ++i) {
    const models::Batch batch = task.validation_batch(i);
    int64_t counted = 0;
    for (const int64_t target : numbers(batch.targets)) {
      if (target == -1) continue;
      targets.insert(target);
      ++counted;
    }
    EXPECT_EQ(counted_targets(batch), counted);
  }
  return targets;
}

TEST(LmTask, validates_on_every_token_but_the_first_exactly_once) {
  for (const int64_t length : {2, 17, 64, 65, 9001}) {
    const auto task = validation_task(data::ValidationWindows(counting(length), 64, "text"));
    const std::multiset<int64_t> targets = validation_targets(*task);
    EXPECT_EQ(static_cast<int64_t>(targets.size()), length - 1);
    EXPECT_EQ(*targets.begin(), 1);
    EXPECT_EQ(*targets.rbegin(), length - 1);
    EXPECT_EQ(std::set<int64_t>(targets.begin(), targets.end()).size(), targets.size());
  }
}

TEST(LmTask, trains_on_windows_that_depend_on_the_number_alone) {
  const auto task = lm_task(data::TrainingWindows(counting(500), 8, "text"),
                            data::ValidationWindows(counting(20), 8, "text"), 3, 1);
  const models::Batch late = task->batch(5), early = task->batch(0);
  EXPECT_EQ(numbers(task->batch(5).ids), numbers(late.ids));
  EXPECT_NE(numbers(early.ids), numbers(late.ids));
  EXPECT_EQ(late.ids.size(0), 3);
  EXPECT_EQ(tokens_read(late), 24);
  for (size_t i = 0; i < 24; ++i) EXPECT_EQ(numbers(late.targets)[i], numbers(late.ids)[i] + 1);
}

TEST(LmTask, splits_off_the_last_tenth_of_the_characters) {
  const std::string text = "şeker çöl ağaç üzüm yol on dört a";  // 33 characters
  const data::TextSplit split = data::split_text(text);
  EXPECT_EQ(std::string(split.train) + std::string(split.valid), text);
  EXPECT_EQ(split.valid, "rt a");
}

TEST(PairTask, validates_on_every_pair_once) {
  data::PairSet pairs(10, 2000);
  for (int64_t i = 0; i < 700; ++i) {
    pairs.append(std::vector<int64_t>(static_cast<size_t>(1 + i % 9), 3),
                 std::vector<int64_t>(static_cast<size_t>(1 + i % 5), 3 + i));
  }
  std::multiset<int64_t> targets =
      validation_targets(*validation_task(std::move(pairs), {0, 1, 2}));
  EXPECT_EQ(targets.count(2), 700u);  // the ends
  for (int64_t i = 0; i < 700; ++i) EXPECT_EQ(targets.count(3 + i), static_cast<size_t>(1 + i % 5));
}

TEST(GeneratedTaskOfTraining, validates_on_what_is_held_out) {
  const auto copy = data::generated_task("copy");
  const auto task = generated_task(*copy, 4, 1, 50);
  EXPECT_EQ(validation_targets(*task).count(copy->ids().end), 50u);
  EXPECT_EQ(numbers(task->batch(3).ids), numbers(task->batch(3).ids));
  EXPECT_EQ(tokens_read(task->batch(3)), 4 * (10 + 11));
}

TEST(ByteSums, are_those_of_xxhash_and_do_not_depend_on_pieces) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(file_sum(base::real_files(), folder.put("empty", "")), "ef46db3751d8e999");
  EXPECT_EQ(file_sum(base::real_files(), folder.put("a", "a")), "d24ec4f1a98c6e5b");
  const std::string large(3'000'000, 'x');
  Checksum whole;
  whole.add(std::as_bytes(std::span(large)));
  EXPECT_EQ(file_sum(base::real_files(), folder.put("large", large)), whole.text());
}

TEST(ByteSums, change_with_any_token) {
  const auto sum_of = [](const data::TokenStream& tokens) {
    Checksum sum;
    sum.add(tokens);
    return sum.text();
  };
  EXPECT_EQ(sum_of(counting(100)), sum_of(counting(100)));
  EXPECT_NE(sum_of(counting(100)), sum_of(counting(101)));
  // The same ids, cut into pairs in another way.
  data::PairSet one(9, 9), other(9, 9);
  one.append(std::vector<int64_t>{1, 2}, std::vector<int64_t>{3});
  other.append(std::vector<int64_t>{1}, std::vector<int64_t>{2, 3});
  Checksum first, second;
  first.add(one);
  second.add(other);
  EXPECT_NE(first.text(), second.text());
}

}  // namespace
}  // namespace headlight::train
