// Results of experiments as reports, in every language: all that is said has its text and numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "headlight/narrate/narrate.h"
#include "tests/narrate/svg_texts.h"

namespace headlight::narrate {
namespace {

heads::HeadScores made_scores(bool looks_both_ways) {
  heads::HeadScores scores{.examples = 3, .loss = 1.5};
  for (int head = 0; head < 4; ++head) {
    heads::HeadScore one{.head = "decoder.0.self." + std::to_string(head),
                         .place = "decoder.0.self"};
    one.importance.gradient = 0.1 * (head + 1);
    one.importance.rows = head == 3 ? 0 : 12;  // the last has looked at nothing
    one.importance.statistics.entropy = 0.5;
    one.behaviour.previous = heads::BehaviourScore{0.75, 0.25};
    one.behaviour.duplicate = heads::BehaviourScore{0.125, 0.0625};
    if (!looks_both_ways) {
      one.behaviour.induction = heads::BehaviourScore{0.5, 0.03125};
      one.behaviour.prefix_matching = heads::BehaviourScore{0.5, 0.015625};
    }
    if (head > 0) one.copying = -0.5;
    one.role = static_cast<heads::HeadRole>(head);
    scores.heads.push_back(one);
  }
  scores.compositions = {
      {"decoder.0.self.0", "decoder.1.self.1", heads::CompositionKind::key, 0.5},
      {"decoder.0.self.2", "decoder.1.self.1", heads::CompositionKind::query, 0.7}};
  return scores;
}

heads::AblationResult made_ablation(bool whole) {
  heads::AblationResult result{.by = heads::AblationKind::mean, .examples = 7};
  result.baseline.loss = 1;
  if (whole) {
    result.metric = "exact_match";
    result.baseline.metric = 0.875;
  }
  for (int head = 0; head < 3; ++head) {
    heads::AblatedHead one{.head = "encoder.1.self." + std::to_string(head),
                           .place = "encoder.1.self"};
    one.measured.loss = 1 + 0.5 * (head - 1);
    one.change = 0.5 * (head - 1);
    if (whole) one.measured.metric = 0.5;
    result.heads.push_back(one);
  }
  if (whole) result.all_but_one = result.greedy = result.heads;
  return result;
}

recipes::FoundRelation made_relation(bool is_clear) {
  recipes::FoundRelation relation;
  relation.first_tokens = 2;
  heads::FoundHeads& found = relation.found;
  found.pairs = 10;
  found.turned = 3;
  found.examples = 5;
  found.baseline.loss = 2;
  heads::FoundHead best{.head = "decoder.1.cross.0", .place = "decoder.1.cross"};
  best.weight = is_clear ? 0.9 : 0.1;
  best.chance = 0.1;
  best.low = 0.05;
  best.high = 0.2;
  best.ablated_change = 0.75;
  found.heads = {best, {.head = "decoder.1.self.0", .place = "decoder.1.self"}};
  if (is_clear) found.together = {"decoder.1.cross.0", "decoder.1.cross.1"};
  return relation;
}

recipes::AttributeAnswer made_attribution(bool whole) {
  recipes::AttributeAnswer answer;
  answer.word = {.text = "thrones", .token = "thr", .id = 1, .tokens = whole ? 3 : 1};
  if (whole) answer.against = {.text = "sea", .token = "sea", .id = 2, .tokens = 1};
  answer.attribution.measured = 1.25;
  answer.attribution.sum = 1.2500001;
  answer.attribution.rounding = -1e-7;
  for (int kind = 0; kind <= static_cast<int>(heads::PartKind::other); ++kind)
    answer.attribution.parts.push_back(
        {"decoder.0.self." + std::to_string(kind), static_cast<heads::PartKind>(kind), 0.1 * kind});
  if (!whole) return answer;
  answer.attribution.gains = {{"prediction", "gelu"}};
  heads::LogitLens lens;
  for (int layer = 0; layer < 3; ++layer) {
    heads::LensLayer one;
    one.stream = "decoder." + std::to_string(layer) + ".residual_out";
    one.words = {{.id = 5, .logit = 1, .probability = 0.5, .rank = 1}};
    one.word = {.id = 1, .logit = 0.5, .probability = 0.25, .rank = 4};
    one.against = heads::LensWord{.id = 2, .logit = 0, .probability = 0.125, .rank = 6};
    lens.layers.push_back(one);
  }
  answer.lens = lens;
  return answer;
}

recipes::PatchAnswer made_patching(bool translates) {
  recipes::PatchAnswer answer;
  answer.clean.tokens = answer.corrupt.tokens = {"a", "b"};
  if (translates) answer.clean.source_tokens = answer.corrupt.source_tokens = {"x", "y", "z"};
  answer.word = {.text = "a", .token = "a", .id = 1};
  answer.patching.clean = 2;
  answer.patching.corrupt = -1;
  answer.patching.correlation = translates ? NAN : 0.5;
  answer.patching.direction = translates ? heads::PatchDirection::corrupt_into_clean
                                         : heads::PatchDirection::clean_into_corrupt;
  for (const char* head : {"encoder.0.self.0", "decoder.0.self.1"}) {
    const int64_t positions = translates && head[0] == 'e' ? 3 : 2;
    for (int64_t position = 0; position < positions; ++position)
      answer.patching.places.push_back({head, position, 1, 0.5, 0.25});
    answer.patching.heads.push_back({head, std::nullopt, 1, 0.75, 0.5});
  }
  return answer;
}

std::vector<Report> all_reports() {
  return {score_report(made_scores(false), "model"),
          score_report(made_scores(true), "model"),
          ablation_report(made_ablation(true), "model"),
          ablation_report(made_ablation(false), "model"),
          find_report(made_relation(true), "model"),
          find_report(made_relation(false), "model"),
          attribution_report(made_attribution(true), "model", nullptr),
          attribution_report(made_attribution(false), "model", nullptr),
          patching_report(made_patching(true), "model"),
          patching_report(made_patching(false), "model")};
}

TEST(HeadsReports, have_all_their_texts_and_numbers_in_every_language) {
  for (const Report& report : all_reports()) {
    for (const std::string_view language : languages()) {
      const Catalogue& catalogue = Catalogue::of(language);
      const std::string text = narrate::report_text(report, {.width = 80}, catalogue);
      const std::string svg = report_svg(report, catalogue);
      for (const std::string& all : {text, svg}) {
        EXPECT_EQ(all.find('{'), std::string::npos) << all;
        EXPECT_EQ(all.find("experiment."), std::string::npos) << all;
      }
      EXPECT_FALSE(report.summary.in(catalogue).empty());
    }
  }
}

TEST(HeadsReports, pictures_hold_their_texts) {
  for (const Report& report : all_reports()) expect_texts_inside(report);
}

// The cell of a row in the column of that name.
ReportCell cell_in(const ReportTable& table, size_t row, std::string_view column) {
  const auto at = std::ranges::find(table.columns, column, &ReportColumn::name);
  EXPECT_NE(at, table.columns.end()) << column;
  return table.rows.at(row).at(static_cast<size_t>(at - table.columns.begin()));
}
double number_in(const ReportTable& table, size_t row, std::string_view column) {
  return number_of(cell_in(table, row, column)).value_or(NAN);
}
std::string words_in(const ReportTable& table, size_t row, std::string_view column) {
  return std::get<std::string>(cell_in(table, row, column));
}

TEST(HeadsReports, of_scores_have_each_number_in_its_column) {
  const Report report = score_report(made_scores(false), "m");
  const std::vector<std::pair<std::string, double>> expected = {
      {"gradient", 0.2},
      {"entropy", 0.5},
      {"previous", 0.75},
      {"duplicate", 0.125},
      {"induction", 0.5},
      {"prefix_matching", 0.5},
      {"copying", -0.5},
      {"previous_uniform", 0.25},
      {"duplicate_uniform", 0.0625},
      {"induction_uniform", 0.03125},
      {"prefix_matching_uniform", 0.015625}};
  for (const auto& [column, number] : expected)
    EXPECT_EQ(number_in(report.tables[0], 1, column), number) << column;
  // The strongest pair first.
  EXPECT_EQ(words_in(report.tables[1], 0, "from"), "decoder.0.self.2");
  EXPECT_EQ(number_in(report.tables[1], 0, "score"), 0.7);
}

TEST(HeadsReports, of_ablations_have_each_number_in_its_column_and_begin_with_the_whole_model) {
  const Report report = ablation_report(made_ablation(true), "m");
  for (const ReportTable& table : report.tables) {
    EXPECT_EQ(words_in(table, 2, "head"), "encoder.1.self.2");
    EXPECT_EQ(number_in(table, 2, "loss"), 1.5);
    EXPECT_EQ(number_in(table, 2, "change"), 0.5);
    EXPECT_EQ(number_in(table, 2, "exact_match"), 0.5);
  }
  EXPECT_EQ(number_in(report.tables.at(2), 2, "removed"), 3);
  const auto& line = std::get<LinePicture>(report.pictures.back()).lines.at(0);
  ASSERT_EQ(line.points.size(), 4U);
  EXPECT_EQ(line.points[0].x, 0);
  EXPECT_EQ(line.points[0].y, 0.875);
  EXPECT_EQ(line.points[3].x, 3);
  EXPECT_EQ(line.points[3].y, 0.5);
}

TEST(HeadsReports, of_relations_show_chance_beside_what_was_found) {
  const Report report = find_report(made_relation(true), "m");
  EXPECT_EQ(number_in(report.tables[0], 0, "weight"), 0.9);
  EXPECT_EQ(number_in(report.tables[0], 0, "chance"), 0.1);
  EXPECT_EQ(number_in(report.tables[0], 0, "interval_low"), 0.05);
  EXPECT_EQ(number_in(report.tables[0], 0, "interval_high"), 0.2);
  EXPECT_EQ(number_in(report.tables[0], 0, "ablated_change"), 0.75);
  const auto& bars = std::get<BarPicture>(report.pictures.back()).bars;
  ASSERT_EQ(bars.size(), 1U) << "the other has no pairs";
  EXPECT_EQ(bars[0].value, 0.9);
  EXPECT_EQ(bars[0].range->low, 0.05);
  EXPECT_EQ(bars[0].range->high, 0.2);
}

TEST(HeadsReports, of_logits_have_the_other_word_beside_the_one_that_is_asked_for) {
  const Report report = attribution_report(made_attribution(true), "m", nullptr);
  const ReportTable& lens = report.tables.back();
  EXPECT_EQ(words_in(lens, 1, "layer"), "decoder.1.residual_out");
  EXPECT_EQ(words_in(lens, 1, "likeliest"), "5");
  EXPECT_EQ(number_in(lens, 1, "likeliest_probability"), 0.5);
  EXPECT_EQ(number_in(lens, 1, "probability"), 0.25);
  EXPECT_EQ(number_in(lens, 1, "rank"), 4);
  EXPECT_EQ(number_in(lens, 1, "logit"), 0.5);
  EXPECT_EQ(number_in(lens, 1, "against_probability"), 0.125);
  const auto& lines = std::get<LinePicture>(report.pictures.back()).lines;
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].points.at(1).y, 0.25);
  EXPECT_EQ(lines[1].points.at(1).y, 0.125);
}

