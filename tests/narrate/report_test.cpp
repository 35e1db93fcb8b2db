// Reports of experiments as documents: within any width, well-formed, and harmless whatever tokens
// and names hold.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "headlight/narrate/page_values.h"
#include "headlight/text/text.h"
#include "tests/narrate/small_report.h"

namespace headlight::narrate {
namespace {

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

TEST(Report, says_in_a_terminal_all_that_it_has_to_say) {
  const Catalogue& catalogue = Catalogue::of("en");
  const std::string text = narrate::report_text(small_report(), {.width = 200}, catalogue);
  for (const std::string& part :
       {catalogue.text("experiment.page.heads"), small_report().summary.in(catalogue),
        std::string("gradient: meaning"), catalogue.text("experiment.empty"),
        std::string("headlight info half"), catalogue.text("experiment.next.info")}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
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

io::Json data_on_page(const PageText& page) {
  const size_t begin = page.text.find("id=\"data\">") + 10;
  return io::parse_json(page.text.substr(begin, page.text.find("</script>", begin) - begin),
                        "page");
}

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
  const io::Json data = data_on_page(page);
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

TEST(Report, page_has_all_that_there_is_to_say) {
  PageText page;
  const Report made = small_report();
  write_report_page(page, made, "en");
  const io::Json data = data_on_page(page);
  const io::Json& report = *data.find("report");
  EXPECT_EQ(*data.find("language")->text(), "en");
  EXPECT_EQ(io::json_text(*report.find("title")), io::json_text(report_text_json(made.title)));
  EXPECT_EQ(io::json_text(*report.find("summary")), io::json_text(report_text_json(made.summary)));
  ASSERT_EQ(report.find("notes")->array()->size(), 2U);
  EXPECT_EQ(*report.find("notes")->array()->at(0).find("words")->text(), "word");
  ASSERT_EQ(report.find("next")->array()->size(), 1U);
  EXPECT_EQ(*report.find("next")->array()->at(0).find("command")->text(), "headlight info half");
  const io::Json& table = report.find("tables")->array()->at(0);
  const io::Json::Array& columns = *table.find("columns")->array();
  ASSERT_NE(columns.at(1).find("meaning"), nullptr);
  EXPECT_EQ(*columns.at(1).find("meaning")->find("words")->text(), "meaning");
  EXPECT_EQ(columns.at(0).find("meaning"), nullptr);
  EXPECT_EQ(io::json_text(table.find("rows")->array()->at(1)),
            R"(["decoder.0.self.1",-0.1,1e-07,{"name":"previous","key":"role.previous"},"word"])");
  EXPECT_TRUE(table.find("rows")->array()->at(0).array()->at(2).is_null());
  const io::Json& sentence = report.find("sentences")->array()->at(0);
  EXPECT_EQ(io::json_text(*sentence.find("tokens")), R"(["word","b"])");
  EXPECT_EQ(io::json_text(*sentence.find("heads")->array()->at(0).find("weights")),
            page_numbers(made.sentences[0].heads[0].weights));
  for (const std::string_view language : languages()) {
    const Catalogue& catalogue = Catalogue::of(language);
    EXPECT_NE(report.find("pictures")
                  ->array()
                  ->at(0)
                  .find(language)
                  ->text()
                  ->find(">" + catalogue.text("experiment.axis.layer") + "<"),
              std::string::npos)
        << language;
  }
}

}  // namespace
}  // namespace headlight::narrate
