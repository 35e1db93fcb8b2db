// Columns and maps by name.
#include "headlight/narrate/report/report_parts.h"

#include <algorithm>

#include "headlight/narrate/languages.h"
#include "headlight/narrate/report/report_numbers.h"

namespace headlight::narrate {

ReportColumn report_column(std::string_view name) {
  const std::string key = "experiment.column." + std::string(name);
  const std::string meaning = key + ".text";
  const bool is_explained = Catalogue::of(languages().front()).has(meaning);
  return {std::string(name), told(key), is_explained ? told(meaning) : ReportText{}};
}

ReportColumn column_told_as(std::string_view name, std::string_view key) {
  ReportColumn column = report_column(key);
  column.name = name;
  return column;
}

std::vector<ReportColumn> report_columns(std::initializer_list<std::string_view> names) {
  std::vector<ReportColumn> columns;
  for (const std::string_view name : names) columns.push_back(report_column(name));
  return columns;
}

bool has_numbers(const ReportTable& table, std::string_view column) {
  const auto found = std::ranges::find(table.columns, column, &ReportColumn::name);
  return found != table.columns.end() &&
         !column_numbers(table, static_cast<size_t>(found - table.columns.begin())).empty();
}

std::vector<ReportPicture> heads_maps(const ReportTable& table,
                                      std::initializer_list<std::string_view> columns) {
  std::vector<ReportPicture> maps;
  for (const std::string_view column : columns) {
    if (has_numbers(table, column)) maps.emplace_back(heads_map(table, column));
  }
  return maps;
}

}  // namespace headlight::narrate
