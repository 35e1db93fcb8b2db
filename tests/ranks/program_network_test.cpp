// Links that are slow, lossy or cut, and ranks that are stopped: later, or an end with a clear
// line, and never another bit.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include "tests/ranks/program_runs.h"

namespace headlight::test {
namespace {

namespace fs = std::filesystem;

void sleep_for(Milliseconds time) { std::this_thread::sleep_for(time); }

class NetworkOfRanks : public ProgramOnHosts {
 protected:
  void SetUp() override {
    ProgramOnHosts::SetUp();
    if (!IsSkipped()) fs::create_directory(folder_ / "errors");
  }
  void expect_relay() {
    if (const std::string why = PacketRelay::reason_not_possible(); !why.empty()) {
      GTEST_SKIP() << why;
    }
  }

  std::string run_folder() const { return folder_ / "run"; }
  Words training(int64_t steps) const { return small_gpt(folder_, steps) + into(run_folder()); }
  TrainedFiles whole(int64_t steps) const {
    const std::string place = folder_ / "whole";
    fs::remove_all(place);
    const ProcessRun run =
        run_alone(small_gpt(folder_, steps) + into(place) + Words{"--shards", "8"});
    EXPECT_EQ(run.code, 0) << run.errors;
    return trained_files(place, steps);
  }
  void expect_same_bits(const TestHosts& hosts, int ranks, int64_t steps) {
    const ProcessRun run = run_on(ranks, training(steps), &hosts);
    ASSERT_EQ(run.code, 0) << run.errors;
    expect_whole_run(run_folder(), whole(steps), steps);
  }

