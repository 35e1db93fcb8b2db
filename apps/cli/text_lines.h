// The lines of --text or of standard input.
#pragma once

#include <string>
#include <vector>

#include "apps/cli/arguments.h"

namespace headlight::cli {

// Lines end with LF or CRLF; the last may do without. What comes from a terminal or a slow pipe is
// given as it comes, so that each line gets its answer; a file is given in large blocks.
class TextLines {
 public:
  // Reads the options "text" and "encoding", which exclude each other.
  explicit TextLines(Arguments& arguments);

  // The next lines, at least one; none at the end. Throws Error(bad_input) for what is not UTF-8.
  std::vector<std::string> next();
  // "standard input, line 12": a line of the last block, for errors.
  std::string place(size_t index) const;

 private:
  std::string next_text();

  std::string name_;
  std::string encoding_;
  std::string waiting_;  // the beginning of a line
  size_t first_line_ = 1;
  size_t next_line_ = 1;
  bool is_at_end_ = false;
};

}  // namespace headlight::cli
