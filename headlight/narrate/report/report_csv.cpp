// Reports as CSV, for programs and spreadsheets.
#include <algorithm>

#include "headlight/io/io.h"
#include "headlight/narrate/report/report.h"

namespace headlight::narrate {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

// A spreadsheet takes what begins so for a formula, blanks before it or not.
bool looks_like_formula(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  const bool starts_odd = !text.empty() && (text.front() == '\t' || text.front() == '\r');
  return starts_odd || (begin != text.npos &&
                        std::string_view("=+-@").find(text[begin]) != std::string_view::npos);
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string csv_cell(const ReportCell& cell) {
  if (const auto* words = std::get_if<std::string>(&cell)) return csv_text(*words);
  if (const auto* word = std::get_if<ReportWord>(&cell)) return csv_text(word->name);
  if (const auto* count = std::get_if<int64_t>(&cell)) return std::to_string(*count);
  const auto number = number_of(cell);
  return number ? io::number_text(*number) : "";
}

// The columns of all tables, each name once.
std::vector<std::string> csv_columns(const Report& report) {
  std::vector<std::string> names;
  for (const ReportTable& table : report.tables) {
    if (!table.in_csv) continue;
    for (const ReportColumn& column : table.columns) {
      if (std::ranges::find(names, column.name) == names.end()) names.push_back(column.name);
    }
  }
  return names;
}

}  // namespace

std::string csv_text(const std::string& text) {
  return csv_field(looks_like_formula(text) ? "'" + text : text);
}

std::string report_csv(const Report& report) {
  const bool names_tables = std::ranges::count(report.tables, true, &ReportTable::in_csv) > 1;
  const std::vector<std::string> names = csv_columns(report);
  std::string text = names_tables ? "table," : "";
  for (size_t i = 0; i < names.size(); ++i) text += (i > 0 ? "," : "") + csv_text(names[i]);
  text += kLineEnd;
  for (const ReportTable& table : report.tables) {
    if (!table.in_csv) continue;
    for (const std::vector<ReportCell>& row : table.rows) {
      if (names_tables) text += csv_text(table.name) + ",";
      for (size_t i = 0; i < names.size(); ++i) {
        const auto column = std::ranges::find(table.columns, names[i], &ReportColumn::name);
        if (i > 0) text += ',';
        if (column != table.columns.end())
          text += csv_cell(row[static_cast<size_t>(column - table.columns.begin())]);
      }
      text += kLineEnd;
    }
  }
  return text;
}

}  // namespace headlight::narrate
