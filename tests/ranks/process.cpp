// fork and exec with the output in files, so that nothing can block.
#include "tests/ranks/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

extern char** environ;

namespace headlight::test {
namespace {

std::string temporary_file() {
  std::string name = (std::filesystem::temp_directory_path() / "headlight-process-").string();
  name += "XXXXXX";
  const int file = mkstemp(name.data());
  if (file < 0) throw std::runtime_error("no temporary file: " + name);
  close(file);
  return name;
}

// What can be read: a process may go while /proc tells of it.
std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string place_in_proc(pid_t process, const char* what) {
  return "/proc/" + std::to_string(process) + "/" + what;
}

// The fields of /proc/PID/stat after the name: the state is the first.
std::vector<std::string> facts_of(pid_t process) {
  const std::string text = content_of(place_in_proc(process, "stat"));
  const size_t name_end = text.rfind(") ");
  if (name_end == std::string::npos) return {};
  std::istringstream rest(text.substr(name_end + 2));
  return {std::istream_iterator<std::string>(rest), {}};
}

// What changes what programs say, or makes them believe that a launcher started them.
bool is_heeded(const std::string& entry) {
  constexpr const char* kStarts[] = {"HEADLIGHT_", "OMPI_", "PMIX_", "PMI_", "LC_", "LANG="};
  return std::ranges::any_of(kStarts, [&](const char* start) { return entry.starts_with(start); });
}

// Open MPI leaves memory behind when it ends, which is no leak of the program's.
std::string without_leak_check() {
  const char* given = std::getenv("ASAN_OPTIONS");
  return "ASAN_OPTIONS=" + (given != nullptr ? std::string(given) + ":" : "") + "detect_leaks=0";
}

std::vector<std::string> environment_with(const std::vector<std::string>& set) {
  std::vector<std::string> result = set;
  result.push_back(without_leak_check());
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string start = text.substr(0, text.find('=') + 1);
    const bool is_set =
        std::ranges::any_of(result, [&](const auto& other) { return other.starts_with(start); });
    if (!is_set && !is_heeded(text)) result.push_back(text);
  }
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

// In the child: only calls that are allowed after fork.
[[noreturn]] void become(const char* program, char** words, char** variables, int output,
                         int errors, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(126);
  setsid();
  const int input = open("/dev/null", O_RDONLY);
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  execve(program, words, variables);
  _exit(127);
}

}  // namespace

std::string program_in_path(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = std::getenv("PATH");
  // What only root uses is often not in PATH.
  std::istringstream folders(std::string(path != nullptr ? path : "") + ":/usr/sbin:/sbin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string place = folder + "/" + name;
    if (!folder.empty() && access(place.c_str(), X_OK) == 0) return place;
  }
  return "";
}

Process::Process(const std::vector<std::string>& words, const std::vector<std::string>& set)
    : output_path_(temporary_file()), errors_path_(temporary_file()) {
  std::string program = program_in_path(words.at(0));
  if (program.empty()) program = words[0];
  std::vector<std::string> own_words = words;
  std::vector<std::string> variables = environment_with(set);
  const std::vector<char*> word_pointers = pointers(own_words);
  const std::vector<char*> variable_pointers = pointers(variables);
  const int output = open(output_path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  const int errors = open(errors_path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ == 0) {
    become(program.c_str(), const_cast<char**>(word_pointers.data()),
           const_cast<char**>(variable_pointers.data()), output, errors, parent);
  }
  close(output);
  close(errors);
  if (process_ < 0) throw std::runtime_error("cannot start " + words[0]);
}

Process::~Process() {
  finish(Milliseconds(0));
  unlink(output_path_.c_str());
  unlink(errors_path_.c_str());
}

std::string Process::output() const { return content_of(output_path_); }
std::string Process::errors() const { return content_of(errors_path_); }

bool Process::has_ended() {
  if (has_ended_) return true;
  int status = 0;
  if (waitpid(process_, &status, WNOHANG) != process_) return false;
  run_.code = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  run_.elapsed =
      std::chrono::duration_cast<Milliseconds>(std::chrono::steady_clock::now() - start_);
  return has_ended_ = true;
}

bool Process::wait_for_output(const std::string& text, Milliseconds limit) {
  const auto is_there = [&] { return output().find(text) != std::string::npos; };
  wait_until(limit, [&] { return is_there() || has_ended(); });
  return is_there();
}

ProcessRun Process::finish(Milliseconds limit) {
  if (!wait_until(limit, [&] { return has_ended(); })) {
    run_.timed_out = true;
    kill(process_, SIGKILL);
    wait_until(Milliseconds(10'000), [&] { return has_ended(); });
  }
  run_.output = output();
  run_.errors = errors();
  return run_;
}

bool Process::send(int signal) { return !has_ended() && kill(process_, signal) == 0; }

bool is_alive(pid_t process) {
  const std::vector<std::string> facts = facts_of(process);
  return !facts.empty() && facts[0] != "Z" && facts[0] != "X";
}

pid_t parent_of(pid_t process) {
  const std::vector<std::string> facts = facts_of(process);
  return facts.size() > 1 ? std::atoi(facts[1].c_str()) : 0;
}

unsigned long long start_of(pid_t process) {
  const std::vector<std::string> facts = facts_of(process);
  return facts.size() > 19 ? std::strtoull(facts[19].c_str(), nullptr, 10) : 0;
}

std::map<std::string, std::string> environment_of(pid_t process) {
  std::map<std::string, std::string> result;
  std::istringstream entries(content_of(place_in_proc(process, "environ")));
  for (std::string entry; std::getline(entries, entry, '\0');) {
    const size_t sign = entry.find('=');
    if (sign != std::string::npos) result[entry.substr(0, sign)] = entry.substr(sign + 1);
  }
  return result;
}

std::vector<pid_t> living_processes() {
  std::vector<pid_t> result;
  DIR* folder = opendir("/proc");
  if (folder == nullptr) return result;
  while (const dirent* entry = readdir(folder)) {
    const pid_t process = std::atoi(entry->d_name);
    if (process > 0 && is_alive(process)) result.push_back(process);
  }
  closedir(folder);
  std::ranges::sort(result);
  return result;
}

bool kill_all(const std::vector<pid_t>& processes) {
  for (const pid_t process : processes) kill(process, SIGKILL);
  return wait_until(Milliseconds(10'000),
                    [&] { return std::ranges::none_of(processes, is_alive); });
}

}  // namespace headlight::test
