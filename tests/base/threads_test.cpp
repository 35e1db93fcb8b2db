// ThreadPool: every index once, whatever the size, the nesting, the number of callers.
#include <gtest/gtest.h>
#if __has_include(<sched.h>)
#include <sched.h>
#endif

#include <atomic>
#include <chrono>
#include <new>
#include <numeric>
#include <thread>
#include <vector>

#include "headlight/base/base.h"

namespace headlight::base {
namespace {

class ThreadPoolOfSize : public testing::TestWithParam<int> {};

TEST_P(ThreadPoolOfSize, runs_every_index_once) {
  ThreadPool pool(GetParam());
  EXPECT_EQ(pool.size(), GetParam());
  for (const int64_t count : {0, 1, 2, 3, 7, 8, 9, 100, 1000}) {
    std::vector<std::atomic<int>> runs(static_cast<size_t>(count));
    pool.parallel_for(count, [&](int64_t index, int) { ++runs[static_cast<size_t>(index)]; });
    for (const std::atomic<int>& run : runs) EXPECT_EQ(run, 1) << "count " << count;
  }
}

TEST_P(ThreadPoolOfSize, numbers_its_workers_from_zero_and_never_shares_a_number) {
  ThreadPool pool(GetParam());
  std::vector<std::atomic<int>> busy(static_cast<size_t>(pool.size()));
  std::atomic<int> collisions = 0;
  for (int repeat = 0; repeat < 20; ++repeat) {
    pool.parallel_for(64, [&](int64_t, int worker) {
      ASSERT_GE(worker, 0);
      ASSERT_LT(worker, pool.size());
      std::atomic<int>& mine = busy[static_cast<size_t>(worker)];
      collisions += mine.fetch_add(1) != 0;
      --mine;
    });
  }
  EXPECT_EQ(collisions, 0);
}

TEST_P(ThreadPoolOfSize, sees_what_the_tasks_wrote_when_the_call_returns) {
  ThreadPool pool(GetParam());
  std::vector<int64_t> values(257);
  for (int64_t repeat = 1; repeat <= 200; ++repeat) {
    pool.parallel_for(257,
                      [&](int64_t index, int) { values[static_cast<size_t>(index)] += index; });
    ASSERT_EQ(std::accumulate(values.begin(), values.end(), int64_t{0}), repeat * 257 * 128);
  }
}

TEST_P(ThreadPoolOfSize, runs_nested_calls_on_the_spot_as_the_same_worker) {
  ThreadPool pool(GetParam());
  std::atomic<int> runs = 0;
  std::atomic<int> strangers = 0;
  pool.parallel_for(10, [&](int64_t, int outer) {
    const std::thread::id thread = std::this_thread::get_id();
    pool.parallel_for(10, [&](int64_t, int inner) {
      ++runs;
      strangers += inner != outer || std::this_thread::get_id() != thread;
    });
  });
  EXPECT_EQ(runs, 100);
  EXPECT_EQ(strangers, 0);
}

TEST_P(ThreadPoolOfSize, serves_callers_from_several_threads) {
  ThreadPool pool(GetParam());
  std::atomic<int64_t> total = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 50; ++repeat) {
        pool.parallel_for(20, [&](int64_t index, int) { total += index; });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total, 4 * 50 * 190);
}

TEST_P(ThreadPoolOfSize, throws_again_what_a_task_threw_and_works_on) {
  ThreadPool pool(GetParam());
  for (int repeat = 0; repeat < 20; ++repeat) {
    EXPECT_THROW(pool.parallel_for(100,
                                   [&](int64_t index, int) {
                                     if (index % 10 == 3) throw std::bad_alloc();
                                   }),
                 std::bad_alloc);
  }
  std::atomic<int> runs = 0;
  pool.parallel_for(100, [&](int64_t, int) { ++runs; });
  EXPECT_EQ(runs, 100);
}

INSTANTIATE_TEST_SUITE_P(, ThreadPoolOfSize, testing::Range(1, 9));

TEST(ThreadPool, inside_a_task_of_another_pool_stays_within_its_own_workers) {
  ThreadPool large(8);
  ThreadPool small(2);
  std::atomic<int> runs = 0;
  large.parallel_for(64, [&](int64_t, int) {
    small.parallel_for(3, [&](int64_t, int worker) { runs += worker < small.size(); });
  });
  EXPECT_EQ(runs, 64 * 3);
}

TEST(ThreadPool, wakes_workers_that_have_gone_to_sleep) {
  ThreadPool pool(4);
  for (int repeat = 0; repeat < 5; ++repeat) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::atomic<int> arrived = 0;
    // Each task waits for the other three, so all four workers must come.
    pool.parallel_for(4, [&](int64_t, int) {
      ++arrived;
      while (arrived < 4) std::this_thread::yield();
    });
    EXPECT_EQ(arrived, 4);
  }
}

TEST(ThreadPool, can_be_made_and_dropped_many_times) {
  for (int repeat = 0; repeat < 200; ++repeat) {
    ThreadPool pool(1 + repeat % 4);
    if (repeat % 2 == 0) pool.parallel_for(3, [](int64_t, int) {});
  }
}

TEST(ThreadPool, of_a_size_out_of_range_says_what_it_may_be) {
  for (const int size : {-1, 0, 1025, 1000000}) {
    try {
      ThreadPool pool(size);
      ADD_FAILURE() << size << " threads were accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_EQ(std::string(error.what()),
                "threads: the number is " + std::to_string(size) + ", it must be 1 to 1024");
    }
  }
}

TEST(ThreadPool, by_default_has_the_cores_of_the_process) {
  EXPECT_GE(ThreadPool::available_cores(), 1);
  EXPECT_EQ(ThreadPool().size(), ThreadPool::available_cores());
}

#ifdef CPU_COUNT
TEST(ThreadPool, by_default_has_only_the_cores_it_may_run_on) {
  std::thread([] {
    cpu_set_t mine, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
    CPU_ZERO(&one);
    int core = 0;
    while (!CPU_ISSET(core, &mine)) ++core;
    CPU_SET(core, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(ThreadPool::available_cores(), 1);
  }).join();
}
#endif

}  // namespace
}  // namespace headlight::base
