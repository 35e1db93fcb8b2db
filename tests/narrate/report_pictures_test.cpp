// Pictures of reports as SVG: well-formed, harmless, whole, and the right way up.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/narrate/small_report.h"
#include "tests/narrate/svg_texts.h"

namespace headlight::narrate {
namespace {

// Elements opened and closed in order, texts and attributes without what would end them; what is
// wrong first.
std::string xml_fault(const std::string& xml) {
  std::vector<std::string> open;
  for (size_t at = 0; at < xml.size();) {
    const auto byte = static_cast<unsigned char>(xml[at]);
    if (byte < 0x20 && byte != '\n') return "a control at " + std::to_string(at);
    if (xml[at] == '&') {
      const size_t end = xml.find(';', at);
      const std::string name = xml.substr(at, end - at);
      if (name != "&amp" && name != "&lt" && name != "&gt" && name != "&quot" && name != "&#39")
        return "an entity " + name;
    }
    if (xml[at] != '<') {
      ++at;
      continue;
    }
    size_t end = at;
    for (bool in_quotes = false; end < xml.size() && (in_quotes || xml[end] != '>'); ++end) {
      if (xml[end] == '"') in_quotes = !in_quotes;
      if (end > at && xml[end] == '<') return "< inside a tag at " + std::to_string(end);
    }
    const std::string tag = xml.substr(at + 1, end - at - 1);
    const std::string name = tag.substr(tag.starts_with('/') ? 1 : 0, tag.find(' '));
    if (name == "script" || tag.find(" on") != std::string::npos) return "a script: " + tag;
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != tag.substr(1)) return "not open: " + tag;
      open.pop_back();
    } else if (!tag.ends_with('/')) {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
    at = end + 1;
  }
  return open.empty() ? "" : "left open: " + open.back();
}

TEST(ReportPictures, are_well_formed_svg_that_needs_nothing_else) {
  for (const std::string_view language : languages()) {
    for (const std::string& token :
         {std::string("word"), hostile_token(), std::string("\xEF\xBF\xBF")}) {
      const std::string svg = report_svg(small_report(token), Catalogue::of(language));
      EXPECT_EQ(xml_fault(svg), "");
      EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 "));
      EXPECT_EQ(svg.find("href"), std::string::npos);
      EXPECT_EQ(svg.find("url("), std::string::npos);
      EXPECT_EQ(svg.find("nan"), std::string::npos);
      EXPECT_NE(svg.find("font-family=\"sans-serif\""), std::string::npos);
      EXPECT_EQ(io::valid_utf8_length(svg), svg.size());
    }
  }
}

TEST(ReportPictures, have_titles_axes_ticks_and_legends) {
  const std::string svg = report_svg(small_report(), Catalogue::of("tr"));
  for (const char* text :
       {">bars<", ">lines<", ">points<", ">share<", ">quality<", ">bound<", ">measured<",
        ">random<", ">all is saved<", ">chance<", ">0,4<", ">Katman<", ">decoder.2.self<"}) {
    EXPECT_NE(svg.find(text), std::string::npos) << text;
  }
}

size_t times_in(const std::string& text, std::string_view part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(ReportPictures, hold_their_texts_and_a_drawing_its_pictures) {
  Report report = small_report("a long token");
  report.pictures.push_back(
      MatrixPicture{.title = in_these_words("a title that is longer than all that is below it"),
                    .row_title = in_these_words("r"),
                    .column_title = in_these_words("c"),
                    .rows = {in_these_words("a row with a long name")},
                    .columns = {in_these_words("a column with a long name")},
                    .values = {0.5}});
  report.pictures.push_back(BarPicture{.title = in_these_words(std::string(100, 't')),
                                       .axis = in_these_words("axis"),
                                       .bars = {{in_these_words("a bar with a long name"), 2}}});
  report.pictures.push_back(
      LinePicture{.title = in_these_words("lines"),
                  .x_axis = in_these_words("x"),
                  .y_axis = in_these_words("y"),
                  .lines = {{in_these_words(std::string(100, 'l')), {{0, 1}, {1, 2}}}}});
  expect_texts_inside(report);
  for (const std::string_view language : languages()) {
    const Catalogue& catalogue = Catalogue::of(language);
    const std::string svg = report_svg(report, catalogue);
    const std::string begin = "<g transform=\"translate(";
    size_t at = 0;
    for (const ReportPicture& picture : report.pictures) {
      const SvgPicture drawn = draw_picture(picture, catalogue);
      at = svg.find(begin, at) + begin.size();
      const double x = std::stod(svg.substr(at)), y = std::stod(svg.substr(svg.find(' ', at)));
      EXPECT_LE(x + drawn.width, std::stod(svg_attribute(svg, "width")) + 0.1);
      EXPECT_LE(y + drawn.height, std::stod(svg_attribute(svg, "height")) + 0.1);
    }
  }
}

TEST(ReportPictures, cells_below_zero_have_a_corner_that_grey_paper_shows) {
  const auto drawn = [](double value) {
    return draw_picture(MatrixPicture{.title = in_these_words("t"),
                                      .rows = {in_these_words("r")},
                                      .columns = {in_these_words("a"), in_these_words("b")},
                                      .values = {value, 0.5}},
                        Catalogue::of("en"))
        .body;
  };
  EXPECT_EQ(times_in(drawn(0.25), "<line "), 0U);
  EXPECT_EQ(times_in(drawn(-0.25), "<line "), 1U + 4U) << "the cell, and half of the legend";
}

TEST(ReportPictures, lines_go_up_where_numbers_do_and_axes_reach_as_far_as_bands) {
  const SvgPicture picture =
      draw_picture(LinePicture{.title = in_these_words("t"),
                               .lines = {{in_these_words("l"), {{0, 0.5}, {1, 0.75}}}},
                               .bands = {{in_these_words("b"), {0, 1}, {{0.0, 0.5}, {0.75, 2}}}}},
                   Catalogue::of("en"));
  EXPECT_NE(picture.body.find(">0.0<"), std::string::npos) << picture.body;
  EXPECT_NE(picture.body.find(">2.0<"), std::string::npos) << picture.body;
  // "M64 225 L464 192.5"
  const size_t line = picture.body.find("<path d=\"M", picture.body.find(" Z\""));
  const std::string path = svg_attribute(picture.body.substr(line), "d");
  const double first = std::stod(path.substr(path.find(' ')));
  const double second = std::stod(path.substr(path.rfind(' ')));
  EXPECT_GT(first, second) << path;
}

TEST(ReportPictures, bear_what_is_empty_or_all_alike) {
  Report report = small_report();
  report.pictures = {
      BarPicture{.title = in_these_words("t"), .axis = in_these_words("a"), .bars = {}},
      LinePicture{.title = in_these_words("t"), .x_axis = {}, .y_axis = {}, .lines = {}},
      LinePicture{.title = in_these_words("t"),
                  .x_axis = {},
                  .y_axis = {},
                  .lines = {{in_these_words("l"), {{3, -2}}}}},
      MatrixPicture{.title = in_these_words("t"),
                    .row_title = {},
                    .column_title = {},
                    .rows = {in_these_words("r")},
                    .columns = {in_these_words("c")},
                    .values = {std::nullopt}},
      MatrixPicture{.title = in_these_words("t"),
                    .row_title = {},
                    .column_title = {},
                    .rows = {in_these_words("r")},
                    .columns = {in_these_words("c")},
                    .values = {0.0}}};
  const std::string svg = report_svg(report, Catalogue::of("en"));
  EXPECT_EQ(xml_fault(svg), "");
  for (const char* wrong : {"nan", "inf", "\"-"})
    EXPECT_EQ(svg.find(wrong), std::string::npos) << svg;
  narrate::report_text(report, {.width = 40}, Catalogue::of("en"));
}

TEST(ReportPictures, are_wide_enough_for_their_legends) {
  const auto width = [](const std::string& legend) {
    Report report = small_report();
    report.pictures = {MatrixPicture{.title = in_these_words("t"),
                                     .row_title = {},
                                     .column_title = {},
                                     .rows = {in_these_words("r")},
                                     .columns = {in_these_words("c")},
                                     .values = {-0.25},
                                     .legend = in_these_words(legend)}};
    const std::string svg = report_svg(report, Catalogue::of("en"));
    return std::stod(svg.substr(svg.find("viewBox=\"0 0 ") + 13));
  };
  const std::string legend = "how much of it comes back";
  EXPECT_GE(width(legend) - width(""), SvgCanvas::text_width(legend, 10) - 1);
}

TEST(ReportPictures, ticks_are_round_and_hold_all_numbers) {
  for (const auto& [low, high] : std::vector<std::pair<double, double>>{
           {0, 1}, {-0.37, 12.2}, {1e-9, 3e-9}, {5, 5}, {0, 0}, {-3, -3}, {99999, 100001}}) {
    const Ticks ticks = ticks_of(low, high);
    EXPECT_LE(ticks.low, low);
    EXPECT_GE(ticks.high, high);
    EXPECT_GE(ticks.at.size(), 2U);
    EXPECT_LE(ticks.at.size(), 12U);
  }
  EXPECT_EQ(ticks_of(0, 1).at.size(), 6U);
}

TEST(ReportPictures, maps_of_heads_are_in_the_order_of_layers_with_gaps_for_missing_heads) {
  Report report = small_report();
  std::ranges::reverse(report.tables[0].rows);
  const MatrixPicture map = heads_map(report.tables[0], "gradient");
  ASSERT_EQ(map.rows.size(), 3U);
  EXPECT_EQ(map.rows[0].words, "decoder.0.self");
  EXPECT_EQ(map.columns.size(), 4U);
  EXPECT_EQ(map.values[4 + 2], std::nullopt);
  EXPECT_NEAR(map.values[4 + 3].value(), 0.25 - 0.3, 1e-12);
  EXPECT_TRUE(is_by_head(report.tables[0]));
  report.tables[0].rows.push_back(report.tables[0].rows[0]);
  EXPECT_FALSE(is_by_head(report.tables[0]));
}

TEST(ReportPictures,
     maps_of_heads_have_the_encoder_first_and_self_attention_before_cross_attention) {
  ReportTable table{.name = "heads",
                    .title = in_these_words("t"),
                    .columns = {{"head", in_these_words("h")}, {"value", in_these_words("v")}}};
  for (const char* head :
       {"decoder.1.cross.0", "decoder.0.cross.0", "encoder.1.self.0", "decoder.10.self.0",
        "decoder.1.self.0", "decoder.0.self.0", "encoder.0.self.0"}) {
    table.rows.push_back({head, 1.0});
  }
  std::vector<std::string> rows;
  for (const ReportText& row : heads_map(table, "value").rows) rows.push_back(row.words);
  EXPECT_EQ(rows, (std::vector<std::string>{"encoder.0.self", "encoder.1.self", "decoder.0.self",
                                            "decoder.0.cross", "decoder.1.self", "decoder.1.cross",
                                            "decoder.10.self"}));
}

}  // namespace
}  // namespace headlight::narrate
