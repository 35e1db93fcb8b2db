// Standard output: where data goes.
#pragma once

#include <string>

#include "headlight/base/base.h"

namespace headlight::cli {

// Whoever read standard output has gone; there is nobody to tell, and nothing to say.
struct ReaderGone {};

// Buffered. Throws ReaderGone when the other end of a pipe is closed, Error(out_of_memory) when the
// disk is full, Error(failed) for other failures. Nothing is known to have arrived before flush()
// returns.
class StandardOutput : public base::Output {
 public:
  using base::Output::write;
  void write(std::span<const std::byte> bytes) override;
  void flush();

 private:
  std::string buffer_;
};

// A line for the person at the terminal, on standard error; failures are ignored.
void print_line(std::string_view line);

}  // namespace headlight::cli
