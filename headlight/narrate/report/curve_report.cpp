// Quality against the share of heads removed.
#include <algorithm>
#include <cmath>

#include "headlight/narrate/report/heads_reports.h"
#include "headlight/narrate/report/report_parts.h"

namespace headlight::narrate {
namespace {

using heads::Curve;
using heads::CurvePoint;
using heads::CurveResult;
using heads::PruneMethod;

// How much worse quality may get while heads count as dispensable: half a point of exact match, or
// this much of the loss.
constexpr double kExactTolerance = 0.005;
constexpr double kLossTolerance = 0.05;

double tolerance_of(const CurveResult& result) {
  return result.higher_is_better ? kExactTolerance : kLossTolerance;
}

bool is_random(const Curve& curve) { return curve.method == PruneMethod::random; }

ReportText method_text(PruneMethod method) {
  return told("experiment.method." + std::string(name_of(method)));
}
ReportWord method_word(PruneMethod method) {
  const std::string name(name_of(method));
  return {name, "experiment.method." + name};
}
ReportWord type_word(const std::string& type) { return {type, "experiment.type." + type}; }
std::string stage_key(bool finetuned) {
  return finetuned ? "experiment.curve.after" : "experiment.curve.before";
}

// Curves of the same heads, before or after fine-tuning: a panel.
struct CurvePanel {
  std::string type;
  bool finetuned = false;
  std::vector<const Curve*> curves = {};

