// What every head is worth and does.
#include <algorithm>
#include <cmath>

#include "headlight/narrate/report/heads_reports.h"
#include "headlight/narrate/report/report_parts.h"

namespace headlight::narrate {
namespace {

constexpr size_t kShownCompositions = 12;

ReportCell behaviour_cell(const std::optional<heads::BehaviourScore>& score) {
  return score ? ReportCell(score->value) : ReportCell();
}
ReportCell uniform_cell(const std::optional<heads::BehaviourScore>& score) {
  return score ? ReportCell(score->uniform) : ReportCell();
}

ReportTable score_table(const heads::HeadScores& scores) {
  ReportTable table{.name = "heads",
                    .title = told("experiment.score.table"),
                    .columns = report_columns(
                        {"head", "gradient", "gradient_signed", "gradient_normalized", "entropy",
                         "confidence", "mean_distance", "previous", "duplicate", "induction",
                         "prefix_matching", "copying", "role", "previous_uniform",
                         "duplicate_uniform", "induction_uniform", "prefix_matching_uniform"}),
                    .rows = {}};
  for (ReportColumn& column : table.columns)
    column.only_in_files = column.name.ends_with("_uniform");
  for (const heads::HeadScore& head : scores.heads) {
    const heads::HeadImportance& importance = head.importance;
    const auto of_rows = [&](double number) {
      return importance.rows > 0 ? ReportCell(number) : ReportCell();
    };
    const heads::Behaviour& behaviour = head.behaviour;
    const std::string role(name_of(head.role));
    table.rows.push_back(
        {head.head, importance.gradient, importance.gradient_signed, importance.gradient_normalized,
         of_rows(importance.statistics.entropy), of_rows(importance.confidence),
         of_rows(importance.statistics.mean_distance), behaviour_cell(behaviour.previous),
         behaviour_cell(behaviour.duplicate), behaviour_cell(behaviour.induction),
         behaviour_cell(behaviour.prefix_matching), cell_or_nothing(head.copying),
         ReportWord{role, "role." + role}, uniform_cell(behaviour.previous),
         uniform_cell(behaviour.duplicate), uniform_cell(behaviour.induction),
         uniform_cell(behaviour.prefix_matching)});
  }
  return table;
}

// The strongest first.
ReportTable composition_table(const heads::HeadScores& scores) {
  ReportTable table{.name = "compositions",
                    .title = told("experiment.score.compositions"),
                    .columns = report_columns({"from", "to", "composition", "score"}),
                    .rows = {},
                    .shown_rows = 0,
                    .in_csv = false};
  std::vector<heads::Composition> sorted = scores.compositions;
  std::ranges::stable_sort(sorted, std::ranges::greater(), &heads::Composition::score);
  if (sorted.size() > kShownCompositions) sorted.resize(kShownCompositions);
  for (const heads::Composition& one : sorted) {
    const std::string kind(name_of(one.kind));
    table.rows.push_back({one.from, one.to, ReportWord{kind, "term." + kind}, one.score});
  }
  return table;
}

// What heads would score that look everywhere alike; of the first that has them.
void add_uniform_note(Report& report, const heads::HeadScores& scores) {
  const auto has_all = [](const heads::HeadScore& head) {
    return head.behaviour.induction && head.behaviour.prefix_matching;
  };
  const auto has_some = [](const heads::HeadScore& head) {
    return head.behaviour.previous && head.behaviour.duplicate;
  };
  auto found = std::ranges::find_if(scores.heads, has_all);
  if (found == scores.heads.end()) found = std::ranges::find_if(scores.heads, has_some);
  if (found == scores.heads.end()) return;
  const heads::Behaviour& behaviour = found->behaviour;
  std::vector<ReportValue> values = {{"previous", ReportNumber{behaviour.previous->uniform, 3}},
                                     {"duplicate", ReportNumber{behaviour.duplicate->uniform, 3}}};
  if (!behaviour.induction || !behaviour.prefix_matching) {
    report.notes.push_back(told("experiment.score.uniform_both_ways", std::move(values)));
    return;
  }
  values.push_back({"induction", ReportNumber{behaviour.induction->uniform, 3}});
  values.push_back({"prefix_matching", ReportNumber{behaviour.prefix_matching->uniform, 3}});
  report.notes.push_back(told("experiment.score.uniform", std::move(values)));
}

}  // namespace

Report score_report(const heads::HeadScores& scores, const std::string& model) {
  const auto by_gradient = [](const heads::HeadScore& a, const heads::HeadScore& b) {
    return a.importance.gradient < b.importance.gradient;
  };
  const auto [least, most] = std::ranges::minmax_element(scores.heads, by_gradient);
  Report report{.name = "score",
                .title = told("experiment.score.title", {{"model", model}}),
                .summary = told("experiment.score.summary",
                                {{"heads", std::to_string(scores.heads.size())},
                                 {"examples", std::to_string(scores.examples)},
                                 {"loss", ReportNumber{scores.loss}},
                                 {"most", most->head},
                                 {"largest", ReportNumber{most->importance.gradient, 3}},
                                 {"least", least->head},
                                 {"smallest", ReportNumber{least->importance.gradient, 3}}}),
                .tables = {score_table(scores)}};
  report.pictures = heads_maps(report.tables[0], {"gradient", "entropy", "previous", "duplicate",
                                                  "induction", "prefix_matching", "copying"});
  if (!scores.compositions.empty()) report.tables.push_back(composition_table(scores));
  add_uniform_note(report, scores);
  return report;
}

}  // namespace headlight::narrate
