// Tables of text, and what becomes of them where there is little room.
#include <algorithm>

#include "headlight/narrate/text_layout.h"
#include "headlight/text/text.h"

namespace headlight::narrate {
namespace {

std::vector<int64_t> column_widths(const std::vector<std::vector<std::string>>& lines) {
  std::vector<int64_t> widths;
  for (const std::vector<std::string>& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (size_t i = 0; i < line.size(); ++i) {
      widths[i] = std::max(widths[i], text::columns(line[i]));
    }
  }
  return widths;
}

// In lines of so many columns, wherever they break.
std::string in_pieces(const std::string& text, int64_t width) {
  std::string lines;
  int64_t used = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t length = text::code_point_at(text, at).length;
    const std::string letter = text.substr(at, length);
    used += text::columns(letter);
    if (used > width) {
      lines += '\n';
      used = text::columns(letter);
    }
    lines += letter;
    at += length;
  }
  return lines + "\n";
}

// Of all columns but the first, with `gap` blanks before each.
int64_t columns_of_numbers(const std::vector<int64_t>& widths, int64_t gap) {
  int64_t columns = 0;
  for (size_t i = 1; i < widths.size(); ++i) columns += gap + widths[i];
  return columns;
}

// "name", and below it "median ms: 1.5", each number in a line.
std::string list_of_numbers(const std::vector<std::vector<std::string>>& lines, int64_t width) {
  std::string text;
  for (size_t row = 1; row < lines.size(); ++row) {
    text += in_pieces(lines[row].front(), width);
    for (size_t i = 1; i < lines[row].size(); ++i) {
      if (lines[row][i].empty()) continue;
      text += wrapped(lines.front()[i] + ": " + lines[row][i], width, "  ");
    }
  }
  return text;
}

}  // namespace

std::string table_text(std::vector<std::vector<std::string>> lines, int64_t width) {
  for (std::vector<std::string>& line : lines) {
    for (std::string& cell : line) cell = visible(cell);
  }
  const std::vector<int64_t> widths = column_widths(lines);
  const int64_t needed = columns_of_numbers(widths, 2) + 2 + (widths.empty() ? 0 : widths.front());
  if (needed > width && lines.size() > 1) return table_of_numbers(lines, width);
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

std::string table_of_numbers(const std::vector<std::vector<std::string>>& lines, int64_t width) {
  const std::vector<int64_t> widths = column_widths(lines);
  const int64_t gap = columns_of_numbers(widths, 2) <= width ? 2 : 1;
  const int64_t room = width - columns_of_numbers(widths, gap);
  if (room < 0) return list_of_numbers(lines, width);
  const int64_t name_columns = std::min(widths.front(), room);
  std::string text;
  for (const std::vector<std::string>& line : lines) {
    const bool has_room = text::columns(line.front()) <= name_columns;
    if (!has_room) text += in_pieces(line.front(), width);
    std::string shown = padded(has_room ? line.front() : "", name_columns);
    for (size_t i = 1; i < line.size(); ++i) shown += padded_before(line[i], gap + widths[i]);
    shown.erase(shown.find_last_not_of(' ') + 1);
    text += shown + "\n";
  }
  return text;
}

}  // namespace headlight::narrate
