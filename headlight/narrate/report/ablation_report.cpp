// What is lost without heads, and which heads carry a relation.
#include <algorithm>
#include <cmath>

#include "headlight/narrate/report/heads_reports.h"
#include "headlight/narrate/report/report_parts.h"

namespace headlight::narrate {
namespace {

constexpr size_t kShownBars = 24;

// With the other metric, where there is one: its name is that of the column, as in JSON.
ReportTable ablation_table(const heads::AblationResult& result,
                           const std::vector<heads::AblatedHead>& heads, const std::string& name) {
  ReportTable table{.name = name,
                    .title = told("experiment.ablate." + name),
                    .columns = report_columns({"head", "loss", "change"}),
                    .rows = {}};
  if (!result.metric.empty()) table.columns.push_back(report_column(result.metric));
  if (name == "greedy") table.columns.insert(table.columns.begin(), report_column("removed"));
  for (const heads::AblatedHead& head : heads) {
    std::vector<ReportCell> row = {head.head, head.measured.loss, head.change};
    if (!result.metric.empty()) row.push_back(cell_or_nothing(head.measured.metric));
    if (name == "greedy") row.insert(row.begin(), static_cast<int64_t>(table.rows.size()) + 1);
    table.rows.push_back(std::move(row));
  }
  return table;
}

// Loss, or the other metric, against how many heads are gone.
LinePicture greedy_picture(const heads::AblationResult& result) {
  const bool has_metric = !result.metric.empty();
  const auto point = [&](size_t removed, const heads::Measurement& measured) {
    return LinePicture::Point{static_cast<double>(removed),
                              has_metric ? measured.metric.value_or(NAN) : measured.loss};
  };
  LinePicture::Line line{told("experiment.ablate.greedy"), {point(0, result.baseline)}};
  for (size_t i = 0; i < result.greedy.size(); ++i)
    line.points.push_back(point(i + 1, result.greedy[i].measured));
  return {.title = told("experiment.ablate.greedy"),
          .x_axis = told("experiment.column.removed"),
          .y_axis = told("experiment.column." + (has_metric ? result.metric : "loss")),
          .lines = {std::move(line)}};
}

}  // namespace

Report ablation_report(const heads::AblationResult& result, const std::string& model) {
  const std::string by(name_of(result.by));
  const auto most = std::ranges::max_element(result.heads, {}, &heads::AblatedHead::change);
  const auto harmless = std::ranges::count_if(
      result.heads, [](const heads::AblatedHead& head) { return head.change <= 0; });
  Report report{.name = "ablate",
                .title = told("experiment.ablate.title", {{"model", model}}),
                .summary = {},
                .notes = {told("experiment.ablate.by_" + by)},
                .tables = {ablation_table(result, result.heads, "heads")}};
  if (!result.heads.empty()) {
    report.summary =
        told("experiment.ablate.summary", {{"examples", std::to_string(result.examples)},
                                           {"loss", ReportNumber{result.baseline.loss}},
                                           {"most", most->head},
                                           {"change", ReportNumber{most->change, 3}},
                                           {"harmless", std::to_string(harmless)},
                                           {"all", std::to_string(result.heads.size())}});
  }
  report.pictures = heads_maps(report.tables[0], {"change"});
  if (!result.metric.empty()) {
    for (ReportPicture& map : heads_maps(report.tables[0], {result.metric}))
      report.pictures.push_back(std::move(map));
    report.notes.push_back(told("experiment.ablate.metric",
                                {{"name", ReportKey{"experiment.column." + result.metric}},
                                 {"number", ReportNumber{result.baseline.metric.value_or(NAN)}}}));
  }
  if (!result.all_but_one.empty())
    report.tables.push_back(ablation_table(result, result.all_but_one, "all_but_one"));
  if (!result.greedy.empty()) {
    report.tables.push_back(ablation_table(result, result.greedy, "greedy"));
    report.pictures.emplace_back(greedy_picture(result));
  }
  return report;
}

Report find_report(const recipes::FoundRelation& relation, const std::string& model) {
  const heads::FoundHeads& found = relation.found;
  ReportTable table{.name = "heads",
                    .title = told("experiment.find.table"),
                    .columns = report_columns({"head", "weight", "chance", "interval_low",
                                               "interval_high", "ablated_change"}),
                    .rows = {},
                    .shown_rows = kShownBars};
  BarPicture bars{.title = told("experiment.find.table"),
                  .axis = told("experiment.column.weight"),
                  .bars = {},
                  .range_label = told("experiment.find.range")};
  for (const heads::FoundHead& head : found.heads) {
    const auto of_pairs = [&](double number) {
      return head.weight ? ReportCell(number) : ReportCell();
    };
    table.rows.push_back({head.head, cell_or_nothing(head.weight), of_pairs(head.chance),
                          of_pairs(head.low), of_pairs(head.high),
                          cell_or_nothing(head.ablated_change)});
    if (head.weight && bars.bars.size() < kShownBars)
      bars.bars.push_back(
          {in_these_words(head.head), *head.weight, ReportRange{head.low, head.high}});
  }
  Report report{.name = "find",
                .title = told("experiment.find.title", {{"model", model}}),
                .summary = {},
                .tables = {std::move(table)}};
  report.pictures = heads_maps(report.tables[0], {"weight"});
  report.pictures.emplace_back(std::move(bars));
  const heads::FoundHead& best = found.heads.front();
  const bool is_clear = best.weight && *best.weight > best.high;
  report.summary = told(is_clear ? "experiment.find.summary" : "experiment.find.summary_none",
                        {{"pairs", std::to_string(found.pairs)},
                         {"examples", std::to_string(found.examples)},
                         {"best", best.head},
                         {"weight", ReportNumber{best.weight.value_or(NAN), 3}},
                         {"chance", ReportNumber{best.chance, 3}},
                         {"low", ReportNumber{best.low, 3}},
                         {"high", ReportNumber{best.high, 3}},
                         {"change", ReportNumber{best.ablated_change.value_or(NAN), 3}},
                         {"loss", ReportNumber{found.baseline.loss}}});
  // The best alone has been told, unless chance is enough for it.
  if (found.together.size() > (is_clear ? 1U : 0U)) {
    std::string names;
    for (const std::string& name : found.together) names += (names.empty() ? "" : ", ") + name;
    report.notes.push_back(
        told("experiment.find.together",
             {{"heads", names},
              {"change", ReportNumber{found.together_measured.loss - found.baseline.loss, 3}}}));
  }
  report.notes.push_back(told("experiment.ablate.by_" + std::string(name_of(found.by))));
  if (found.turned > 0)
    report.notes.push_back(
        told("experiment.find.turned", {{"pairs", std::to_string(found.turned)}}));
  if (relation.first_tokens > 0)
    report.notes.push_back(
        told("experiment.find.first_tokens", {{"pairs", std::to_string(relation.first_tokens)}}));
  return report;
}

}  // namespace headlight::narrate
