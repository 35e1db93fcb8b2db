// LaunchedRanks: a program under Open MPI's mpirun, with ranks that a test can find, stop and kill.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/ranks/process.h"
#include "tests/ranks/test_hosts.h"

namespace headlight::test {

struct RankOptions {
  int ranks = 2;
  std::vector<std::string> set = {};               // "NAME=value", for every rank
  std::vector<std::string> launcher_options = {};  // of mpirun, such as "--tag-output"
  Milliseconds deadline{60'000};                   // from the start on
};

// Goes on until finish(); what is still there when this object goes is killed, on all hosts.
class LaunchedRanks {
 public:
  // mpirun runs on host 0 and spreads the ranks over all hosts, as many neighbours on one as there
  // must be. Without hosts they are processes of this machine.
  LaunchedRanks(const std::vector<std::string>& command, const RankOptions& options,
                const TestHosts* hosts = nullptr);
  ~LaunchedRanks();
  LaunchedRanks(const LaunchedRanks&) = delete;
  LaunchedRanks& operator=(const LaunchedRanks&) = delete;

  // Waits for mpirun. At the deadline, or the limit where it is sooner, all are killed and the run
  // is marked as timed out. What mpirun itself warns of starting agents, which depends on the
  // moment, is left out of `errors`.
  ProcessRun finish(Milliseconds limit = Milliseconds::max());
  // The process of rank k, waiting until there is one; -1 when mpirun ends or the deadline is over.
  pid_t rank(int k);
  // False when there is no such rank.
  bool signal_rank(int k, int signal);
  bool signal_launcher(int signal) { return launcher_->send(signal); }
  // Those that are alive, also when mpirun is not.
  std::vector<pid_t> ranks() const;
  bool wait_until_ranks_are_gone(Milliseconds limit) const;
  // mpirun, its daemons and agents, ranks and what they started.
  std::vector<pid_t> processes() const;
  void kill_all_processes() const;
  // Its output, so far and waited for.
  Process& launcher() { return *launcher_; }

  // Why ranks cannot be launched here; empty when they can.
  static std::string reason_not_possible();

 private:
  std::vector<std::string> launcher_words(const RankOptions& options, const TestHosts* hosts) const;
  Milliseconds rest() const;

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  Milliseconds deadline_;
  std::string session_;
  TemporaryFolder folder_;
  std::unique_ptr<Process> launcher_;
};

ProcessRun run_ranks(const std::vector<std::string>& command, const RankOptions& options,
                     const TestHosts* hosts = nullptr);

}  // namespace headlight::test
