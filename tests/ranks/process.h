// Process: any command as a process of its own, and the processes of this machine as /proc tells.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <ctime>
#include <map>
#include <string>
#include <vector>

namespace headlight::test {

using Milliseconds = std::chrono::milliseconds;

// Asks every few milliseconds until the answer is yes; false when it was not within the limit.
template <class Question>
bool wait_until(Milliseconds limit, const Question& question) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!question()) {
    if (std::chrono::steady_clock::now() > end) return false;
    timespec pause = {0, 5'000'000};
    nanosleep(&pause, nullptr);
  }
  return true;
}

struct ProcessRun {
  int code = 0;  // negative: the signal that ended it
  std::string output;
  std::string errors;
  Milliseconds elapsed{0};
  bool timed_out = false;  // it was killed by us at the end of its time
};

// Leads a session of its own, so that no signal of a terminal reaches it, and dies with the thread
// that started it, so that none outlives a test that is killed.
class Process {
 public:
  // The first word is looked for in PATH. `set` holds "NAME=value", beside our own environment
  // without what programs heed.
  explicit Process(const std::vector<std::string>& words, const std::vector<std::string>& set = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // What it has written so far.
  std::string output() const;
  std::string errors() const;
  // Waits until its output holds the text; false when it ends or the time is over before.
  bool wait_for_output(const std::string& text, Milliseconds limit);
  bool has_ended();
  // Waits for its end, and kills it, but not what it has started, when the time is over.
  ProcessRun finish(Milliseconds limit = Milliseconds(60'000));
  bool send(int signal);
  pid_t id() const { return process_; }

 private:
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  pid_t process_ = -1;
  bool has_ended_ = false;
  ProcessRun run_;
  std::string output_path_;
  std::string errors_path_;
};

// Of a process that is alive: neither gone nor a zombie.
bool is_alive(pid_t process);
pid_t parent_of(pid_t process);
std::map<std::string, std::string> environment_of(pid_t process);
// Tells a process from a later one with the same id; 0 when there is none.
unsigned long long start_of(pid_t process);
std::vector<pid_t> living_processes();
// Kills them and waits until they are gone; false when one is not.
bool kill_all(const std::vector<pid_t>& processes);

// Where a program is that would be run by this name; empty when there is none.
std::string program_in_path(const std::string& name);

}  // namespace headlight::test
