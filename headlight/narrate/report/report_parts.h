// What reports of experiments share: columns by name, and sentences with what heads look at in
// them.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/narrate/report/report.h"

namespace headlight::narrate {

// The column of this name, with its heading and, where there is one, its meaning:
// "experiment.column.gradient", "experiment.column.gradient.text".
ReportColumn report_column(std::string_view name);
std::vector<ReportColumn> report_columns(std::initializer_list<std::string_view> names);
// One whose texts are those of another key than its name's: names are those of JSON, where the same
// name may mean different things.
ReportColumn column_told_as(std::string_view name, std::string_view key);

// Whether any row has a number in the column.
bool has_numbers(const ReportTable& table, std::string_view column);
// Maps of heads by these columns, without those that have no numbers.
std::vector<ReportPicture> heads_maps(const ReportTable& table,
                                      std::initializer_list<std::string_view> columns);

}  // namespace headlight::narrate
