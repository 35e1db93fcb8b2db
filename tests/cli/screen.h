// The screen of a terminal: bytes as a person would see them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::test {

// What happens to lines when the width changes: most terminals break and join them anew, some leave
// rows where they are and cut them.
enum class OnResize { reflow, cut };

// Knows carriage returns, line feeds, tabs, backspaces, erasing and cursor-up; colours take no
// room, Hangul takes two columns. All lines that ever were are on it.
class Screen {
 public:
  explicit Screen(int64_t width, OnResize on_resize = OnResize::reflow)
      : width_(width), on_resize_(on_resize), lines_(1) {}

  void feed(std::string_view bytes);
  void resize(int64_t width);

  // Without blanks at their ends, and without empty ones at the end of the screen.
  std::vector<std::string> rows() const;
  std::string text() const;  // the rows with line feeds between them
  // Lines that were too long for a row when they were written.
  const std::vector<std::string>& broken_lines() const { return broken_; }
  // Escape sequences that are not known here.
  const std::vector<std::string>& unknown() const { return unknown_; }

 private:
  // A line from one line feed to the next; it takes as many rows as its cells need. The right half
  // of a wide letter is an empty cell.
  using Cells = std::vector<std::string>;

  size_t obey(std::string_view bytes, size_t at);
  void erase(char what, int64_t how);
  void put(const std::string& glyph, int64_t columns);
  void feed_line();
  void up();
  void return_to_row();
  int64_t row_begin() const;

  int64_t width_;
  OnResize on_resize_;
  std::vector<Cells> lines_;
  size_t line_ = 0;
  int64_t column_ = 0;       // within the line, whatever rows it takes
  bool is_at_edge_ = false;  // the last column is written; the next letter goes to the next row
  std::vector<std::string> broken_;
  std::vector<std::string> unknown_;
};

}  // namespace headlight::test