TEST(HeadsReports, of_patches_name_the_tokens_of_the_side_that_a_head_is_on) {
  const Report report = patching_report(made_patching(true), "m");
  const ReportTable& places = report.tables.at(1);
  std::vector<std::string> seen;
  for (size_t row = 0; row < places.rows.size(); ++row) {
    seen.push_back(words_in(places, row, "head") + " " + words_in(places, row, "token"));
    EXPECT_EQ(number_in(places, row, "restored"), 0.5);
    EXPECT_EQ(number_in(places, row, "estimated"), 0.25);
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"encoder.0.self.0 x", "encoder.0.self.0 y",
                                            "encoder.0.self.0 z", "decoder.0.self.1 a",
                                            "decoder.0.self.1 b"}));
  const auto& points = std::get<ScatterPicture>(report.pictures.back()).groups.at(0).points;
  ASSERT_EQ(points.size(), 5U);
  EXPECT_EQ(points[0].x, 0.5);
  EXPECT_EQ(points[0].y, 0.25);
}

TEST(HeadsReports, rows_have_a_cell_for_each_column) {
  for (const Report& report : all_reports()) {
    EXPECT_FALSE(report.tables.empty());
    EXPECT_FALSE(report.pictures.empty()) << report.name;
    for (const ReportTable& table : report.tables) {
      EXPECT_FALSE(table.rows.empty()) << table.name;
      for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size()) << table.name;
    }
  }
}

