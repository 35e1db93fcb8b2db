// posix_spawn with its output in files, so that nothing can block.
#include "tests/cli/program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>
#include <thread>

extern char** environ;

namespace headlight::test {
namespace {

std::string temporary_file() {
  std::string name = testing::TempDir() + "headlight-run-XXXXXX";
  const int file = mkstemp(name.data());
  if (file >= 0) close(file);
  return name;
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

// What changes what the program says.
bool is_heeded(const std::string& name) {
  constexpr std::array<std::string_view, 3> kLocale = {"LC_ALL", "LC_MESSAGES", "LANG"};
  return name.starts_with("HEADLIGHT_") || std::ranges::find(kLocale, name) != kLocale.end();
}

}  // namespace

std::vector<std::string> program_environment(const Surroundings& around) {
  std::vector<std::string> result = around.set;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    const bool is_unset = std::ranges::find(around.unset, name) != around.unset.end();
    const bool is_set = std::ranges::any_of(
        around.set, [&](const std::string& other) { return other.starts_with(name + "="); });
    if (!is_unset && !is_set && !is_heeded(name)) result.push_back(text);
  }
  return result;
}

std::string program_path() {
  const char* other = std::getenv("HEADLIGHT_PROGRAM");
  return other != nullptr ? other : HEADLIGHT_PROGRAM;
}

bool is_built_with_tests() { return program_path() == HEADLIGHT_PROGRAM; }

Program::Program(const std::vector<std::string>& arguments, const Surroundings& around)
    : output_path_(temporary_file()), errors_path_(temporary_file()) {
  std::vector<std::string> words = {program_path()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = program_environment(around);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (!around.terminal_path.empty()) {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
      posix_spawn_file_actions_addopen(&actions, stream, around.terminal_path.c_str(), O_RDWR, 0);
    }
  } else {
    add_streams(actions, around);
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  if (!around.terminal_path.empty()) posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  const int problem = posix_spawn(&process_, words[0].c_str(), &actions, &attributes,
                                  pointers(words).data(), pointers(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (problem != 0) process_ = -1;
}

void Program::add_streams(posix_spawn_file_actions_t& actions, const Surroundings& around) const {
  if (around.close_input) {
    posix_spawn_file_actions_addclose(&actions, STDIN_FILENO);
  } else if (around.input_file >= 0) {
    posix_spawn_file_actions_adddup2(&actions, around.input_file, STDIN_FILENO);
  } else if (!around.input_path.empty()) {
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, around.input_path.c_str(), O_RDONLY,
                                     0);
  }
  if (around.close_output) {
    posix_spawn_file_actions_addclose(&actions, STDOUT_FILENO);
  } else if (around.output_file >= 0) {
    posix_spawn_file_actions_adddup2(&actions, around.output_file, STDOUT_FILENO);
  } else {
    const std::string& path = around.output_path.empty() ? output_path_ : around.output_path;
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, path.c_str(), O_WRONLY, 0);
  }
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors_path_.c_str(), O_WRONLY, 0);
}

Program::~Program() {
  if (process_ > 0) {
    kill();
    finish();
  }
  unlink(output_path_.c_str());
  unlink(errors_path_.c_str());
}

ProgramRun Program::finish() {
  int status = 0;
  rusage usage{};
  if (process_ < 0 || wait4(process_, &status, 0, &usage) != process_) {
    return {-1, "", "did not start"};
  }
  process_ = -1;
  return {WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status), content_of(output_path_),
          content_of(errors_path_), int64_t{1024} * usage.ru_maxrss};
}

bool Program::send(int signal) {
  const std::string path = "/proc/" + std::to_string(process_) + "/status";
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const std::string status = content_of(path);
    const size_t caught = status.find("SigCgt:");
    if (caught == std::string::npos) return false;
    const auto mask = std::strtoull(status.c_str() + caught + 7, nullptr, 16);
    if ((mask >> (signal - 1) & 1) != 0) return ::kill(process_, signal) == 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

bool Program::wait_until_blocked() const {
  const std::string path = "/proc/" + std::to_string(process_) + "/stat";
  int sleeping = 0;
  for (int attempt = 0; attempt < 3000 && sleeping < 10; ++attempt) {
    const std::string facts = content_of(path);
    const size_t name_end = facts.rfind(") ");
    if (name_end == std::string::npos || facts[name_end + 2] == 'Z') return false;
    sleeping = facts[name_end + 2] == 'S' ? sleeping + 1 : 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return sleeping == 10;
}

void Program::kill() { ::kill(process_, SIGKILL); }

ProgramRun run_program(const std::vector<std::string>& arguments, const Surroundings& around) {
  return Program(arguments, around).finish();
}

void expect_one_line(const ProgramRun& run, int code, const std::string& part) {
  EXPECT_EQ(run.code, code) << run.errors;
  EXPECT_EQ(run.output, "");
  EXPECT_TRUE(run.errors.starts_with("headlight: ")) << run.errors;
  EXPECT_EQ(std::ranges::count(run.errors, '\n'), 1) << run.errors;
  EXPECT_TRUE(run.errors.ends_with('\n')) << run.errors;
  EXPECT_NE(run.errors.find(part), std::string::npos)
      << "in: " << run.errors << "not found: " << part;
}

}  // namespace headlight::test
