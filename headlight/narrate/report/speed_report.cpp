// How much faster a model with fewer heads is, and why not by as much as it is smaller.
#include <algorithm>
#include <cmath>

#include "headlight/narrate/report/heads_reports.h"
#include "headlight/narrate/report/report_parts.h"

namespace headlight::narrate {
namespace {

using heads::SpeedReason;
using heads::SpeedResult;
using heads::SpeedRow;

ReportTable speed_table(const SpeedResult& result) {
  ReportTable table{
      .name = "rows",
      .title = told("experiment.bench.table"),
      .columns = {report_column("batch"), report_column("tokens"), report_column("bound"),
                  report_column("measured"), column_told_as("low", "quartile_low"),
                  column_told_as("high", "quartile_high"), report_column("saved"),
                  report_column("reason"), report_column("pairs"), report_column("seconds_full"),
                  report_column("seconds_pruned")},
      .rows = {}};
  for (size_t i = table.columns.size() - 3; i < table.columns.size(); ++i)
    table.columns[i].only_in_files = true;
  for (const SpeedRow& row : result.rows) {
    const std::string reason(name_of(row.reason));
    table.rows.push_back({row.batch, row.tokens, row.bound, row.measured, row.low, row.high,
                          row.saved, ReportWord{reason, "experiment.reason." + reason}, row.pairs,
                          row.seconds_full, row.seconds_pruned});
  }
  return table;
}

std::vector<int64_t> batches_of(const SpeedResult& result) {
  std::vector<int64_t> batches;
  for (const SpeedRow& row : result.rows) {
    if (std::ranges::find(batches, row.batch) == batches.end()) batches.push_back(row.batch);
  }
  return batches;
}

ReportRange speed_range(const SpeedResult& result) {
  ReportRange range{1, 1};
  for (const SpeedRow& row : result.rows) {
    for (const double ratio : {row.bound, row.measured, row.low, row.high}) {
      range.low = std::min(range.low, ratio);
      range.high = std::max(range.high, ratio);
    }
  }
  return range;
}

// What arithmetic allows and what was measured, against the length.
LinePicture batch_picture(const SpeedResult& result, int64_t batch) {
  LinePicture picture{
      .title = told("experiment.bench.batch", {{"batch", std::to_string(batch)}}),
      .x_axis = told("experiment.column.tokens"),
      .y_axis = told("experiment.bench.times"),
      .lines = {{told("experiment.column.bound"), {}}, {told("experiment.column.measured"), {}}},
      .bands = {{.label = told("experiment.bench.band"), .line = 1}},
      .y_range = speed_range(result)};
  for (const SpeedRow& row : result.rows) {
    if (row.batch != batch) continue;
    const auto tokens = static_cast<double>(row.tokens);
    picture.lines[0].points.push_back({tokens, row.bound});
    picture.lines[1].points.push_back({tokens, row.measured});
    picture.bands[0].x.push_back(tokens);
    picture.bands[0].range.push_back({row.low, row.high});
  }
  return picture;
}

// Rows are lengths, columns are batches.
MatrixPicture saved_map(const SpeedResult& result) {
  const std::vector<int64_t> batches = batches_of(result);
  MatrixPicture picture{.title = told("experiment.bench.saved"),
                        .row_title = told("experiment.column.tokens"),
                        .column_title = told("experiment.column.batch"),
                        .legend = told("experiment.column.saved")};
  for (const int64_t batch : batches)
    picture.columns.push_back(in_these_words(std::to_string(batch)));
  std::vector<int64_t> lengths;
  for (const SpeedRow& row : result.rows) {
    if (std::ranges::find(lengths, row.tokens) == lengths.end()) lengths.push_back(row.tokens);
  }
  for (const int64_t tokens : lengths) {
    picture.rows.push_back(in_these_words(std::to_string(tokens)));
    for (const int64_t batch : batches) {
      const auto found = std::ranges::find_if(result.rows, [&](const SpeedRow& row) {
        return row.tokens == tokens && row.batch == batch;
      });
      picture.values.push_back(found == result.rows.end() ? std::nullopt
                                                          : finite_or_nothing(found->saved));
    }
  }
  return picture;
}

// One sentence for each reason that there is, with the figures of the row that misses most.
void add_reasons(Report& report, const SpeedResult& result) {
  for (const SpeedReason reason : {SpeedReason::rest, SpeedReason::attention, SpeedReason::noise}) {
    const SpeedRow* worst = nullptr;
    int64_t rows = 0;
    for (const SpeedRow& row : result.rows) {
      if (row.reason != reason) continue;
      ++rows;
      if (worst == nullptr || row.saved < worst->saved) worst = &row;
    }
    if (worst == nullptr) continue;
    const bool is_rest = reason == SpeedReason::rest;
    report.notes.push_back(told(
        "experiment.bench.why_" + std::string(name_of(reason)),
        {{"rows", std::to_string(rows)},
         {"all", std::to_string(result.rows.size())},
         {"batch", std::to_string(worst->batch)},
         {"tokens", std::to_string(worst->tokens)},
         {"bound", ReportNumber{worst->bound, 3}},
         {"measured", ReportNumber{worst->measured, 3}},
         {"low", ReportNumber{worst->low, 3}},
         {"high", ReportNumber{worst->high, 3}},
         {"operations",
          ReportShare{is_rest ? worst->rest_of_operations() : worst->attention_operations_left()}},
         {"time", ReportShare{is_rest ? worst->rest_of_time() : worst->attention_time_left()}}}));
  }
}

}  // namespace

Report speed_report(const SpeedResult& result, const std::string& full, const std::string& pruned) {
  const auto by_measured = std::ranges::minmax(result.rows, {}, &SpeedRow::measured);
  const auto by_bound = std::ranges::minmax(result.rows, {}, &SpeedRow::bound);
  const auto reached = std::ranges::count(result.rows, SpeedReason::reached, &SpeedRow::reason);
  const bool saves = by_bound.max.bound > 1;
  Report report{
      .name = "bench",
      .title = told("experiment.bench.title", {{"full", full}, {"pruned", pruned}}),
      .summary = told(saves ? "experiment.bench.summary" : "experiment.bench.summary_equal",
                      {{"rows", std::to_string(result.rows.size())},
                       {"threads", std::to_string(result.threads)},
                       {"slowest", ReportNumber{by_measured.min.measured, 3}},
                       {"fastest", ReportNumber{by_measured.max.measured, 3}},
                       {"bound_low", ReportNumber{by_bound.min.bound, 3}},
                       {"bound_high", ReportNumber{by_bound.max.bound, 3}},
                       {"reached", std::to_string(reached)}}),
      .tables = {speed_table(result)}};
  if (saves) {
    add_reasons(report, result);
    if (report.notes.empty()) report.notes.push_back(told("experiment.bench.why_reached"));
    report.pictures.emplace_back(saved_map(result));
  }
  for (const int64_t batch : batches_of(result))
    report.pictures.emplace_back(batch_picture(result, batch));
  return report;
}

}  // namespace headlight::narrate
