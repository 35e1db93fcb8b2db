// Reports for a terminal: tables in as many pieces as the width asks for, maps of heads in shades.
#include <algorithm>
#include <cmath>

#include "headlight/narrate/command_lines.h"
#include "headlight/narrate/draw_matrix.h"
#include "headlight/narrate/report/report.h"
#include "headlight/narrate/report/report_numbers.h"
#include "headlight/text/text.h"

namespace headlight::narrate {
namespace {

constexpr int64_t kLeastColumn = 12;
constexpr int kTableDigits = 4;

// As wrapped() has them, and words that are longer than a line in pieces: names of models may be
// long paths.
std::string lines_in_width(const std::string& text, int64_t width, std::string_view indent = "") {
  const int64_t room = width - text::columns(indent);
  std::string broken;
  int64_t used = 0;  // by the word so far
  for (size_t at = 0; at < text.size();) {
    const size_t length = text::code_point_at(text, at).length;
    const std::string_view letter = std::string_view(text).substr(at, length);
    const int64_t wide = text::columns(letter);
    used = letter == " " ? 0 : used + wide;
    if (used > room) {
      broken += ' ';
      used = wide;
    }
    broken += letter;
    at += length;
  }
  return wrapped(broken, width, indent);
}

std::string bold_lines(const TextStyle& style, const std::string& text) {
  std::string lines = lines_in_width(text, style.width);
  if (lines.empty()) return lines;
  lines.pop_back();
  return bold(style, lines) + "\n";
}

// A table with its texts; columns of numbers are aligned at their ends.
struct TextColumn {
  std::vector<std::string> cells;  // the heading first
  bool is_number = false;
  int64_t width = 0;
};

std::vector<TextColumn> text_columns(const ReportTable& table, size_t rows,
                                     const Catalogue& catalogue) {
  std::vector<TextColumn> columns;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].only_in_files) continue;
    const std::vector<double> numbers = column_numbers(table, i);
    const ReportNumberFormat format = report_format(numbers, kTableDigits);
    TextColumn& column = columns.emplace_back();
    column.is_number = !numbers.empty();
    column.cells.push_back(table.columns[i].heading.in(catalogue));
    for (size_t row = 0; row < rows; ++row) {
      column.cells.push_back(cell_text(table.rows[row][i], format, catalogue));
    }
    for (const std::string& cell : column.cells) {
      column.width = std::max(column.width, text::columns(cell));
    }
  }
  return columns;
}

std::string aligned_cell(const TextColumn& column, size_t row) {
  const std::string cell = cut_to(column.cells[row], column.width);
  return column.is_number ? padded_before(cell, column.width) : padded(cell, column.width);
}

// The first column and those of `shown`.
std::string piece_text(const TextStyle& style, const std::vector<TextColumn>& columns,
                       const std::vector<size_t>& shown) {
  std::string text;
  for (size_t row = 0; row < columns.front().cells.size(); ++row) {
    std::string line = "  " + aligned_cell(columns.front(), row);
    for (const size_t i : shown) line += "  " + aligned_cell(columns[i], row);
    line.erase(line.find_last_not_of(' ') + 1);
    text += (row == 0 ? bold(style, line) : line) + "\n";
  }
  return text;
}

// Where not all columns fit beside each other, the others follow below, each time after the first.
std::string columns_text(const TextStyle& style, std::vector<TextColumn> columns) {
  TextColumn& first = columns.front();
  const int64_t room = style.width - 2;
  first.width = std::min(first.width, columns.size() > 1 ? room - 2 - kLeastColumn : room);
  for (size_t i = 1; i < columns.size(); ++i)
    columns[i].width = std::min(columns[i].width, room - 2 - first.width);
  std::string text;
  for (size_t begin = 1; begin < columns.size() || text.empty();) {
    std::vector<size_t> shown;
    int64_t used = first.width;
    while (begin < columns.size() && (shown.empty() || used + 2 + columns[begin].width <= room)) {
      used += 2 + columns[begin].width;
      shown.push_back(begin++);
    }
    text += (text.empty() ? "" : "\n") + piece_text(style, columns, shown);
  }
  return text;
}

