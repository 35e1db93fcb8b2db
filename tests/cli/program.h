// Running the program as a user's shell would.
#pragma once

#include <spawn.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace headlight::test {

struct ProgramRun {
  int code = 0;  // negative: the signal that ended it
  std::string output;
  std::string errors;
  int64_t peak_bytes = 0;  // the most memory that it had at a time
};

struct Surroundings {
  std::vector<std::string> set = {};    // "NAME=value"
  std::vector<std::string> unset = {};  // names
  std::string input_path = {};          // what standard input reads
  int input_file = -1;                  // the same, an open file
  bool close_input = false;
  bool close_output = false;
  std::string output_path = {};  // instead of being captured
  int output_file = -1;          // the same, an open file
  // A terminal that is all three streams instead, and that of a session which the program leads.
  std::string terminal_path = {};
};

// One run; it goes on until finish(), which gives its result.
class Program {
 public:
  explicit Program(const std::vector<std::string>& arguments, const Surroundings& around = {});
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  ProgramRun finish();
  // Waits until the program handles the signal, then sends it. False when it never does.
  bool send(int signal);
  // Waits until the program does nothing but wait, as for a pipe's other end; false when it ends or
  // goes on for long.
  bool wait_until_blocked() const;
  // At once, whatever it does.
  void kill();
  pid_t id() const { return process_; }

 private:
  void add_streams(posix_spawn_file_actions_t& actions, const Surroundings& around) const;

  pid_t process_ = -1;
  std::string output_path_;
  std::string errors_path_;
};

ProgramRun run_program(const std::vector<std::string>& arguments, const Surroundings& around = {});

// The program, and the environment it is given: ours, without what it heeds, changed as asked.
std::string program_path();
std::vector<std::string> program_environment(const Surroundings& around);

// Whether the program is of the same build as these tests. The environment's HEADLIGHT_PROGRAM
// names another one, which may know fewer instruction sets.
bool is_built_with_tests();

// What every error is: nothing on standard output, one line on standard error that holds `part`.
void expect_one_line(const ProgramRun& run, int code, const std::string& part);

}  // namespace headlight::test
