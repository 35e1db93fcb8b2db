// Gates, pruning, curves and speed as reports: what is left, what it costs, why it is not faster.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "headlight/narrate/narrate.h"
#include "headlight/text/text.h"
#include "tests/narrate/svg_texts.h"

namespace headlight::narrate {
namespace {

using heads::HeadName;
using heads::PruneMethod;
using heads::SpeedReason;

std::vector<HeadName> heads_of_two_layers() {
  std::vector<HeadName> names;
  for (const char* place : {"encoder.0.self", "decoder.0.cross"}) {
    for (int64_t head = 0; head < 3; ++head) names.push_back({place, head});
  }
  return names;
}

SmallerModel made_folder() {
  return {.whole = "my model",
          .program = "./run",
          .written = {.folder = "half", .bytes_before = 2'000'000, .bytes_after = 1'250'000}};
}

// All heads of the second layer gone, and one of the first.
heads::PruneResult made_pruning(std::optional<PruneMethod> by, int stages) {
  heads::PruneResult result{.by = by, .heads = 6};
  const std::vector<HeadName> names = heads_of_two_layers();
  for (const size_t at : {4U, 1U, 3U, 5U}) {
    heads::RemovedHead one{.head = names[at]};
    one.round = static_cast<int64_t>(result.removed.size()) + 1;
    if (by && *by != PruneMethod::random) one.score = 0.25 * static_cast<double>(one.round);
    result.removed.push_back(one);
  }
  result.parameters_before = 1000;
  result.parameters_after = 600;
  result.metric = stages == 2 ? "" : "exact_match";
  const auto measured = [&](double loss) {
    heads::Measurement one{.loss = loss};
    if (!result.metric.empty()) one.metric = 1 / (1 + loss);
    return one;
  };
  if (stages > 0) result.before = measured(0.5);
  if (stages > 1) result.pruned = measured(1.75);
  if (stages > 2) result.finetuned = measured(0.625);
  return result;
}

recipes::ModelGatesResult made_gates(bool closes) {
  recipes::ModelGatesResult result;
  result.gates.penalty = 0.02;
  result.gates.steps = 300;
  result.gates.trained_weights = closes;
  for (const HeadName& head : heads_of_two_layers()) {
    const bool open = !closes || head.head != 1;
    result.gates.heads.push_back({.head = head,
                                  .log_alpha = open ? 2.0 : -3.0,
                                  .probability = 0.5,
                                  .value = open ? 1.0 : 0,
                                  .open = open});
  }
  result.heads = 6;
  result.before.loss = 0.5;
  result.gated.loss = 0.75;
  result.binary.loss = 0.8125;
  return result;
}

heads::CurveResult made_curves(bool exact) {
  heads::CurveResult result{
      .metric = exact ? "exact_match" : "loss", .higher_is_better = exact, .examples = 9};
  const std::vector<std::string> types =
      exact ? std::vector<std::string>{"all", "encoder", "decoder", "cross"}
            : std::vector<std::string>{"all"};
  for (const std::string& type : types) {
    for (const PruneMethod method : {PruneMethod::gradient, PruneMethod::random}) {
      for (const bool finetuned : {false, true}) {
        heads::Curve curve{.method = method, .type = type, .finetuned = finetuned};
        curve.orders = method == PruneMethod::random ? 10 : 1;
        // Cross-attention breaks with the first head, and random orders break everything.
        const double cost = (type == "cross" || curve.orders > 1) && !finetuned ? 0.25 : 0.001;
        for (int64_t heads = 0; heads <= 4; ++heads) {
          const auto removed = static_cast<double>(heads) / 4;
          const double worse = cost * static_cast<double>(heads);
          const double quality = exact ? 1 - worse : 2 + worse;
          if (finetuned && heads == 4) continue;
          curve.points.push_back({.heads = heads,
                                  .removed = removed,
                                  .loss = 2 + worse,
                                  .quality = quality,
                                  .low = quality - 0.125,
                                  .high = quality + 0.125});
        }
        result.curves.push_back(std::move(curve));
      }
    }
  }
  return result;
}

heads::SpeedRow made_row(int64_t batch, int64_t tokens, SpeedReason reason) {
  heads::SpeedRow row{.batch = batch, .tokens = tokens, .bound = 1.5, .measured = 1.25};
  row.low = 1.125;
  row.high = 1.375;
  row.pairs = 7;
  row.saved = reason == SpeedReason::reached ? 0.95 : 0.6;
  row.reason = reason;
  row.operations_full = {.attention = 60, .rest = 40};
  row.operations_pruned = {.attention = 30, .rest = 40};
  row.timed_full = {.attention = 0.25, .rest = 0.75};
  row.timed_pruned = {.attention = 0.2, .rest = 0.75};
  return row;
}

heads::SpeedResult made_speed(const std::vector<SpeedReason>& reasons) {
  heads::SpeedResult result{.threads = 2};
  for (const SpeedReason reason : reasons) {
    const auto number = static_cast<int64_t>(result.rows.size());
    result.rows.push_back(made_row(1 + number % 2, 16 * (1 + number / 2), reason));
  }
  return result;
}

heads::SpeedResult equal_speed() {
  heads::SpeedResult result = made_speed({SpeedReason::reached});
  result.rows[0].bound = 1;
  return result;
}

std::vector<Report> pruning_reports() {
  const std::vector<HeadName> names = heads_of_two_layers();
  std::vector<Report> reports;
  for (const PruneMethod method : {PruneMethod::gradient, PruneMethod::ablation,
                                   PruneMethod::entropy, PruneMethod::gates, PruneMethod::random})
    reports.push_back(prune_report(made_pruning(method, 3), names, made_folder()));
  heads::PruneResult same_shape = made_pruning(std::nullopt, 2);
  same_shape.same_shape = true;
  reports.push_back(prune_report(same_shape, names, made_folder()));
  reports.push_back(prune_report(made_pruning(std::nullopt, 0), names, made_folder()));
  for (const bool closes : {false, true})
    reports.push_back(gates_report(made_gates(closes), made_folder()));
  for (const bool exact : {false, true}) reports.push_back(curve_report(made_curves(exact), "m"));
  reports.push_back(speed_report(made_speed({SpeedReason::reached, SpeedReason::rest,
                                             SpeedReason::attention, SpeedReason::noise}),
                                 "whole", "half"));
  reports.push_back(
      speed_report(made_speed({SpeedReason::reached, SpeedReason::reached}), "whole", "half"));
  reports.push_back(speed_report(equal_speed(), "whole", "whole"));
  return reports;
}

int64_t widest_of_report(const std::string& text) {
  int64_t width = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    width = std::max(width, text::columns(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return width;
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string in_english(const Report& report, int64_t width = 200) {
  return narrate::report_text(report, {.width = width}, Catalogue::of("en"));
}

TEST(PruningReports, have_all_their_texts_and_numbers_in_every_language) {
  for (const Report& report : pruning_reports()) {
    EXPECT_FALSE(report.pictures.empty()) << report.name;
    for (const ReportTable& table : report.tables) {
      EXPECT_FALSE(table.rows.empty()) << table.name;
      for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size()) << table.name;
    }
    for (const std::string_view language : languages()) {
      const Catalogue& catalogue = Catalogue::of(language);
      for (const int64_t width : {40, 80, 120}) {
        const std::string text = narrate::report_text(report, {.width = width}, catalogue);
        EXPECT_LE(widest_of_report(text), width) << text;
        EXPECT_FALSE(says(text, "{")) << text;
        EXPECT_FALSE(says(text, "experiment.")) << text;
      }
      const std::string svg = report_svg(report, catalogue);
      EXPECT_FALSE(says(svg, "{")) << svg;
      EXPECT_FALSE(says(svg, "experiment.")) << svg;
      EXPECT_FALSE(says(svg, "\"nan")) << svg;
    }
  }
}

TEST(PruningReports, pictures_hold_their_texts) {
  for (const Report& report : pruning_reports()) expect_texts_inside(report);
}

// The table of that name.
const ReportTable& table_of(const Report& report, std::string_view name) {
  const auto found = std::ranges::find(report.tables, name, &ReportTable::name);
  EXPECT_NE(found, report.tables.end()) << name;
  return *found;
}

// The numbers of a column, from the first row on; NaN where there is none.
std::vector<double> column_of(const ReportTable& table, std::string_view name) {
  const auto found = std::ranges::find(table.columns, name, &ReportColumn::name);
  EXPECT_NE(found, table.columns.end()) << name;
  std::vector<double> numbers;
  for (const auto& row : table.rows)
    numbers.push_back(
        number_of(row.at(static_cast<size_t>(found - table.columns.begin()))).value_or(NAN));
  return numbers;
}

TEST(PruningReports, have_what_was_measured_at_each_stage) {
  const Report report =
      prune_report(made_pruning(PruneMethod::gradient, 3), heads_of_two_layers(), made_folder());
  const std::vector<double> losses = {0.5, 1.75, 0.625};
  EXPECT_EQ(column_of(table_of(report, "stages"), "loss"), losses);
  EXPECT_EQ(column_of(table_of(report, "stages"), "exact_match").at(1), 1 / 2.75);
  std::vector<double> bars;
  for (const auto& bar : std::get<BarPicture>(report.pictures.at(1)).bars)
    bars.push_back(bar.value);
  EXPECT_EQ(bars, losses);
  EXPECT_EQ(column_of(table_of(report, "heads"), "kept"), (std::vector<double>{0, 0, 0, 0, 1, 1}));
  const Report gates = gates_report(made_gates(true), made_folder());
  EXPECT_EQ(column_of(table_of(gates, "stages"), "loss"), (std::vector<double>{0.5, 0.75, 0.8125}));
  const ReportTable& heads = table_of(gates, "heads");
  EXPECT_EQ(column_of(heads, "value"), (std::vector<double>{1, 0, 1, 1, 0, 1}));
  EXPECT_EQ(column_of(heads, "probability").at(1), 0.5);
  EXPECT_EQ(column_of(heads, "log_alpha").at(1), -3);
}

TEST(PruningReports, say_which_heads_stay_in_each_layer_and_what_that_costs) {
  const Report report =
      prune_report(made_pruning(PruneMethod::gradient, 3), heads_of_two_layers(), made_folder());
  const std::string text = in_english(report);
  EXPECT_TRUE(says(text,
                   "Heads that stay: 2 of 6. Loss of the whole model: 0.5; without the "
                   "heads: 1.75; after fine-tuning: 0.625. Those with the smallest gradient"))
      << text;
  EXPECT_TRUE(says(text, "encoder.0.self      2   3  0 2\n")) << text;
  EXPECT_TRUE(says(text, "decoder.0.cross     0   3  –\n")) << text;
  EXPECT_TRUE(says(text, "Size of the model's files: 1.25 MB, before: 2 MB")) << text;
  EXPECT_TRUE(says(text, "Parameters: 600, before: 1000")) << text;
  EXPECT_TRUE(says(text, "./run heads bench \"my model\" half\n")) << text;
  const std::string csv = report_csv(report);
  EXPECT_TRUE(says(csv, "heads,,,,,,,,decoder.0.cross.1,0,1,0.25\r\n")) << csv;
  EXPECT_TRUE(says(csv, "decoder.0.cross,0,3,")) << csv;
}

TEST(PruningReports, do_not_send_to_bench_what_has_kept_its_shape) {
  heads::PruneResult result = made_pruning(PruneMethod::random, 2);
  result.same_shape = true;
  const std::string text = in_english(prune_report(result, heads_of_two_layers(), made_folder()));
  EXPECT_FALSE(says(text, "heads bench")) << text;
  EXPECT_TRUE(says(text, "./run info half")) << text;
  EXPECT_TRUE(says(text, "neither smaller nor faster")) << text;
}

TEST(PruningReports, of_gates_tell_how_many_stay_open_and_when_none_closed) {
  const std::string closed = in_english(gates_report(made_gates(true), made_folder()));
  EXPECT_TRUE(says(closed, "Gates that stay open: 4 of 6 (penalty 0.02, 300 steps)")) << closed;
  EXPECT_TRUE(says(closed, "trained together")) << closed;
  EXPECT_TRUE(says(in_english(gates_report(made_gates(false), made_folder())),
                   "a higher --penalty closes some"));
  const std::string csv = report_csv(gates_report(made_gates(true), made_folder()));
  EXPECT_TRUE(says(csv, "log_alpha")) << csv;
}

TEST(PruningReports, of_curves_tell_what_can_go_and_what_breaks_first) {
  const std::string text = in_english(curve_report(made_curves(true), "m"));
  EXPECT_TRUE(says(text, "chosen by gradient: 100% (all heads)")) << text;
  EXPECT_TRUE(says(text, "What breaks first: cross-attention. Of these heads, 0% can go")) << text;
  EXPECT_TRUE(says(text, "by 0.005 at most")) << text;
  // With a loss, less is better.
  EXPECT_TRUE(says(in_english(curve_report(made_curves(false), "m")), "gradient: 100%"));
  EXPECT_FALSE(says(text, "All points")) << "too long for a terminal";
}

TEST(PruningReports, of_curves_have_every_point_in_csv_and_a_panel_for_each_type) {
  const heads::CurveResult result = made_curves(true);
  const Report report = curve_report(result, "m");
  size_t points = 0;
  for (const heads::Curve& curve : result.curves) points += curve.points.size();
  const std::string csv = report_csv(report);
  EXPECT_EQ(static_cast<size_t>(std::ranges::count(csv, '\n')), points + 1);
  EXPECT_TRUE(csv.starts_with("method,type,finetuned,heads,removed,quality,loss,low,high\r\n"))
      << csv;
  EXPECT_TRUE(says(csv, "gradient,cross,true,1,0.25,0.999,2.001,,\r\n")) << csv;
  ASSERT_EQ(report.pictures.size(), 8U);
  for (const ReportPicture& picture : report.pictures) {
    const auto& lines = std::get<LinePicture>(picture);
    EXPECT_EQ(lines.lines.size(), 2U);
    ASSERT_EQ(lines.bands.size(), 1U) << "of random";
    EXPECT_EQ(lines.bands[0].line, 1U);
    EXPECT_EQ(lines.bands[0].range.at(1).low, lines.lines[1].points.at(1).y - 0.125);
    EXPECT_EQ(lines.bands[0].range.at(1).high, lines.lines[1].points.at(1).y + 0.125);
    EXPECT_EQ(lines.y_range->high, std::get<LinePicture>(report.pictures[0]).y_range->high);
  }
}

TEST(PruningReports, of_curves_show_every_method_and_what_fine_tuning_brings_back) {
  const Report report = curve_report(made_curves(true), "m");
  const ReportTable& panel = table_of(report, "panel");  // all heads, before
  EXPECT_EQ(column_of(panel, "removed"), (std::vector<double>{0, 0.25, 0.5, 0.75, 1}));
  EXPECT_EQ(column_of(panel, "gradient").at(2), 1 - 0.002);
  EXPECT_EQ(column_of(panel, "random").at(2), 0.5);
  EXPECT_EQ(column_of(panel, "low").at(2), 0.5 - 0.125);
  EXPECT_EQ(column_of(panel, "high").at(2), 0.5 + 0.125);
  const ReportTable& removable = table_of(report, "removable");
  // By gradient and at random, of all, encoder, decoder and cross; after training 3/4 were
  // measured.
  EXPECT_EQ(column_of(removable, "before_finetuning"),
            (std::vector<double>{1, 0, 1, 0, 1, 0, 0, 0}));
  EXPECT_EQ(column_of(removable, "after_finetuning"), std::vector<double>(8, 0.75));
}

TEST(PruningReports, of_speed_show_what_was_measured_beside_what_arithmetic_allows) {
  const Report report = speed_report(made_speed({SpeedReason::reached, SpeedReason::rest,
                                                 SpeedReason::attention, SpeedReason::reached}),
                                     "whole", "half");
  const ReportTable& rows = table_of(report, "rows");
  EXPECT_EQ(column_of(rows, "bound").at(0), 1.5);
  EXPECT_EQ(column_of(rows, "measured").at(0), 1.25);
  EXPECT_EQ(column_of(rows, "low").at(0), 1.125);
  EXPECT_EQ(column_of(rows, "high").at(0), 1.375);
  // Lengths below each other, batches side by side.
  const auto& map = std::get<MatrixPicture>(report.pictures.at(0));
  EXPECT_EQ(map.values, (std::vector<std::optional<double>>{0.95, 0.6, 0.6, 0.95}));
  const auto& lines = std::get<LinePicture>(report.pictures.at(1));
  ASSERT_EQ(lines.lines.size(), 2U);
  EXPECT_EQ(lines.lines[0].points.at(1).x, 32);
  EXPECT_EQ(lines.lines[0].points.at(1).y, 1.5);
  EXPECT_EQ(lines.lines[1].points.at(1).y, 1.25);
  EXPECT_EQ(lines.bands.at(0).range.at(1).low, 1.125);
  EXPECT_EQ(lines.bands.at(0).range.at(1).high, 1.375);
}

TEST(PruningReports, of_speed_say_why_less_is_saved_with_the_figures) {
  const std::string text =
      in_english(speed_report(made_speed({SpeedReason::reached, SpeedReason::rest,
                                          SpeedReason::attention, SpeedReason::noise}),
                              "whole", "half"));
  EXPECT_TRUE(says(text,
                   "measured: 1.25× to 1.25× that of the full one; by its arithmetic it "
                   "could be 1.5× to 1.5×"))
      << text;
  EXPECT_TRUE(says(text, "really saved in 1 of 4")) << text;
  EXPECT_TRUE(says(text, "40% of the arithmetic but 75% of the time (batch 2, tokens 16)")) << text;
  EXPECT_TRUE(says(text, "50% of its arithmetic is left but 80% of its time (batch 1, tokens 32)"))
      << text;
  // Where no figure explains what is missing, none is blamed.
  EXPECT_TRUE(says(text,
                   "Why less is saved in 1 of 4: that cannot be told from these measurements. The "
                   "middle half of them lies between 1.12 and 1.38; arithmetic says 1.5 (batch 2, "
                   "tokens 32)"))
      << text;
  EXPECT_FALSE(says(text, "The two agree")) << text;
  EXPECT_TRUE(says(in_english(speed_report(made_speed({SpeedReason::reached}), "a", "b")),
                   "The two agree"));
  EXPECT_TRUE(says(in_english(speed_report(equal_speed(), "a", "a")), "nothing to save"));
}

TEST(PruningReports, show_sentences_under_the_old_numbers_of_heads) {
  base::ThreadPool threads(1);
  recipes::FilesWithEmbedded files;
  const recipes::LoadedModel whole = recipes::load_named_model(files, "thrones");
  const auto pruned = heads::pruned_model(
      *whole.model, {{"encoder.0.self", 0}, {"decoder.0.cross", 0}, {"decoder.0.cross", 1}});
  const tensor::Tensor ids = tensor::Tensor::of({1, 4}, std::vector<int64_t>{5, 6, 7, 8});
  const heads::Examples examples = {{.ids = ids, .source_ids = ids}};
  const auto sentences_of_model = [&](const models::Model& model) {
    return report_sentences(threads, model, nullptr, examples).at(0).heads;
  };
  const std::vector<LookedAt> before = sentences_of_model(*whole.model);
  const std::vector<LookedAt> after = sentences_of_model(*pruned);
  std::vector<std::string> names;
  for (const LookedAt& head : after) names.push_back(head.head);
  EXPECT_EQ(names,
            (std::vector<std::string>{"encoder.0.self.1", "decoder.0.self.0", "decoder.0.self.1"}));
  for (const LookedAt& head : before) {
    const bool is_encoder = head.head.starts_with("encoder.");
    EXPECT_EQ(head.rows_are_source, is_encoder) << head.head;
    EXPECT_EQ(head.columns_are_source, is_encoder || head.head.find(".cross.") != std::string::npos)
        << head.head;
  }
  // The first layer reads what it has always read.
  const auto second = std::ranges::find(before, "encoder.0.self.1", &LookedAt::head);
  ASSERT_NE(second, before.end());
  for (int64_t i = 0; i < second->weights.elements(); ++i)
    EXPECT_NEAR(after[0].weights.data<float>()[i], second->weights.data<float>()[i], 1e-6);
}

TEST(PruningReports, keep_commands_whole_where_lines_are_narrow) {
  SmallerModel model = made_folder();
  model.written.folder = "a folder with a name that is longer than any line";
  const std::string text = in_english(
      prune_report(made_pruning(PruneMethod::random, 0), heads_of_two_layers(), model), 40);
  EXPECT_TRUE(says(text, "\"a folder with a name that is longer than any line\"")) << text;
}

}  // namespace
}  // namespace headlight::narrate