  ReportText title() const {
    return told("experiment.curve.panel", {{"type", ReportKey{"experiment.type." + type}},
                                           {"stage", ReportKey{stage_key(finetuned)}}});
  }
};

std::vector<CurvePanel> panels_of(const CurveResult& result) {
  std::vector<CurvePanel> panels;
  for (const Curve& curve : result.curves) {
    auto found = std::ranges::find_if(panels, [&](const CurvePanel& panel) {
      return panel.type == curve.type && panel.finetuned == curve.finetuned;
    });
    if (found == panels.end()) {
      panels.push_back({curve.type, curve.finetuned});
      found = panels.end() - 1;
    }
    found->curves.push_back(&curve);
  }
  return panels;
}

// What all pictures show, so that they can be compared.
ReportRange quality_range(const CurveResult& result) {
  ReportRange range{INFINITY, -INFINITY};
  for (const Curve& curve : result.curves) {
    for (const CurvePoint& point : curve.points) {
      for (const double quality : {point.quality, point.low, point.high}) {
        if (!std::isfinite(quality)) continue;
        range.low = std::min(range.low, quality);
        range.high = std::max(range.high, quality);
      }
    }
  }
  return range;
}

LinePicture panel_picture(const CurvePanel& panel, const CurveResult& result) {
  LinePicture picture{.title = panel.title(),
                      .x_axis = told("experiment.column.removed_share"),
                      .y_axis = told("experiment.column." + result.metric),
                      .y_range = quality_range(result)};
  for (const Curve* curve : panel.curves) {
    LinePicture::Line line{method_text(curve->method), {}};
    const std::vector<ReportValue> orders = {{"orders", std::to_string(curve->orders)}};
    if (is_random(*curve)) line.label = told("experiment.curve.random_mean", orders);
    LinePicture::Band band{.label = told("experiment.curve.random_band", orders),
                           .line = picture.lines.size()};
    for (const CurvePoint& point : curve->points) {
      line.points.push_back({point.removed, point.quality});
      if (!std::isfinite(point.low) || !std::isfinite(point.high)) continue;
      band.x.push_back(point.removed);
      band.range.push_back({point.low, point.high});
    }
    picture.lines.push_back(std::move(line));
    if (is_random(*curve)) picture.bands.push_back(std::move(band));
  }
  return picture;
}

// A row for each share, a column for each method.
ReportTable panel_table(const CurvePanel& panel) {
  ReportTable table{.name = "panel",
                    .title = panel.title(),
                    .columns = {column_told_as("removed", "removed_share")},
                    .rows = {},
                    .shown_rows = 0,
                    .in_csv = false};
  for (const CurvePoint& point : panel.curves.front()->points)
    table.rows.push_back({point.removed});
  for (const Curve* curve : panel.curves) {
    const std::string name(name_of(curve->method));
    table.columns.push_back({name, method_text(curve->method)});
    if (is_random(*curve)) {
      table.columns.push_back(column_told_as("low", "random_low"));
      table.columns.push_back(column_told_as("high", "random_high"));
    }
    for (size_t i = 0; i < table.rows.size() && i < curve->points.size(); ++i) {
      const CurvePoint& point = curve->points[i];
      table.rows[i].emplace_back(point.quality);
      if (!is_random(*curve)) continue;
      table.rows[i].emplace_back(point.low);
      table.rows[i].emplace_back(point.high);
    }
  }
  for (auto& row : table.rows) row.resize(table.columns.size());
  return table;
}

// Every number, for programs.
ReportTable points_table(const CurveResult& result) {
  ReportTable table{
      .name = "points",
      .title = told("experiment.curve.points"),
      .columns = {report_column("method"), report_column("type"), report_column("finetuned"),
                  column_told_as("heads", "removed"), column_told_as("removed", "removed_share"),
                  report_column("quality"), report_column("loss"),
                  column_told_as("low", "random_low"), column_told_as("high", "random_high")},
      .rows = {}};
  table.in_terminal = false;
  for (const Curve& curve : result.curves) {
    for (const CurvePoint& point : curve.points) {
      const auto of_random = [&](double number) {
        return is_random(curve) ? ReportCell(number) : ReportCell();
      };
      table.rows.push_back(
          {method_word(curve.method), type_word(curve.type),
           ReportWord{curve.finetuned ? "true" : "false", stage_key(curve.finetuned)}, point.heads,
           point.removed, point.quality, point.loss, of_random(point.low), of_random(point.high)});
    }
  }
  return table;
}

double share_of(const CurveResult& result, const Curve& curve) {
  return removable_share(curve, result.higher_is_better, tolerance_of(result));
}

ReportTable removable_table(const CurveResult& result) {
  ReportTable table{.name = "removable",
                    .title = told("experiment.curve.removable"),
                    .columns = report_columns({"type", "method", "before_finetuning"}),
                    .rows = {},
                    .shown_rows = 0,
                    .in_csv = false};
  const bool has_finetuned = std::ranges::any_of(result.curves, &Curve::finetuned);
  if (has_finetuned) table.columns.push_back(report_column("after_finetuning"));
  for (const Curve& curve : result.curves) {
    if (curve.finetuned) continue;
    table.rows.push_back(
        {type_word(curve.type), method_word(curve.method), share_of(result, curve)});
    if (!has_finetuned) continue;
    const auto after = std::ranges::find_if(result.curves, [&](const Curve& other) {
      return other.finetuned && other.type == curve.type && other.method == curve.method;
    });
    table.rows.back().push_back(
        after == result.curves.end() ? ReportCell() : ReportCell(share_of(result, *after)));
  }
  return table;
}

// Of one method, the type of which fewest heads can go; null where types are alike or there is one.
const Curve* breaking_first(const CurveResult& result, PruneMethod method) {
  std::vector<const Curve*> types;
  for (const Curve& curve : result.curves) {
    if (!curve.finetuned && curve.type != "all" && curve.method == method) types.push_back(&curve);
  }
  std::ranges::stable_sort(types, {}, [&](const Curve* one) { return share_of(result, *one); });
  if (types.size() < 2) return nullptr;
  return share_of(result, *types[0]) < share_of(result, *types[1]) ? types[0] : nullptr;
}

}  // namespace

Report curve_report(const CurveResult& result, const std::string& model) {
  const Curve* best = nullptr;  // of all heads, or of the first type
  for (const Curve& curve : result.curves) {
    if (curve.finetuned || curve.type != result.curves.front().type) continue;
    if (best == nullptr || share_of(result, curve) > share_of(result, *best)) best = &curve;
  }
  const std::vector<ReportValue> measured = {
      {"metric", ReportKey{"experiment.column." + result.metric}},
      {"tolerance", ReportNumber{tolerance_of(result)}}};
  std::vector<ReportValue> values = measured;
  values.push_back({"examples", std::to_string(result.examples)});
  values.push_back({"quality", ReportNumber{best->points.front().quality}});
  values.push_back({"share", ReportShare{share_of(result, *best)}});
  values.push_back({"type", ReportKey{"experiment.type." + best->type}});
  values.push_back({"method", ReportKey{method_text(best->method).key}});
  Report report{.name = "curve",
                .title = told("experiment.curve.title", {{"model", model}}),
                .summary = told(share_of(result, *best) > 0 ? "experiment.curve.summary"
                                                            : "experiment.curve.summary_none",
                                std::move(values)),
                .notes = {told("experiment.curve.tolerance", measured)},
                .tables = {removable_table(result)}};
  if (const Curve* first = breaking_first(result, best->method)) {
    report.notes.push_back(told("experiment.curve.breaks_first",
                                {{"type", ReportKey{"experiment.type." + first->type}},
                                 {"method", ReportKey{method_text(first->method).key}},
                                 {"share", ReportShare{share_of(result, *first)}}}));
  }
  for (const CurvePanel& panel : panels_of(result)) {
    report.tables.push_back(panel_table(panel));
    report.pictures.emplace_back(panel_picture(panel, result));
  }
  report.tables.push_back(points_table(result));
  return report;
}

}  // namespace headlight::narrate