TEST(HeadsReports, say_what_came_out) {
  const auto summary = [](const Report& report) { return report.summary.in(Catalogue::of("en")); };
  EXPECT_NE(summary(score_report(made_scores(false), "m"))
                .find("largest for decoder.0.self.3: 0.4; smallest for decoder.0.self.0: 0.1"),
            std::string::npos);
  const std::string ablated = summary(ablation_report(made_ablation(true), "m"));
  EXPECT_NE(ablated.find("Removing encoder.1.self.2 costs most: 0.5"), std::string::npos)
      << ablated;
  EXPECT_NE(ablated.find("2 of 3"), std::string::npos) << ablated;
  EXPECT_EQ(summary(find_report(made_relation(true), "m")).find("Chance is enough"),
            std::string::npos);
  EXPECT_NE(summary(find_report(made_relation(false), "m")).find("Chance is enough"),
            std::string::npos);
  recipes::FoundRelation second = made_relation(false);
  second.found.together = {"decoder.1.self.0"};
  EXPECT_NE(report_text(find_report(second, "m"), {.width = 200}, Catalogue::of("en"))
                .find("all heads that stand out, the loss changes by -2: decoder.1.self.0"),
            std::string::npos);
}

// A head of the corrupted run in the clean one matters where little is left.
TEST(HeadsReports, begin_with_the_head_whose_patch_did_most) {
  recipes::PatchAnswer answer = made_patching(true);
  answer.patching.heads = {{"encoder.0.self.0", std::nullopt, 2, 1.01, 1},
                           {"decoder.0.self.1", std::nullopt, -1, 0.02, 0.5}};
  answer.patching.places[1].restored = 1;
  answer.patching.places[2].restored = -0.25;
  const Report left = patching_report(answer, "m");
  EXPECT_EQ(std::get<std::string>(left.tables[0].rows[0][0]), "decoder.0.self.1");
  EXPECT_EQ(std::get<double>(left.tables[1].rows.front()[3]), -0.25);
  EXPECT_EQ(std::get<double>(left.tables[1].rows.back()[3]), 1);
  const std::string left_text = left.summary.in(Catalogue::of("en"));
  EXPECT_NE(left_text.find("With decoder.0.self.1 as it is in the corrupted run, 0.02 of the"),
            std::string::npos)
      << left_text;
  answer.patching.direction = heads::PatchDirection::clean_into_corrupt;
  const Report restored = patching_report(answer, "m");
  EXPECT_EQ(std::get<std::string>(restored.tables[0].rows[0][0]), "encoder.0.self.0");
  const std::string restored_text = restored.summary.in(Catalogue::of("en"));
  EXPECT_NE(restored_text.find("encoder.0.self.0 alone restores 1.01"), std::string::npos)
      << restored_text;
}

