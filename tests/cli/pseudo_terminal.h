// A terminal for the program, whose bytes are kept as they come.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>

#include "tests/cli/program.h"

namespace headlight::test {

// Nothing is translated or echoed: what is shown is what the program wrote.
class PseudoTerminal {
 public:
  PseudoTerminal() : main_(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    if (main_ < 0 || grantpt(main_) != 0 || unlockpt(main_) != 0) {
      throw std::runtime_error("no pseudo-terminal");
    }
    path_ = ptsname(main_);
    other_ = open(path_.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC);
    termios settings{};
    tcgetattr(other_, &settings);
    cfmakeraw(&settings);
    tcsetattr(other_, TCSANOW, &settings);
    reader_ = std::thread([this] { read_until_over(); });
  }
  PseudoTerminal(const PseudoTerminal&) = delete;
  PseudoTerminal& operator=(const PseudoTerminal&) = delete;
  ~PseudoTerminal() { hang_up(); }

  const std::string& path() const { return path_; }

  // The end of the terminal, as when its window is closed; a program that goes on writing does not
  // delay it.
  void hang_up() {
    if (main_ < 0) return;
    stop_reading();
    close(other_);
    close(main_);
    main_ = -1;
  }

  // All that was written; for when the program has ended.
  std::string shown() {
    if (main_ >= 0) {
      stop_reading();
      while (read_some()) {
      }
    }
    hang_up();
    return shown_;
  }

 private:
  void read_until_over() {
    while (!is_over_) read_some();
  }
  void stop_reading() {
    is_over_ = true;
    if (reader_.joinable()) reader_.join();
  }
  // What arrives within 20 ms; false when nothing does.
  bool read_some() {
    char buffer[4096];
    pollfd wait{main_, POLLIN, 0};
    if (poll(&wait, 1, 20) <= 0) return false;
    const ssize_t count = read(main_, buffer, sizeof buffer);
    if (count > 0) shown_.append(buffer, static_cast<size_t>(count));
    return count > 0;
  }

  int main_;
  int other_ = -1;
  std::string path_;
  std::string shown_;
  std::atomic<bool> is_over_{false};
  std::thread reader_;
};

struct TerminalRun {
  int code = 0;
  std::string shown;  // both outputs
};

inline TerminalRun run_at_terminal(const std::vector<std::string>& words,
                                   std::vector<std::string> set = {}) {
  PseudoTerminal terminal;
  const ProgramRun run =
      run_program(words, {.set = std::move(set), .terminal_path = terminal.path()});
  return {run.code, terminal.shown()};
}

}  // namespace headlight::test
