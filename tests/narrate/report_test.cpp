// Reports of experiments as documents: within any width, well-formed, and harmless whatever tokens
// and names hold.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "headlight/narrate/narrate.h"
#include "headlight/narrate/report/report_svg.h"
#include "headlight/text/text.h"

namespace headlight::narrate {
namespace {

constexpr const char* kHostile = "</script><script>alert(1)</script>&<b>\"'\x1b[31m\n\t";

// Every kind of cell and picture, with texts that mean harm.
Report small_report(const std::string& token = "word") {
  Report report{
      .name = "score",
      .title = told("experiment.page.heads"),
      .summary = told("experiment.more_rows", {{"shown", token}, {"all", ReportNumber{1234.5}}})};
  report.notes = {in_these_words(token), told("experiment.empty")};
  ReportTable table{.name = "heads",
                    .title = told("experiment.page.heads"),
                    .columns = {{"head", told("experiment.axis.head")},
                                {"gradient", in_these_words("gradient"), in_these_words("meaning")},
                                {"copying", in_these_words("copying")},
                                {"role", told("label.role")},
                                {"token", in_these_words("token")}},
                    .rows = {}};
  for (int layer = 0; layer < 3; ++layer) {
    for (int head = 0; head < 4; ++head) {
      if (layer == 1 && head == 2) continue;  // pruned
      table.rows.push_back({"decoder." + std::to_string(layer) + ".self." + std::to_string(head),
                            0.25 * layer - 0.1 * head,
                            head == 0 ? ReportCell() : ReportCell(1e-7 * head),
                            ReportWord{"previous", "role.previous"}, token});
    }
  }
  report.pictures = {
      heads_map(table, "gradient"),
      BarPicture{.title = in_these_words("bars"),
                 .axis = in_these_words(token),
                 .bars = {{in_these_words(token), 0.5, ReportRange{0.1, 0.2}},
                          {in_these_words("two"), -0.25}},
                 .range_label = in_these_words("chance")},
      LinePicture{.title = in_these_words("lines"),
                  .x_axis = in_these_words("share"),
                  .y_axis = in_these_words("quality"),
                  .lines = {{in_these_words(token), {{0, 1}, {0.5, 0.75}, {1, NAN}}},
                            {in_these_words("b"), {{0, 1}, {0.5, 0.25}}}},
                  .bands = {{in_these_words("random"), {0, 0.5}, {{0.9, 1.0}, {0.1, 0.6}}}}},
      ScatterPicture{.title = in_these_words("points"),
                     .x_axis = in_these_words("bound"),
                     .y_axis = in_these_words("measured"),
                     .groups = {{in_these_words("a"), {{1.5, 1.4, ReportRange{1.3, 1.5}, token}}}},
                     .diagonal = in_these_words("all is saved")}};
  report.tables.push_back(std::move(table));
  report.sentences = {
      {.tokens = {token, "b"},
       .source_tokens = {},
       .heads = {
           {"decoder.0.self.1", tensor::Tensor::of({2, 2}, {1, 0, 0.25F, 0.75F}), false, false}}}};
  return report;
}

std::string hostile_token() {
  return std::string(kHostile) + std::string(1, '\0') + "\xff\xe2\x80\xae";
}

int64_t widest_line(const std::string& text) {
  int64_t width = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    width = std::max(width, text::columns(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return width;
}

// Fields of RFC 4180.
std::vector<std::vector<std::string>> parsed_csv(const std::string& text) {
  std::vector<std::vector<std::string>> lines(1, std::vector<std::string>(1));
  bool quoted = false;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    std::string& field = lines.back().back();
    if (quoted) {
      if (c == '"' && at + 1 < text.size() && text[at + 1] == '"') {
        field += text[++at];
      } else if (c == '"') {
        quoted = false;
      } else {
        field += c;
      }
    } else if (c == '"') {
      EXPECT_TRUE(field.empty());
      quoted = true;
    } else if (c == ',') {
      lines.back().emplace_back();
    } else if (c == '\r') {
      EXPECT_EQ(text[at + 1], '\n');
      ++at;
      lines.emplace_back(1);
    } else {
      EXPECT_NE(c, '\n');
      field += c;
    }
  }
  EXPECT_FALSE(quoted);
  EXPECT_EQ(lines.back(), std::vector<std::string>{""});
  lines.pop_back();
  return lines;
}

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

TEST(Report, fits_any_width_in_every_language) {
  for (const std::string_view language : languages()) {
    for (const int64_t width : {40, 80, 120}) {
      for (const std::string& token : {std::string("word"), hostile_token()}) {
        const Catalogue& catalogue = Catalogue::of(language);
        const std::string text =
            narrate::report_text(small_report(token), {.width = width}, catalogue);
        EXPECT_LE(widest_line(text), width) << text;
        EXPECT_EQ(text.find('\x1b'), std::string::npos);
        for (const char* part : {"decoder.2.self.3", "0.5", "–", "·"}) {
          const std::string shown = with_decimal(part, part[1] == '.' ? catalogue.decimal() : ".");
          EXPECT_NE(text.find(shown), std::string::npos) << shown << "\n" << text;
        }
        EXPECT_NE(text.find(catalogue.text("role.previous")), std::string::npos);
      }
    }
  }
}

TEST(Report, repeats_the_first_column_where_columns_do_not_fit) {
  const std::string narrow =
      narrate::report_text(small_report(), {.width = 40}, Catalogue::of("en"));
  const std::string wide =
      narrate::report_text(small_report(), {.width = 120}, Catalogue::of("en"));
  const auto count = [](const std::string& text, std::string_view part) {
    size_t found = 0;
    for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count(wide, "decoder.2.self.3"), 1U);
  EXPECT_GT(count(narrow, "decoder.2.self.3"), 1U);
}

TEST(Report, shades_a_terminal_that_has_colours) {
  const std::string text = narrate::report_text(small_report(hostile_token()),
                                                {.width = 80, .colors = true}, Catalogue::of("en"));
  EXPECT_NE(text.find("\x1b[48;5;"), std::string::npos);
  // Nothing but what sets colours is left of controls.
  EXPECT_EQ(text::printable_lines(text, true), text);
}

TEST(Report, says_how_many_rows_are_left_out) {
  Report report = small_report();
  report.tables[0].shown_rows = 2;
  const std::string text = narrate::report_text(report, {.width = 80}, Catalogue::of("en"));
  EXPECT_NE(text.find("The first 2 of 11 rows"), std::string::npos) << text;
  EXPECT_EQ(parsed_csv(report_csv(report)).size(), 12U);
}

TEST(Report, is_csv_with_points_and_machine_names) {
  const auto lines = parsed_csv(report_csv(small_report("a,\"b\"\r\nc")));
  ASSERT_EQ(lines.size(), 12U);
  EXPECT_EQ(lines[0], (std::vector<std::string>{"head", "gradient", "copying", "role", "token"}));
  EXPECT_EQ(lines[2], (std::vector<std::string>{"decoder.0.self.1", "-0.1", "1e-07", "previous",
                                                "a,\"b\"\r\nc"}));
  EXPECT_EQ(lines[1][2], "");  // no number
  for (const auto& line : lines) EXPECT_EQ(line.size(), 5U);
}

TEST(Report, csv_has_all_tables_in_one) {
  Report report = small_report();
  report.tables.push_back(
      {.name = "greedy",
       .title = in_these_words("greedy"),
       .columns = {{"removed", in_these_words("removed")}, {"head", in_these_words("head")}},
       .rows = {{int64_t{1}, "decoder.0.self.1"}, {int64_t{2}, NAN}}});
  const auto lines = parsed_csv(report_csv(report));
  ASSERT_EQ(lines.size(), 14U);
  EXPECT_EQ(lines[0], (std::vector<std::string>{"table", "head", "gradient", "copying", "role",
                                                "token", "removed"}));
  EXPECT_EQ(lines[12],
            (std::vector<std::string>{"greedy", "decoder.0.self.1", "", "", "", "", "1"}));
  EXPECT_EQ(lines[13].back(), "2");
  EXPECT_EQ(lines[13][1], "");
}

TEST(Report, csv_holds_no_formulas) {
  for (const std::string text : {"=cmd|' /C calc'!A0", "+1", "-1", "@x", " =1", "\t=1", "\r"}) {
    const auto lines = parsed_csv(report_csv(small_report(text)));
    EXPECT_EQ(lines[1].back(), "'" + text);
  }
  EXPECT_EQ(parsed_csv(report_csv(small_report("a=1")))[1].back(), "a=1");
}

TEST(Report, is_well_formed_svg_that_needs_nothing_else) {
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

TEST(Report, pictures_have_titles_axes_ticks_and_legends) {
  const std::string svg = report_svg(small_report(), Catalogue::of("tr"));
  for (const char* text :
       {">bars<", ">lines<", ">points<", ">share<", ">quality<", ">bound<", ">measured<",
        ">random<", ">all is saved<", ">chance<", ">0,4<", ">Katman<", ">decoder.2.self<"}) {
    EXPECT_NE(svg.find(text), std::string::npos) << text;
  }
}

TEST(Report, pictures_bear_what_is_empty_or_all_alike) {
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

TEST(Report, pictures_are_wide_enough_for_their_legends) {
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

TEST(Report, ticks_are_round_and_hold_all_numbers) {
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

TEST(Report, maps_of_heads_are_in_the_order_of_layers_with_gaps_for_missing_heads) {
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

TEST(Report, tells_numbers_in_sentences_in_each_language) {
  const ReportText text =
      told("experiment.more_rows", {{"shown", ReportNumber{0.12345}}, {"all", ReportShare{0.125}}});
  EXPECT_NE(text.in(Catalogue::of("en")).find("0.1235 of 12.5%"), std::string::npos)
      << text.in(Catalogue::of("en"));
  EXPECT_NE(text.in(Catalogue::of("az")).find("0,1235"), std::string::npos);
}

class PageText : public base::Output {
 public:
  using base::Output::write;
  void write(std::span<const std::byte> bytes) override {
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  std::string text;
};

TEST(Report, is_one_page_that_nothing_in_it_can_break) {
  PageText page;
  write_report_page(page, small_report(hostile_token()), "ko");
  EXPECT_EQ(page.text.find("alert(1)</script>"), std::string::npos);
  for (const char* part : {"<link", "src=", "http://", "https://"}) {
    const size_t at = page.text.find(part);
    // Names of XML are no addresses.
    if (at == page.text.npos) continue;
    EXPECT_EQ(page.text.substr(at, 21), "http://www.w3.org/200");
  }
  const size_t begin = page.text.find("id=\"data\">") + 10;
  const io::Json data =
      io::parse_json(page.text.substr(begin, page.text.find("</script>", begin) - begin), "page");
  const io::Json& report = *data.find("report");
  EXPECT_EQ(report.find("tables")->array()->size(), 1U);
  EXPECT_EQ(report.find("sentences")->array()->size(), 1U);
  EXPECT_EQ(report.find("pictures")->array()->size(), 4U);
  for (const std::string_view language : languages()) {
    const io::Json* texts = data.find("texts")->find(language);
    ASSERT_NE(texts, nullptr);
    EXPECT_NE(texts->find("experiment.page.heads"), nullptr);
    EXPECT_EQ(texts->find("lesson.d2l.title"), nullptr);
  }
}

}  // namespace
}  // namespace headlight::narrate
