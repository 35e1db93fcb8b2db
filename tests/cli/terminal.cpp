// forkpty, and reading while the program runs.
#include "tests/cli/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>

#include "headlight/io/io.h"
#include "tests/cli/program.h"

namespace headlight::test {
namespace {

winsize size_of(int columns) {
  winsize size{};
  size.ws_row = 50;
  size.ws_col = static_cast<unsigned short>(columns);
  return size;
}

void redirect(const std::string& path, int stream, int flags) {
  if (path.empty()) return;
  const int file = open(path.c_str(), flags, 0644);
  if (file < 0 || dup2(file, stream) < 0) _exit(126);
}

// Up to an escape sequence whose end has not come yet.
size_t whole_sequences(std::string_view bytes) {
  const size_t last = bytes.rfind('\x1b');
  if (last == std::string_view::npos) return bytes.size();
  const size_t end = bytes.find_first_not_of("[?0123456789;", last + 1);
  return end == std::string_view::npos ? last : bytes.size();
}

}  // namespace

Terminal::Terminal(const std::vector<std::string>& arguments, const TerminalOptions& options)
    : screen_(options.columns, options.on_resize) {
  Surroundings around{.set = options.set};
  const bool has_kind = std::ranges::any_of(
      options.set, [](const std::string& variable) { return variable.starts_with("TERM="); });
  if (!has_kind) around.set.push_back("TERM=xterm-256color");
  std::vector<std::string> words = {program_path()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = program_environment(around);
  std::vector<char*> argument_pointers, variable_pointers;
  for (std::string& word : words) argument_pointers.push_back(word.data());
  for (std::string& variable : variables) variable_pointers.push_back(variable.data());
  argument_pointers.push_back(nullptr);
  variable_pointers.push_back(nullptr);
  winsize size = size_of(options.columns);
  process_ = forkpty(&keyboard_, nullptr, nullptr, &size);
  if (process_ != 0) return;
  redirect(options.input_path, STDIN_FILENO, O_RDONLY);
  redirect(options.output_path, STDOUT_FILENO, O_WRONLY | O_CREAT | O_TRUNC);
  execve(argument_pointers[0], argument_pointers.data(), variable_pointers.data());
  _exit(127);
}

Terminal::~Terminal() {
  if (process_ > 0) {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  if (keyboard_ >= 0) close(keyboard_);
}

void Terminal::type(std::string_view keys) {
  // The echo of ^C may come in the middle of any line; when, is not the program's choice.
  termios settings{};
  if (keys == "\x03" && tcgetattr(keyboard_, &settings) == 0) {
    settings.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    tcsetattr(keyboard_, TCSANOW, &settings);
  }
  if (write(keyboard_, keys.data(), keys.size()) < 0) return;  // the screen will tell
}

void Terminal::resize(int columns) {
  while (read_some(std::chrono::milliseconds(0))) {
  }
  const winsize size = size_of(columns);
  ioctl(keyboard_, TIOCSWINSZ, &size);
  screen_.resize(columns);
}

// Whether something came. What is half a letter waits for its other half.
bool Terminal::read_some(std::chrono::milliseconds wait) {
  pollfd ready{keyboard_, POLLIN, 0};
  if (poll(&ready, 1, static_cast<int>(wait.count())) <= 0) return false;
  char buffer[4096];
  const ssize_t count = read(keyboard_, buffer, sizeof buffer);
  if (count <= 0) return false;
  bytes_.append(buffer, static_cast<size_t>(count));
  const std::string_view rest = std::string_view(bytes_).substr(fed_);
  const size_t whole = whole_sequences(rest.substr(0, io::valid_utf8_length(rest)));
  screen_.feed(rest.substr(0, whole));
  fed_ += whole;
  return true;
}

bool Terminal::wait_for(const std::string& text) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (screen_.text().find(text) == std::string::npos) {
    if (std::chrono::steady_clock::now() > end) return false;
    siginfo_t ended{};
    waitid(P_PID, static_cast<id_t>(process_), &ended, WEXITED | WNOHANG | WNOWAIT);
    if (!read_some(std::chrono::milliseconds(100)) && ended.si_pid != 0) return false;
  }
  return true;
}

void Terminal::watch(std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) read_some(std::chrono::milliseconds(20));
}

int Terminal::finish() {
  int status = 0;
  for (;;) {
    const bool has_ended = waitpid(process_, &status, WNOHANG) != 0;
    while (read_some(std::chrono::milliseconds(has_ended ? 0 : 50))) {
    }
    if (has_ended) break;
  }
  process_ = -1;
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace headlight::test
