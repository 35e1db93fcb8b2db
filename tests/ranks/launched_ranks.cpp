// Processes of a run are known by a variable that all of them inherit.
#include "tests/ranks/launched_ranks.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <sstream>

namespace headlight::test {
namespace {

constexpr const char* kSession = "TEST_RANKS_SESSION";
constexpr const char* kRank = "OMPI_COMM_WORLD_RANK";

std::string new_session() {
  static std::atomic<int> made = 0;
  return std::to_string(getpid()) + "-" + std::to_string(start_of(getpid())) + "-" +
         std::to_string(made++);
}

// -1 when the process is no rank of the session.
int rank_of(pid_t process, const std::string& session) {
  const auto variables = environment_of(process);
  const auto own = variables.find(kSession);
  const auto rank = variables.find(kRank);
  if (own == variables.end() || own->second != session || rank == variables.end()) return -1;
  return std::atoi(rank->second.c_str());
}

// mpirun says so when an agent was faster than itself.
std::string without_launch_warnings(const std::string& errors) {
  std::istringstream lines(errors);
  std::string result;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("plm:rsh: Warning: setpgid(") != std::string::npos) continue;
    result += line;
    if (!lines.eof()) result += '\n';
  }
  // It comes with an empty line.
  return errors.size() != result.size() && result == "\n" ? "" : result;
}

}  // namespace

std::string LaunchedRanks::reason_not_possible() {
  const std::string place = program_in_path("mpirun");
  if (place.empty()) return "mpirun is not installed";
  Process process({"mpirun", "--version"});
  const std::string version = process.finish().output;
  if (version.find("Open MPI") == std::string::npos) return "mpirun is not Open MPI's";
  return "";
}

LaunchedRanks::LaunchedRanks(const std::vector<std::string>& command, const RankOptions& options,
                             const TestHosts* hosts)
    : deadline_(options.deadline), session_(new_session()) {
  std::vector<std::string> words = launcher_words(options, hosts);
  words.insert(words.end(), command.begin(), command.end());
  std::vector<std::string> set = options.set;
  set.push_back(kSession + ("=" + session_));
  set.emplace_back("OMPI_ALLOW_RUN_AS_ROOT=1");
  set.emplace_back("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1");
  if (hosts != nullptr) words = hosts->on(0, words);
  launcher_ = std::make_unique<Process>(words, set);
}

std::vector<std::string> LaunchedRanks::launcher_words(const RankOptions& options,
                                                       const TestHosts* hosts) const {
  const int count = hosts != nullptr ? hosts->count() : 1;
  const std::string slots = " slots=" + std::to_string((options.ranks + count - 1) / count) + "\n";
  std::string host_file;
  for (int host = 0; host < count; ++host) {
    host_file += (hosts != nullptr ? hosts->address(host) : "localhost") + slots;
  }
  const std::string network = hosts != nullptr ? hosts->network() : "127.0.0.0/8";
  std::vector<std::string> words = {"mpirun",
                                    "-n",
                                    std::to_string(options.ranks),
                                    "--hostfile",
                                    folder_.put("hosts", host_file),
                                    "--oversubscribe",
                                    "--bind-to",
                                    "none"};
  const auto setting = [&](const char* name, const std::string& value) {
    words.insert(words.end(), {"--mca", name, value});
  };
  setting("orte_tmpdir_base", folder_.path());
  setting("btl_vader_backing_directory", folder_.path());
  setting("oob_tcp_if_include", network);
  setting("btl_tcp_if_include", network);
  setting("pml", "ob1");
  // More ranks than cores, which the hosts do not know of each other.
  setting("mpi_yield_when_idle", "1");
  if (hosts != nullptr) {
    setting("plm", "rsh");
    setting("plm_rsh_agent", hosts->agent());
    setting("plm_rsh_no_tree_spawn", "1");
  }
  words.insert(words.end(), options.launcher_options.begin(), options.launcher_options.end());
  return words;
}

LaunchedRanks::~LaunchedRanks() { kill_all_processes(); }

Milliseconds LaunchedRanks::rest() const {
  const auto passed = std::chrono::steady_clock::now() - start_;
  return std::max(std::chrono::duration_cast<Milliseconds>(deadline_ - passed), Milliseconds(0));
}

ProcessRun LaunchedRanks::finish(Milliseconds limit) {
  const bool is_late = !wait_until(std::min(limit, rest()), [&] { return launcher_->has_ended(); });
  if (is_late) kill_all_processes();
  ProcessRun run = launcher_->finish();
  run.timed_out = run.timed_out || is_late;
  run.errors = without_launch_warnings(run.errors);
  return run;
}

std::vector<pid_t> LaunchedRanks::processes() const {
  std::vector<pid_t> result = living_processes();
  std::erase_if(result, [&](pid_t process) {
    const auto variables = environment_of(process);
    const auto own = variables.find(kSession);
    return own == variables.end() || own->second != session_;
  });
  return result;
}

// A rank's own children have inherited its number: the eldest counts.
std::vector<pid_t> LaunchedRanks::ranks() const {
  std::vector<pid_t> result = processes();
  std::erase_if(result, [&](pid_t process) {
    return rank_of(process, session_) < 0 || rank_of(parent_of(process), session_) >= 0;
  });
  return result;
}

pid_t LaunchedRanks::rank(int k) {
  pid_t result = -1;
  wait_until(rest(), [&] {
    for (const pid_t process : ranks()) {
      if (rank_of(process, session_) == k) result = process;
    }
    return result > 0 || launcher_->has_ended();
  });
  return result;
}

bool LaunchedRanks::signal_rank(int k, int signal) {
  const pid_t process = rank(k);
  return process > 0 && kill(process, signal) == 0;
}

bool LaunchedRanks::wait_until_ranks_are_gone(Milliseconds limit) const {
  return wait_until(limit, [&] { return ranks().empty(); });
}

void LaunchedRanks::kill_all_processes() const {
  for (int round = 0; round < 20; ++round) {
    const std::vector<pid_t> found = processes();
    if (found.empty()) return;
    // Zombies of ours do not count as alive, so there is nothing to wait for but the end.
    kill_all(found);
  }
}

ProcessRun run_ranks(const std::vector<std::string>& command, const RankOptions& options,
                     const TestHosts* hosts) {
  return LaunchedRanks(command, options, hosts).finish();
}

}  // namespace headlight::test
