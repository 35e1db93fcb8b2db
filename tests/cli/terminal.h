// Running the program as a person at a terminal does: in a real pseudo-terminal of so many columns,
// whose keys are typed and whose screen is looked at.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "tests/cli/screen.h"

namespace headlight::test {

struct TerminalOptions {
  int columns = 80;
  OnResize on_resize = OnResize::reflow;
  std::vector<std::string> set = {};  // "NAME=value"
  std::string input_path = {};        // what standard input reads instead of the keyboard
  std::string output_path = {};       // where standard output goes instead of the screen
};

class Terminal {
 public:
  explicit Terminal(const std::vector<std::string>& arguments, const TerminalOptions& options = {});
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // "\x04" is Ctrl-D, "\x03" Ctrl-C.
  void type(std::string_view keys);
  // As if the window were drawn smaller or larger.
  void resize(int columns);
  // Waits until the screen shows the text; false when the program ends before, or half a minute
  // passes.
  bool wait_for(const std::string& text);
  // Looks on for a while.
  void watch(std::chrono::milliseconds time);
  // Reads on to the program's end, and gives its exit code; negative: the signal that ended it.
  int finish();

  const Screen& screen() const { return screen_; }
  const std::string& bytes() const { return bytes_; }  // all that came

 private:
  bool read_some(std::chrono::milliseconds wait);

  int keyboard_ = -1;
  pid_t process_ = -1;
  Screen screen_;
  std::string bytes_;
  size_t fed_ = 0;
};

}  // namespace headlight::test