  // Ranks that train for long, each of which writes its errors to a file of its own: a launcher
  // that is cut off cannot tell what they say.
  std::unique_ptr<LaunchedRanks> launch(const TestHosts& hosts, int ranks, int seconds) {
    const std::string apart = "exec \"$@\" 2>'" + (folder_ / "errors") + "'/$OMPI_COMM_WORLD_RANK";
    auto launched = std::make_unique<LaunchedRanks>(
        Words{"sh", "-c", apart, "sh", launched_program()} + training(100'000) +
            Words{"--rank-timeout", std::to_string(seconds)},
        quiet_ranks(ranks), &hosts);
    EXPECT_TRUE(wait_until_saved(10));
    return launched;
  }
  bool wait_until_saved(int64_t step) const {
    return wait_until(kPatience, [&] { return saved_step(run_folder()) >= step; });
  }
  std::vector<std::string> said_by(int rank) const {
    return own_lines(folder_.get("errors/" + std::to_string(rank)));
  }
  void expect_said(int rank, const std::string& part) const {
    const std::vector<std::string> lines = said_by(rank);
    ASSERT_EQ(lines.size(), 1u) << "rank " << rank << ": " << testing::PrintToString(lines);
    EXPECT_NE(lines[0].find(part), std::string::npos) << lines[0];
    EXPECT_NE(lines[0].find("--resume goes on"), std::string::npos) << lines[0];
  }
  void expect_silent(int rank) const {
    EXPECT_TRUE(said_by(rank).empty()) << "rank " << rank << ": " << said_by(rank)[0];
  }
  // On one machine and ranks, from the last checkpoint to the one after the next.
  void expect_goes_on(int ranks) {
    const int64_t last = (saved_step(run_folder()) / 10 + 2) * 10;
    const ProcessRun run = run_on(ranks, training(last) + Words{"--resume"});
    ASSERT_EQ(run.code, 0) << run.errors;
    expect_whole_run(run_folder(), whole(last), last);
  }

  const TemporaryFolder folder_;
};
using LongNetworkOfRanks = NetworkOfRanks;

TEST_F(NetworkOfRanks, that_is_slow_only_takes_longer) {
  TestHosts hosts(2);
  if (!hosts.slow(1, 1'000'000)) GTEST_SKIP() << "this kernel has no token bucket filter";
  const auto begin = std::chrono::steady_clock::now();
  expect_same_bits(hosts, 2, 20);
  // Half of the gradients and weights of 3.8 K parameters, each way, in each of 20 steps.
  EXPECT_GT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
}

TEST_F(NetworkOfRanks, that_is_late_and_loses_packets_only_takes_longer) {
  expect_relay();
  if (IsSkipped()) return;
  TestHosts hosts(RelayTerms{.delay = std::chrono::milliseconds(2), .loss = 0.01});
  expect_same_bits(hosts, 2, 20);
  EXPECT_GT(hosts.relay()->counts().lost, 0);
}

TEST_F(LongNetworkOfRanks, that_is_late_and_loses_many_packets_only_takes_longer) {
  expect_relay();
  if (IsSkipped()) return;
  for (const uint64_t seed : {1, 2, 3}) {
    TestHosts hosts(RelayTerms{.delay = std::chrono::milliseconds(20), .loss = 0.04, .seed = seed});
    expect_same_bits(hosts, 4, 30);
    EXPECT_GT(hosts.relay()->counts().lost, 10);
    fs::remove_all(run_folder());
  }
}

TEST_F(NetworkOfRanks, that_is_cut_ends_both_sides_in_time) {
  TestHosts hosts(2);
  const auto launched = launch(hosts, 4, 2);
  hosts.cut(1);
  // Two seconds without a word, one to ask who is there; a busy machine takes longer.
  EXPECT_TRUE(launched->wait_until_ranks_are_gone(kPatience));
  expect_said(0, "on host1): has given no sign of life for 2 s");
  expect_silent(1);
  expect_said(2, "on host0): has given no sign of life for 2 s");
  expect_silent(3);
  expect_nothing_half_written(run_folder());
  // It cannot reach the daemon of the other side any more.
  launched->kill_all_processes();
  expect_goes_on(2);
}

TEST_F(LongNetworkOfRanks, that_is_cut_for_less_than_the_time_limit_goes_on) {
  TestHosts hosts(2);
  LaunchedRanks launched(Words{launched_program()} + training(60) + Words{"--rank-timeout", "30"},
                         quiet_ranks(2), &hosts);
  ASSERT_TRUE(wait_until_saved(10));
  hosts.cut(1);
  sleep_for(Milliseconds(1000));
  const int64_t before = saved_step(run_folder());
  sleep_for(Milliseconds(500));
  EXPECT_EQ(saved_step(run_folder()), before);
  hosts.mend(1);
  const ProcessRun run = launched.finish();
  EXPECT_EQ(run.code, 0) << run.errors;
  expect_whole_run(run_folder(), whole(60), 60);
}

TEST_F(LongNetworkOfRanks, whose_rank_is_stopped_ends_in_time) {
  const TestHosts hosts(2);
  for (const int stopped : {1, 0}) {
    SCOPED_TRACE(stopped);
    const auto launched = launch(hosts, 2, 2);
    ASSERT_TRUE(launched->signal_rank(stopped, SIGSTOP));
    // mpirun ends the one that is stopped when the other has gone.
    const ProcessRun run = launched->finish(kPatience);
    EXPECT_FALSE(run.timed_out);
    EXPECT_EQ(run.code, 1);
    EXPECT_TRUE(launched->wait_until_ranks_are_gone(kPatience));
    expect_said(1 - stopped, "ranks (rank " + std::to_string(stopped) + " on host");
    expect_silent(stopped);
    expect_goes_on(4);
    fs::remove_all(run_folder());
  }
}

// One of them for less than the time limit, then all of them for longer.
TEST_F(LongNetworkOfRanks, whose_ranks_are_stopped_for_a_moment_goes_on) {
  const TestHosts hosts(2);
  LaunchedRanks launched(Words{launched_program()} + training(60) + Words{"--rank-timeout", "3"},
                         quiet_ranks(2), &hosts);
  ASSERT_TRUE(wait_until_saved(10));
  ASSERT_TRUE(launched.signal_rank(1, SIGSTOP));
  sleep_for(Milliseconds(1000));
  ASSERT_TRUE(launched.signal_rank(0, SIGSTOP));
  sleep_for(Milliseconds(3500));
  for (const int rank : {0, 1}) ASSERT_TRUE(launched.signal_rank(rank, SIGCONT));
  const ProcessRun run = launched.finish();
  EXPECT_EQ(run.code, 0) << run.errors;
  expect_whole_run(run_folder(), whole(60), 60);
}

}  // namespace
}  // namespace headlight::test
