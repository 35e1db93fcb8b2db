// Widths are counted in columns, not in bytes: text may be in any script.
#include "apps/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "headlight/text/text.h"

namespace headlight::cli {
namespace {

constexpr int64_t kUnknownWidth = 80;
constexpr int64_t kLeastWidth = 40;
constexpr std::string_view kCut = "…";

bool is_set(const char* variable) {
  const char* text = std::getenv(variable);
  return text != nullptr && *text != '\0';
}

bool is_dumb() {
  const char* terminal = std::getenv("TERM");
  return terminal == nullptr || std::string_view(terminal) == "dumb";
}

}  // namespace

Terminal terminal_of_output() {
  Terminal terminal;
  if (isatty(STDOUT_FILENO) != 1) return terminal;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    terminal.width = std::max<int64_t>(size.ws_col, kLeastWidth);
  } else {
    terminal.width = kUnknownWidth;
  }
  terminal.colors = !is_set("NO_COLOR") && !is_dumb();
  return terminal;
}

std::string wrapped(std::string_view text, int64_t width, std::string_view indent) {
  std::string lines;
  std::string line(indent);
  bool is_empty = true;
  for (const std::string_view word : text::words(text)) {
    if (!is_empty && text::columns(line) + 1 + text::columns(word) > width) {
      lines += line + "\n";
      line = indent;
      is_empty = true;
    }
    line.append(is_empty ? "" : " ").append(word);
    is_empty = false;
  }
  return is_empty ? lines : lines + line + "\n";
}

std::string padded(const std::string& text, int64_t width) {
  return text +
         std::string(static_cast<size_t>(std::max<int64_t>(0, width - text::columns(text))), ' ');
}

std::string padded_before(const std::string& text, int64_t width) {
  return std::string(static_cast<size_t>(std::max<int64_t>(0, width - text::columns(text))), ' ') +
         text;
}

std::string visible(const std::string& text) {
  std::string shown;
  for (const char c : text) {
    if (c == '\n') {
      shown += "⏎";
    } else if (c == '\t') {
      shown += "→";
    } else {
      shown += static_cast<unsigned char>(c) < ' ' || c == 0x7f ? '?' : c;
    }
  }
  return shown;
}

std::string cut_to(const std::string& text, int64_t width) {
  if (text::columns(text) <= width) return text;
  std::string shown;
  int64_t used = text::columns(kCut);
  for (size_t at = 0; at < text.size();) {
    const size_t length = text::code_point_at(text, at).length;
    const std::string letter = text.substr(at, length);
    used += text::columns(letter);
    if (used > width) break;
    shown += letter;
    at += length;
  }
  return shown.append(kCut);
}

std::string bold(const Terminal& terminal, const std::string& text) {
  return terminal.colors ? "\033[1m" + text + "\033[0m" : text;
}

std::string table_text(const std::vector<std::vector<std::string>>& lines, int64_t width) {
  std::vector<int64_t> widths;
  for (const std::vector<std::string>& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (size_t i = 0; i < line.size(); ++i) {
      widths[i] = std::max(widths[i], text::columns(line[i]));
    }
  }
  std::string text;
  for (const std::vector<std::string>& line : lines) {
    std::string shown;
    for (size_t i = 0; i < line.size(); ++i) {
      shown += "  " + (i + 1 < line.size() ? padded(line[i], widths[i]) : line[i]);
    }
    shown.erase(shown.find_last_not_of(' ') + 1);
    text += cut_to(shown, width) + "\n";
  }
  return text;
}

}  // namespace headlight::cli
