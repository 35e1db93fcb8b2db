// Blocks of whole lines.
#include "apps/cli/text_lines.h"

#include "apps/cli/standard_input.h"
#include "headlight/base/base.h"
#include "headlight/text/text.h"

namespace headlight::cli {

TextLines::TextLines(Arguments& arguments) : name_("standard input") {
  exclude(arguments, "encoding", "text");
  encoding_ = arguments.text("encoding").value_or("");
  if (const auto text = arguments.text("text")) {
    name_ = arguments.source("text");
    waiting_ = *text;
    is_at_end_ = true;
  }
}

// Whole lines, or the rest at the end. Lines of other encodings are not told apart by a byte.
std::string TextLines::next_text() {
  if (!encoding_.empty() && !is_at_end_) {
    is_at_end_ = true;
    waiting_ = read_standard_input();
  }
  size_t end = std::string::npos;
  while (!is_at_end_ && end == std::string::npos) {
    const std::string more = read_some_of_standard_input();
    is_at_end_ = more.empty();
    const size_t last = more.rfind('\n');
    if (last != std::string::npos) end = waiting_.size() + last + 1;
    waiting_ += more;
    check_input_size(waiting_.size());
  }
  std::string text = waiting_.substr(0, end);
  waiting_.erase(0, text.size());
  return text;
}

std::vector<std::string> TextLines::next() {
  const std::string text = text::to_utf8(next_text(), name_, encoding_);
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const bool has_return = end > begin && end < text.size() && text[end - 1] == '\r';
    lines.push_back(text.substr(begin, end - begin - (has_return ? 1 : 0)));
    begin = end + 1;
  }
  first_line_ = next_line_;
  next_line_ += lines.size();
  return lines;
}

std::string TextLines::place(size_t index) const {
  return name_ + ", line " + std::to_string(first_line_ + index);
}

}  // namespace headlight::cli
