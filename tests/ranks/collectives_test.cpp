// Exchange among ranks: everybody gets the same, in the order of a tree.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <new>
#include <numeric>

#include "tests/ranks/thread_link.h"

namespace headlight::ranks {
namespace {

std::vector<int64_t> ends_every(int64_t step, int64_t size) {
  std::vector<int64_t> ends;
  for (int64_t end = step; end < size; end += step) ends.push_back(end);
  ends.push_back(size);
  return ends;
}

TEST(Shares, cover_everything_once_and_are_cut_only_where_they_may_be) {
  for (const int ranks : {1, 2, 4, 8, 64}) {
    for (const int64_t size : {1, 7, 100, 1001}) {
      const Shares shares(ends_every(3, size), ranks);
      std::vector<Range> ranges;
      for (int rank = 0; rank < ranks; ++rank) ranges.push_back(shares.of(rank));
      std::ranges::sort(ranges, {}, [](const Range& r) { return std::pair(r.first, r.end); });
      int64_t covered = 0;
      for (const Range& range : ranges) {
        if (range.size() == 0) continue;
        EXPECT_EQ(range.first, covered);
        EXPECT_TRUE(range.first % 3 == 0);
        covered = range.end;
      }
      EXPECT_EQ(covered, size);
    }
  }
}

TEST(Shares, are_even_where_blocks_are_small) {
  const Shares shares(ends_every(10, 100'000), 8);
  for (int rank = 0; rank < 8; ++rank) EXPECT_NEAR(shares.of(rank).size(), 12'500, 30);
}

TEST(Group, gathers_numbers_and_texts_in_the_order_of_ranks) {
  for (const int count : {1, 2, 4, 8}) {
    run_on_threads(count, [&](Group& group) {
      const std::vector<double> mine = {group.rank() + 0.5, -1.0 * group.rank()};
      const std::vector<double> all = group.gather(mine);
      const std::vector<std::string> texts =
          group.gather(std::string(static_cast<size_t>(3 * group.rank()), 'a'));
      for (int rank = 0; rank < count; ++rank) {
        EXPECT_EQ(all[static_cast<size_t>(2 * rank)], rank + 0.5);
        EXPECT_EQ(all[static_cast<size_t>(2 * rank + 1)], -rank);
        EXPECT_EQ(texts[static_cast<size_t>(rank)].size(), static_cast<size_t>(3 * rank));
      }
      EXPECT_EQ(group.from_first(group.is_first() ? "hello" : "other"), "hello");
      EXPECT_TRUE(group.any(group.rank() == count - 1));
      EXPECT_FALSE(group.any(false));
      std::vector<float> numbers(700'001, static_cast<float>(group.rank()) + 1);
      group.from_first(numbers);
      EXPECT_EQ(numbers.front(), 1);
      EXPECT_EQ(numbers.back(), 1);
    });
  }
}

TEST(Group, is_refused_when_the_ranks_are_no_power_of_two) {
  EXPECT_THROW(run_on_threads(3, [](Group&) {}), base::Error);
}

TEST(Group, names_the_rank_and_the_fact_that_differs) {
  try {
    run_on_threads(4, [](Group& group) {
      check_same(group,
                 {{.name = "the version", .value = "1"},
                  {.name = "the colour", .value = group.rank() == 2 ? "red" : "blue"}},
                 base::ErrorKind::failed);
    });
    FAIL();
  } catch (const base::Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("rank 2"), std::string::npos) << text;
    EXPECT_NE(text.find("the colour is red, rank 0 has blue"), std::string::npos) << text;
  }
}

float part_of(int rank, int64_t i) {
  return 1.0F / static_cast<float>(1 + rank * 31 + i % 97) * (rank % 2 == 0 ? 1.0F : -1e3F);
}

// As the tree over all ranks has it.
float tree_sum(int first, int count, int64_t i, const std::function<bool(int)>& is_empty) {
  if (count == 1) return is_empty(first) ? 0.0F : part_of(first, i);
  const float left = tree_sum(first, count / 2, i, is_empty);
  const float right = tree_sum(first + count / 2, count / 2, i, is_empty);
  return left + right;
}

void expect_tree_sums(int count, const std::vector<int64_t>& part_sizes, int64_t block,
                      const std::function<bool(int)>& is_empty) {
  const int64_t size = std::accumulate(part_sizes.begin(), part_sizes.end(), int64_t{0});
  run_on_threads(count, [&](Group& group) {
    std::vector<std::vector<float>> parts;
    int64_t i = 0;
    for (const int64_t each : part_sizes) {
      auto& part = parts.emplace_back(static_cast<size_t>(each));
      for (float& number : part) number = is_empty(group.rank()) ? NAN : part_of(group.rank(), i++);
    }
    Scattered values;
    for (auto& part : parts) values.add(part);
    const Shares shares(ends_every(block, size), count);
    reduce_scatter(
        group, shares, values,
        [](std::span<float> mine, std::span<const float> theirs) {
          for (size_t k = 0; k < mine.size(); ++k) mine[k] += theirs[k];
        },
        [&](int first, int ranks) {
          for (int rank = first; rank < first + ranks; ++rank) {
            if (!is_empty(rank)) return false;
          }
          return true;
        });
    all_gather(group, shares, values);
    int64_t at = 0;
    for (const auto& part : parts) {
      for (const float number : part) {
        ASSERT_EQ(number, tree_sum(0, count, at, is_empty)) << at;
        ++at;
      }
    }
  });
}

TEST(Collectives, add_in_the_order_of_a_binary_tree_and_give_everybody_the_same) {
  const auto nobody = [](int) { return false; };
  for (const int count : {1, 2, 4, 8}) {
    expect_tree_sums(count, {5, 1, 300, 77, 1000}, 16, nobody);
    expect_tree_sums(count, {3}, 1, nobody);
  }
  expect_tree_sums(4, {600'001, 5, 70'000}, 4096, nobody);
}

TEST(Collectives, leave_out_ranks_that_have_nothing) {
  expect_tree_sums(4, {100, 33}, 8, [](int rank) { return rank == 1; });
  expect_tree_sums(4, {100, 33}, 8, [](int rank) { return rank >= 2; });
  expect_tree_sums(8, {1000, 33}, 8, [](int rank) { return rank != 5; });
}

// A link that counts what has arrived.
class CountingLink : public ThreadLink {
 public:
  CountingLink(ThreadNetwork& network, int rank, std::atomic<int>& arrived)
      : ThreadLink(network, rank), arrived_(arrived) {}
  bool is_done(Request request) override {
    const bool is_done = ThreadLink::is_done(request);
    if (is_done && request != 0) ++arrived_;
    return is_done;
  }

 private:
  std::atomic<int>& arrived_;
};

// A link whose second message is late.
class LateLink : public ThreadLink {
 public:
  using ThreadLink::ThreadLink;
  Request send(int to, std::span<const std::byte> bytes) override {
    if (++sent_ == 2) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    return ThreadLink::send(to, bytes);
  }

 private:
  int sent_ = 0;
};

// The second piece is on its way when the first cannot be added: its memory goes after it has come.
TEST(Collectives, that_fail_wait_for_what_is_under_way) {
  constexpr int64_t kNumbers = int64_t{1} << 20;
  const Shares shares({kNumbers / 2, kNumbers}, 2);
  ThreadNetwork network(2);
  std::atomic<int> arrived = 0;
  Messenger first(std::make_unique<CountingLink>(network, 0, arrived), {});
  Messenger second(std::make_unique<LateLink>(network, 1), {});
  const auto add_up = [&](Messenger& messenger, const AddTo& add) {
    Group group(messenger);
    std::vector<float> numbers(kNumbers, 1);
    Scattered values;
    values.add(numbers);
    reduce_scatter(group, shares, values, add, [](int, int) { return false; });
  };
  std::thread late([&] { add_up(second, [](std::span<float>, std::span<const float>) {}); });
  EXPECT_THROW(
      add_up(first, [](std::span<float>, std::span<const float>) { throw std::bad_alloc(); }),
      std::bad_alloc);
  EXPECT_EQ(arrived, 2);
  late.join();
}

}  // namespace
}  // namespace headlight::ranks