std::string report_table_text(const TextStyle& style, const ReportTable& table,
                              const Catalogue& catalogue) {
  std::string text = "\n" + bold_lines(style, table.title.in(catalogue));
  if (table.rows.empty())
    return text + lines_in_width(catalogue.text("experiment.empty"), style.width, "  ");
  const size_t rows =
      table.shown_rows == 0 ? table.rows.size() : std::min(table.shown_rows, table.rows.size());
  text += columns_text(style, text_columns(table, rows, catalogue));
  if (rows < table.rows.size()) {
    text += lines_in_width(
        catalogue.text("experiment.more_rows", {{"shown", std::to_string(rows)},
                                                {"all", std::to_string(table.rows.size())}}),
        style.width, "  ");
  }
  for (const ReportColumn& column : table.columns) {
    if (column.meaning.empty() || column.only_in_files) continue;
    text += lines_in_width(column.heading.in(catalogue) + ": " + column.meaning.in(catalogue),
                           style.width, "  ");
  }
  return text;
}

// Cells as wide as the widest number; in pieces where they do not fit beside each other.
std::string matrix_text(const TextStyle& style, const MatrixPicture& picture,
                        const Catalogue& catalogue) {
  std::vector<double> numbers;
  double largest = 0;
  for (const auto& value : picture.values) {
    if (!value) continue;
    numbers.push_back(*value);
    largest = std::max(largest, std::fabs(*value));
  }
  if (numbers.empty()) return "";
  const ReportNumberFormat format = report_format(numbers);
  int64_t width = 1, margin = 0;
  for (const double number : numbers)
    width = std::max(width, text::columns(format.text(catalogue, number)));
  for (const ReportText& column : picture.columns)
    width = std::max(width, std::min<int64_t>(8, text::columns(column.in(catalogue))));
  for (const ReportText& row : picture.rows)
    margin = std::max(margin, text::columns(row.in(catalogue)));
  margin = std::min(margin, style.width / 2);
  const auto fitting =
      static_cast<size_t>(std::max<int64_t>(1, (style.width - 2 - margin) / (width + 2)));
  std::string text = "\n" + bold_lines(style, picture.title.in(catalogue));
  const size_t all = picture.columns.size();
  for (size_t begin = 0; begin < all; begin += fitting) {
    const size_t end = std::min(all, begin + fitting);
    std::string heading = "  " + padded("", margin);
    for (size_t i = begin; i < end; ++i)
      heading += " " + padded_before(cut_to(picture.columns[i].in(catalogue), width), width) + " ";
    heading.erase(heading.find_last_not_of(' ') + 1);
    text += (begin > 0 ? "\n" : "") + heading + "\n";
    for (size_t row = 0; row < picture.rows.size(); ++row) {
      std::string line = "  " + padded(cut_to(picture.rows[row].in(catalogue), margin), margin);
      for (size_t i = begin; i < end; ++i) {
        const auto& value = picture.values[row * all + i];
        const std::string cell =
            " " + padded_before(value ? format.text(catalogue, *value) : "·", width) + " ";
        line += value ? shaded(style, cell, *value, largest) : cell;
      }
      if (!style.colors) line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
    }
  }
  return text;
}

}  // namespace

std::string report_text(const Report& report, const TextStyle& style, const Catalogue& catalogue) {
  std::string text = bold_lines(style, report.title.in(catalogue)) + "\n";
  text += lines_in_width(report.summary.in(catalogue), style.width);
  for (const ReportTable& table : report.tables) {
    if (table.in_terminal) text += report_table_text(style, table, catalogue);
  }
  // Of the pictures the first map; the others say what tables say.
  const auto map = std::ranges::find_if(report.pictures, [](const ReportPicture& picture) {
    return std::holds_alternative<MatrixPicture>(picture);
  });
  if (map != report.pictures.end())
    text += matrix_text(style, std::get<MatrixPicture>(*map), catalogue);
  for (const ReportText& note : report.notes)
    text += "\n" + lines_in_width(note.in(catalogue), style.width);
  std::vector<Suggestion> next;
  for (const ReportCommand& one : report.next)
    next.push_back({one.command, one.what.in(catalogue)});
  if (!next.empty()) text += "\n" + suggestions_text(catalogue, next, style.width);
  return text;
}

}  // namespace headlight::narrate
