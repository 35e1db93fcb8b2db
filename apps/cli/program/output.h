// Standard output: where data goes.
#pragma once

#include <string>

#include "headlight/base/base.h"

namespace headlight::cli {

// Whoever read standard output has gone; there is nobody to tell, and nothing to say.
struct ReaderGone {};

// Buffered. Bytes pass as they are, but a terminal is shown controls and does not get to obey them:
// what models, tokenizers and files hold is written too. Throws ReaderGone when the other end of a
// pipe is closed or the terminal has gone, or when nobody reads and a signal waits;
// Error(out_of_memory) when the disk is full, Error(failed) for other failures. Nothing is known to
// have arrived before flush() returns.
class StandardOutput : public base::Output {
 public:
  StandardOutput();
  using base::Output::write;
  void write(std::span<const std::byte> bytes) override;
  void flush();
  // From here on sequences that set colours reach a terminal: for what is laid out with them.
  void allow_colors() { has_colors_ = true; }

 private:
  void write_out(size_t length);

  std::string buffer_;
  bool is_terminal_;
  bool has_colors_ = false;
};

// Whether somebody reads standard output at a terminal. Launchers of several ranks make one of
// their own, of which they take the bytes.
bool is_output_terminal();

// A line for the person at the terminal, on standard error; controls in it are shown, failures are
// ignored.
void print_line(std::string_view line);
// The same for what is laid out for a terminal and has its own ends of lines.
void print_as_it_is(std::string_view text);

}  // namespace headlight::cli
