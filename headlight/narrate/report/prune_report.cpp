// Models that have lost heads: which are left, what that costs, how large they are.
#include <algorithm>
#include <map>
#include <set>

#include "headlight/narrate/report/heads_reports.h"
#include "headlight/narrate/report/report_parts.h"

namespace headlight::narrate {
namespace {

constexpr size_t kShownHeads = 16;

// A model on its way to fewer heads, and what was measured of it.
struct MeasuredStage {
  std::string name;  // "before"
  heads::Measurement measured = {};
};

ReportTable stages_table(const std::vector<MeasuredStage>& stages, const std::string& metric) {
  ReportTable table{.name = "stages",
                    .title = told("experiment.stages"),
                    .columns = report_columns({"stage", "loss"}),
                    .rows = {}};
  if (!metric.empty()) table.columns.push_back(report_column(metric));
  for (const MeasuredStage& stage : stages) {
    std::vector<ReportCell> row = {ReportWord{stage.name, "experiment.stage." + stage.name},
                                   stage.measured.loss};
    if (!metric.empty()) row.push_back(cell_or_nothing(stage.measured.metric));
    table.rows.push_back(std::move(row));
  }
  return table;
}

// Bars of the loss, and of the other metric where there is one.
void add_stage_pictures(Report& report, const ReportTable& stages) {
  for (size_t column = 1; column < stages.columns.size(); ++column) {
    BarPicture bars{.title = stages.columns[column].heading,
                    .axis = stages.columns[column].heading,
                    .bars = {}};
    for (const std::vector<ReportCell>& row : stages.rows) {
      if (const auto number = number_of(row[column]))
        bars.bars.push_back({told(std::get<ReportWord>(row[0]).key), *number});
    }
    if (!bars.bars.empty()) report.pictures.emplace_back(std::move(bars));
  }
}

// Which heads are left in each attention.
ReportTable layers_table(const std::vector<heads::HeadName>& heads,
                         const std::set<heads::HeadName>& removed) {
  ReportTable table{.name = "layers",
                    .title = told("experiment.layers"),
                    .columns = report_columns({"layer", "left", "of", "which"}),
                    .rows = {}};
  for (const heads::HeadName& head : heads) {
    if (table.rows.empty() || std::get<std::string>(table.rows.back()[0]) != head.place)
      table.rows.push_back({head.place, int64_t{0}, int64_t{0}, std::string()});
    std::vector<ReportCell>& row = table.rows.back();
    ++std::get<int64_t>(row[2]);
    if (removed.contains(head)) continue;
    ++std::get<int64_t>(row[1]);
    std::string& which = std::get<std::string>(row[3]);
    which.append(which.empty() ? "" : " ").append(std::to_string(head.head));
  }
  for (auto& row : table.rows) {
    if (std::get<std::string>(row[3]).empty()) row[3] = ReportCell();
  }
  return table;
}

// Those that went, the first first; then those that stayed.
ReportTable pruned_heads_table(const heads::PruneResult& result,
                               const std::vector<heads::HeadName>& heads,
                               const std::set<heads::HeadName>& removed) {
  ReportTable table{.name = "heads",
                    .title = told("experiment.prune.heads"),
                    .columns = report_columns({"head", "kept"}),
                    .rows = {},
                    .shown_rows = kShownHeads};
  const bool was_measured = result.by && *result.by != heads::PruneMethod::random;
  if (was_measured) {
    table.columns.push_back(report_column("round"));
    table.columns.push_back(column_told_as("score", "worth"));
  }
  for (const heads::RemovedHead& one : result.removed) {
    table.rows.push_back({one.head.text(), int64_t{0}});
    if (!was_measured) continue;
    table.rows.back().emplace_back(one.round);
    table.rows.back().push_back(cell_or_nothing(one.score));
  }
  for (const heads::HeadName& head : heads) {
    if (removed.contains(head)) continue;
    table.rows.push_back({head.text(), int64_t{1}});
    table.rows.back().resize(table.columns.size());
  }
  return table;
}

void add_folder(Report& report, const SmallerModel& model, bool same_shape) {
  const recipes::PrunedFolder& written = model.written;
  if (written.folder.empty()) return;
  constexpr double kMegabyte = 1e6;
  report.notes.push_back(
      told("experiment.folder",
           {{"folder", written.folder},
            {"before", ReportNumber{static_cast<double>(written.bytes_before) / kMegabyte, 3}},
            {"after", ReportNumber{static_cast<double>(written.bytes_after) / kMegabyte, 3}}}));
  const std::string folder = shell_quoted(written.folder);
  if (same_shape) {
    report.next.push_back({model.program + " info " + folder, told("experiment.next.info")});
  } else {
    report.next.push_back(
        {model.program + " heads bench " + shell_quoted(model.whole) + " " + folder,
         told("experiment.next.bench")});
  }
}

ReportText prune_summary(const heads::PruneResult& result) {
  const std::string how = result.by ? std::string(name_of(*result.by)) : "name";
  std::vector<ReportValue> values = {{"kept", std::to_string(result.kept())},
                                     {"heads", std::to_string(result.heads)},
                                     {"how", ReportKey{"experiment.prune.by_" + how}}};
  if (!result.before || !result.pruned) return told("experiment.prune.summary", std::move(values));
  values.push_back({"before", ReportNumber{result.before->loss}});
  values.push_back({"pruned", ReportNumber{result.pruned->loss}});
  if (!result.finetuned) return told("experiment.prune.summary_loss", std::move(values));
  values.push_back({"finetuned", ReportNumber{result.finetuned->loss}});
  return told("experiment.prune.summary_finetuned", std::move(values));
}

}  // namespace

Report prune_report(const heads::PruneResult& result, const std::vector<heads::HeadName>& heads,
                    const SmallerModel& model) {
  std::set<heads::HeadName> removed;
  for (const heads::RemovedHead& one : result.removed) removed.insert(one.head);
  Report report{.name = "prune",
                .title = told("experiment.prune.title", {{"model", model.whole}}),
                .summary = prune_summary(result)};
  std::vector<MeasuredStage> stages;
  const auto add_stage = [&](const char* name, const std::optional<heads::Measurement>& measured) {
    if (measured) stages.push_back({name, *measured});
  };
  add_stage("before", result.before);
  add_stage("pruned", result.pruned);
  add_stage("finetuned", result.finetuned);
  if (!stages.empty()) report.tables.push_back(stages_table(stages, result.metric));
  ReportTable by_head = pruned_heads_table(result, heads, removed);
  report.pictures.emplace_back(heads_map(by_head, "kept"));
  if (!stages.empty()) add_stage_pictures(report, report.tables[0]);
  report.tables.push_back(layers_table(heads, removed));
  report.tables.push_back(std::move(by_head));
  report.notes.push_back(
      told("experiment.prune.parameters", {{"before", std::to_string(result.parameters_before)},
                                           {"after", std::to_string(result.parameters_after)}}));
  if (result.same_shape) report.notes.push_back(told("experiment.prune.same_shape"));
  if (stages.empty()) report.notes.push_back(told("experiment.prune.unmeasured"));
  add_folder(report, model, result.same_shape);
  return report;
}

Report gates_report(const recipes::ModelGatesResult& result, const SmallerModel& model) {
  const heads::GatesResult& gates = result.gates;
  const std::vector<heads::HeadName> closed = gates.closed();
  ReportTable table{.name = "heads",
                    .title = told("experiment.gates.table"),
                    .columns = {report_column("head"), column_told_as("value", "gate"),
                                column_told_as("probability", "open_probability"),
                                column_told_as("open", "kept"), report_column("log_alpha")},
                    .rows = {}};
  std::vector<heads::HeadName> all;
  for (const heads::HeadGate& gate : gates.heads) {
    all.push_back(gate.head);
    table.rows.push_back({gate.head.text(), gate.value, gate.probability,
                          int64_t{gate.open ? 1 : 0}, gate.log_alpha});
  }
  table.columns.back().only_in_files = true;
  Report report{
      .name = "gates",
      .title = told("experiment.gates.title", {{"model", model.whole}}),
      .summary =
          told("experiment.gates.summary", {{"open", std::to_string(all.size() - closed.size())},
                                            {"heads", std::to_string(all.size())},
                                            {"penalty", ReportNumber{gates.penalty}},
                                            {"steps", std::to_string(gates.steps)},
                                            {"before", ReportNumber{result.before.loss}},
                                            {"gated", ReportNumber{result.gated.loss}},
                                            {"binary", ReportNumber{result.binary.loss}}}),
      .tables = {
          stages_table(
              {{"before", result.before}, {"gated", result.gated}, {"binary", result.binary}},
              result.metric),
          layers_table(all, {closed.begin(), closed.end()})}};
  report.pictures = heads_maps(table, {"value"});
  add_stage_pictures(report, report.tables[0]);
  report.tables.push_back(std::move(table));
  if (closed.empty()) report.notes.push_back(told("experiment.gates.none_closed"));
  if (gates.trained_weights) report.notes.push_back(told("experiment.gates.trained"));
  add_folder(report, model, false);
  return report;
}

}  // namespace headlight::narrate
