// Lines of cells and a cursor.
#include "tests/cli/screen.h"

#include <algorithm>
#include <charconv>

#include "headlight/text/text.h"

namespace headlight::test {
namespace {

template <class Cells>
std::string cells_text(const Cells& cells, int64_t begin, int64_t end) {
  std::string text;
  for (int64_t i = begin; i < end; ++i) text += cells[static_cast<size_t>(i)];
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace

void Screen::feed(std::string_view bytes) {
  for (size_t at = 0; at < bytes.size();) {
    if (static_cast<unsigned char>(bytes[at]) < ' ') {
      at = obey(bytes, at);
      continue;
    }
    // Marks belong to the letter before them.
    const size_t length = text::code_point_at(bytes, at).length;
    const std::string glyph(bytes.substr(at, length));
    put(glyph, text::columns(glyph));
    at += length;
  }
}

// A control or an escape sequence; where it ends.
size_t Screen::obey(std::string_view bytes, size_t at) {
  const char c = bytes[at];
  if (c == '\n') feed_line();
  if (c == '\r') return_to_row();
  if (c == '\b' && column_ > row_begin()) --column_;
  if (c == '\t') {
    for (int64_t blanks = 8 - (column_ - row_begin()) % 8; blanks > 0; --blanks) put(" ", 1);
  }
  if (c != '\x1b') return at + 1;
  const size_t end = bytes.find_first_not_of("[?0123456789;", at + 1);
  if (end == std::string_view::npos) return bytes.size();
  const std::string_view digits = bytes.substr(at + 2, end - at - 2);
  int64_t number = -1;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (bytes[end] == 'K' || bytes[end] == 'J') {
    erase(bytes[end], std::max<int64_t>(0, number));
  } else if (bytes[end] == 'A') {
    for (int64_t rows = std::max<int64_t>(1, number); rows > 0; --rows) up();
  } else if (bytes[end] != 'm') {
    unknown_.emplace_back(bytes.substr(at, end + 1 - at));
  }
  return end + 1;
}

// From the cursor to the row's end ('K'), all of the row (2K), or to the screen's end ('J').
void Screen::erase(char what, int64_t how) {
  Cells& cells = lines_[line_];
  const int64_t end = what == 'J' ? static_cast<int64_t>(cells.size())
                                  : std::min<int64_t>(row_begin() + width_, cells.size());
  const int64_t begin = how == 2 ? row_begin() : column_ - (is_at_edge_ ? 1 : 0);
  for (int64_t i = begin; i < end; ++i) cells[static_cast<size_t>(i)] = " ";
  if (end == static_cast<int64_t>(cells.size())) {
    cells.resize(static_cast<size_t>(std::min<int64_t>(begin, end)));
  }
  if (what == 'J') {
    for (size_t line = line_ + 1; line < lines_.size(); ++line) lines_[line].clear();
  }
}

void Screen::put(const std::string& glyph, int64_t columns) {
  Cells& cells = lines_[line_];
  if (columns == 0) {
    if (column_ > 0) cells[static_cast<size_t>(column_ - 1)] += glyph;
    return;
  }
  const bool has_no_room = columns == 2 && column_ - row_begin() == width_ - 1;
  if (has_no_room) put(" ", 1);
  if (is_at_edge_) {
    const std::string line = cells_text(cells, 0, static_cast<int64_t>(cells.size()));
    if (broken_.empty() || !line.starts_with(broken_.back())) broken_.push_back(line);
  }
  const auto needed = static_cast<size_t>(column_ + columns);
  if (cells.size() < needed) cells.resize(needed, " ");
  cells[static_cast<size_t>(column_)] = glyph;
  if (columns == 2) cells[static_cast<size_t>(column_ + 1)] = "";
  column_ += columns;
  is_at_edge_ = column_ % width_ == 0;
}

int64_t Screen::row_begin() const {
  const int64_t column = is_at_edge_ ? column_ - 1 : column_;
  return column - column % width_;
}

void Screen::return_to_row() {
  column_ = row_begin();
  is_at_edge_ = false;
}

// To the next row: of the same line, where it takes more than one.
void Screen::feed_line() {
  const int64_t in_row = column_ - row_begin();
  const int64_t next = row_begin() + width_;
  if (next < static_cast<int64_t>(lines_[line_].size())) {
    column_ = next + in_row;
  } else {
    ++line_;
    if (line_ == lines_.size()) lines_.emplace_back();
    column_ = std::min(in_row, width_ - 1);
  }
  is_at_edge_ = false;
}

void Screen::up() {
  const int64_t in_row = column_ - row_begin();
  if (row_begin() > 0) {
    column_ = row_begin() - width_ + in_row;
  } else if (line_ > 0) {
    --line_;
    const auto size = static_cast<int64_t>(lines_[line_].size());
    column_ = std::max<int64_t>(0, size - 1) / width_ * width_ + in_row;
  }
  is_at_edge_ = false;
}

void Screen::resize(int64_t width) {
  if (on_resize_ == OnResize::cut) {
    const int64_t in_row = column_ - row_begin();
    std::vector<Cells> rows;
    size_t cursor = 0;
    for (size_t line = 0; line < lines_.size(); ++line) {
      const auto size = static_cast<int64_t>(lines_[line].size());
      for (int64_t begin = 0; begin == 0 || begin < size; begin += width_) {
        if (line == line_ && begin == row_begin()) cursor = rows.size();
        const int64_t end = std::min({size, begin + width_, begin + width});
        rows.emplace_back(lines_[line].begin() + begin, lines_[line].begin() + end);
      }
    }
    lines_ = std::move(rows);
    line_ = cursor;
    column_ = std::min(in_row, width - 1);
  }
  width_ = width;
  // Behind the last letter of a row, not at the beginning of the next.
  is_at_edge_ =
      column_ > 0 && column_ % width_ == 0 && column_ == static_cast<int64_t>(lines_[line_].size());
}

std::vector<std::string> Screen::rows() const {
  std::vector<std::string> rows;
  for (const Cells& cells : lines_) {
    const auto size = static_cast<int64_t>(cells.size());
    for (int64_t begin = 0; begin == 0 || begin < size; begin += width_) {
      rows.push_back(cells_text(cells, begin, std::min(size, begin + width_)));
    }
  }
  while (!rows.empty() && rows.back().empty()) rows.pop_back();
  return rows;
}

std::string Screen::text() const {
  std::string text;
  for (const std::string& row : rows()) text += (text.empty() ? "" : "\n") + row;
  return text;
}

}  // namespace headlight::test
