// A small scanner for comments, literals and include lines.
#include "tests/architecture/source.h"

#include <algorithm>
#include <cctype>

namespace headlight::architecture {
namespace {

// The position after the literal or comment that begins at `at`; `at` itself when none does.
size_t skip_one(std::string_view text, size_t at) {
  const auto after = [&](std::string_view end, size_t from) {
    const size_t found = text.find(end, from);
    return found == std::string_view::npos ? text.size() : found + end.size();
  };
  if (text.substr(at, 2) == "//") return std::min(text.find('\n', at), text.size());
  if (text.substr(at, 2) == "/*") return after("*/", at + 2);
  if (text.substr(at, 2) == "R\"" && starts_word(text, at)) {
    const size_t open = std::min(text.find('(', at), text.size());
    return after(")" + std::string(text.substr(at + 2, open - at - 2)) + "\"", open);
  }
  const char quote = text[at];
  // An apostrophe after a digit separates digits.
  if (quote != '"' && (quote != '\'' || !starts_word(text, at))) return at;
  size_t end = at + 1;
  while (end < text.size() && text[end] != quote && text[end] != '\n') {
    end += text[end] == '\\' ? 2 : 1;
  }
  return std::min(end + 1, text.size());
}

}  // namespace

bool is_cpp(std::string_view path) { return path.ends_with(".h") || path.ends_with(".cpp"); }

bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool starts_word(std::string_view text, size_t at) {
  return at == 0 || !is_word_character(text[at - 1]);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string code_of(std::string_view text) {
  std::string code(text);
  for (size_t at = 0; at < text.size();) {
    const size_t end = skip_one(text, at);
    for (size_t i = at; i < end; ++i) {
      if (code[i] != '\n') code[i] = ' ';
    }
    at = end == at ? at + 1 : end;
  }
  return code;
}

std::vector<Include> includes_of(std::string_view text) {
  constexpr std::string_view kStart = "#include \"";
  std::vector<Include> includes;
  int number = 0;
  for (const std::string_view line : lines_of(text)) {
    ++number;
    if (!line.starts_with(kStart)) continue;
    const std::string_view rest = line.substr(kStart.size());
    includes.push_back({number, std::string(rest.substr(0, rest.find('"')))});
  }
  return includes;
}

}  // namespace headlight::architecture