TEST(HeadsReports, say_of_which_word_the_lens_has_rank_and_logit) {
  const Report report = attribution_report(made_attribution(true), "m", nullptr);
  const std::string text = narrate::report_text(report, {.width = 80}, Catalogue::of("en"));
  for (const char* part :
       {"Its probability", "Probability of the word", "Probability of the other",
        "Rank: of the word that was asked for", "Logit: of the word that was asked for"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(HeadsReports, leave_out_scores_that_a_head_cannot_have) {
  const Report report = score_report(made_scores(true), "m");
  const std::string csv = report_csv(report);
  EXPECT_NE(csv.find("decoder.0.self.3,0.4,0.0,0.0,,,,0.75,0.125,,,-0.5,"), std::string::npos)
      << csv;
  // A map without any number is not drawn.
  EXPECT_EQ(report_svg(report, Catalogue::of("en")).find(">Induction<"), std::string::npos);
}

struct WrittenPage : base::Output {
  using base::Output::write;
  void write(std::span<const std::byte> bytes) override {
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  std::string text;
};

io::Json report_on_page(const Report& report) {
  WrittenPage page;
  write_report_page(page, report, "en");
  const size_t begin = page.text.find("id=\"data\">") + 10;
  const std::string data = page.text.substr(begin, page.text.find("</script>", begin) - begin);
  return *io::parse_json(data, "page").find("report");
}

TEST(HeadsReports, open_with_the_map_that_is_drawn_first) {
  const io::Json ablation = report_on_page(ablation_report(made_ablation(false), "model"));
  EXPECT_EQ(*ablation.find("first_mapped")->text(), "change");
  const io::Json scores = report_on_page(score_report(made_scores(false), "model"));
  EXPECT_EQ(*scores.find("first_mapped")->text(), "gradient");
  // What a head would score that looks everywhere alike is the same for all of them.
  for (const io::Json& column : *scores.find("tables")->array()->front().find("columns")->array()) {
    EXPECT_EQ(*column.find("is_mapped")->boolean(),
              !column.find("name")->text()->ends_with("_uniform"))
        << *column.find("name")->text();
  }
}

TEST(HeadsReports, draw_heads_of_a_pruned_model_under_their_own_numbers) {
  models::Gpt whole({.block_size = 8, .vocab_size = 11, .n_layer = 2, .n_head = 4, .n_embd = 16});
  whole.draw(3);
  const auto pruned = heads::pruned_model(
      whole, {{"decoder.0.self", 0}, {"decoder.0.self", 2}, {"decoder.1.self", 1}});
  base::ThreadPool threads(2);
  const models::Batch text{.ids = tensor::Tensor::of({1, 4}, std::vector<int64_t>{1, 2, 3, 4})};
  const std::vector<ReportSentence> sentences = report_sentences(threads, *pruned, nullptr, {text});
  ASSERT_EQ(sentences.size(), 1U);
  std::vector<std::string> names;
  for (const auto& head : sentences.front().heads) names.push_back(head.head);
  EXPECT_EQ(names,
            (std::vector<std::string>{"decoder.0.self.1", "decoder.0.self.3", "decoder.1.self.0",
                                      "decoder.1.self.2", "decoder.1.self.3"}));
}

}  // namespace
}  // namespace headlight::narrate
