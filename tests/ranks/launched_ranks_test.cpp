// Ranks of a small program of MPI, over hosts and without them.
#include "tests/ranks/launched_ranks.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>

namespace headlight::test {
namespace {

#ifdef HEADLIGHT_MPI_EXCHANGE
const std::string kExchange = HEADLIGHT_MPI_EXCHANGE;
#else
const std::string kExchange;
#endif

class LaunchedRanksTest : public testing::Test {
 protected:
  void SetUp() override {
    if (kExchange.empty()) GTEST_SKIP() << "MPI was not found when the tests were built";
    if (const std::string why = LaunchedRanks::reason_not_possible(); !why.empty()) {
      GTEST_SKIP() << why;
    }
  }
};

class RanksOnHosts : public LaunchedRanksTest {
 protected:
  void SetUp() override {
    LaunchedRanksTest::SetUp();
    if (IsSkipped()) return;
    if (const std::string why = TestHosts::reason_not_possible(); !why.empty()) GTEST_SKIP() << why;
  }
};

void expect_lines(const ProcessRun& run, std::vector<std::string> lines) {
  EXPECT_EQ(run.code, 0) << run.errors;
  EXPECT_FALSE(run.timed_out);
  EXPECT_EQ(run.errors, "");
  for (const std::string& line : lines) {
    EXPECT_NE(run.output.find(line + "\n"), std::string::npos) << line << " not in\n" << run.output;
  }
  EXPECT_EQ(std::ranges::count(run.output, '\n'), static_cast<std::ptrdiff_t>(lines.size()));
}

TEST_F(LaunchedRanksTest, are_processes_of_this_machine_without_hosts) {
  const ProcessRun run = run_ranks({kExchange}, {.ranks = 2, .set = {"TEST_WORD=here"}});
  EXPECT_EQ(run.code, 0) << run.errors;
  EXPECT_NE(run.output.find("rank 1 of 2 on "), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("sum 1, word here"), std::string::npos) << run.output;
}

TEST_F(LaunchedRanksTest, pass_their_exit_code_on) {
  // mpirun waits for it, though there is nothing left to kill.
  const std::vector<std::string> hurry = {"--mca", "odls_base_sigkill_timeout", "0"};
  const ProcessRun run = run_ranks({kExchange, "130"}, {.ranks = 2, .launcher_options = hurry});
  EXPECT_EQ(run.code, 130) << run.errors;
}

TEST_F(RanksOnHosts, add_up_over_two_hosts) {
  const TestHosts hosts(2);
  expect_lines(
      run_ranks({kExchange}, {.ranks = 2, .set = {"TEST_WORD=hello"}}, &hosts),
      {"rank 0 of 2 on host0, sum 1, word hello", "rank 1 of 2 on host1, sum 1, word hello"});
}

TEST_F(RanksOnHosts, add_up_over_four_hosts_with_neighbours_on_one) {
  const TestHosts hosts(4);
  std::vector<std::string> lines;
  for (int rank = 0; rank < 8; ++rank) {
    lines.push_back("rank " + std::to_string(rank) + " of 8 on host" + std::to_string(rank / 2) +
                    ", sum 28, word none");
  }
  expect_lines(run_ranks({kExchange}, {.ranks = 8}, &hosts), lines);
}

TEST_F(RanksOnHosts, add_up_through_a_relay) {
  if (const std::string why = PacketRelay::reason_not_possible(); !why.empty()) GTEST_SKIP() << why;
  TestHosts hosts(RelayTerms{.delay = std::chrono::milliseconds(5), .loss = 0.01});
  expect_lines(
      run_ranks({kExchange}, {.ranks = 2}, &hosts),
      {"rank 0 of 2 on host0, sum 1, word none", "rank 1 of 2 on host1, sum 1, word none"});
  EXPECT_GT(hosts.relay()->counts().passed, 0);
}

TEST_F(RanksOnHosts, are_found_and_killed_by_their_number) {
  const TestHosts hosts(2);
  LaunchedRanks ranks({kExchange, "wait", "100"}, {.ranks = 4}, &hosts);
  ASSERT_TRUE(ranks.launcher().wait_for_output("rank 3 of 4", Milliseconds(30'000)));
  const pid_t third = ranks.rank(3);
  const std::vector<pid_t> there = hosts.processes(1);
  EXPECT_NE(std::ranges::find(there, third), there.end());
  EXPECT_EQ(ranks.ranks().size(), 4u);
  EXPECT_TRUE(ranks.signal_rank(3, SIGKILL));
  const ProcessRun run = ranks.finish();
  EXPECT_FALSE(run.timed_out);
  EXPECT_NE(run.code, 0);
  EXPECT_TRUE(ranks.wait_until_ranks_are_gone(Milliseconds(10'000)));
}

TEST_F(RanksOnHosts, that_are_stopped_and_cut_off_are_killed_when_they_are_late) {
  TestHosts hosts(2);
  LaunchedRanks ranks({kExchange, "wait", "100"}, {.ranks = 2}, &hosts);
  EXPECT_TRUE(ranks.signal_rank(0, SIGSTOP));
  EXPECT_GT(ranks.rank(1), 0);
  hosts.cut(1);
  const ProcessRun run = ranks.finish(Milliseconds(200));
  EXPECT_TRUE(run.timed_out);
  EXPECT_TRUE(ranks.processes().empty());
  EXPECT_TRUE(hosts.processes(0).empty());
  EXPECT_TRUE(hosts.processes(1).empty());
}

TEST_F(LaunchedRanksTest, end_when_their_launcher_is_told_to) {
  LaunchedRanks ranks({kExchange, "wait", "100"}, {.ranks = 2});
  ASSERT_TRUE(ranks.launcher().wait_for_output("rank 1 of 2", Milliseconds(30'000)));
  EXPECT_TRUE(ranks.signal_launcher(SIGTERM));
  const ProcessRun run = ranks.finish();
  EXPECT_FALSE(run.timed_out);
  EXPECT_NE(run.code, 0);
  EXPECT_TRUE(ranks.wait_until_ranks_are_gone(Milliseconds(10'000)));
}

}  // namespace
}  // namespace headlight::test
