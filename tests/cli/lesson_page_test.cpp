// `headlight lesson --format html`: the lessons as pages, opened in a browser.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "headlight/io/io.h"
#include "tests/base/temporary_folder.h"
#include "tests/cli/browser.h"
#include "tests/cli/program.h"

namespace headlight::test {
namespace {

class LessonPage : public testing::TestWithParam<const char*> {
 protected:
  std::string page(std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {"lesson", GetParam(), "--format", "html"};
    words.insert(words.end(), more.begin(), more.end());
    const ProgramRun run = run_program(words);
    EXPECT_EQ(run.code, 0) << run.errors;
    EXPECT_EQ(run.errors, "");
    return run.output;
  }

  static int number_after(const std::string& text, const std::string& word) {
    return std::atoi(text.c_str() + text.find(word) + word.size());
  }

  TemporaryFolder folder_;
};

TEST_P(LessonPage, is_one_file_that_asks_for_nothing) {
  const std::string text = page();
  EXPECT_TRUE(text.starts_with("<!doctype html>"));
  EXPECT_TRUE(text.ends_with("</html>\n"));
  EXPECT_NE(text.find("default-src 'none'"), std::string::npos);
  for (const char* part : {" src=", "<link", "@import", "url(", "fetch(", "XMLHttp", "https://"}) {
    EXPECT_EQ(text.find(part), std::string::npos) << part;
  }
  EXPECT_LT(text.size(), 12'000'000U);
}

TEST_P(LessonPage, answers_why_and_takes_answers_in_four_languages) {
  if (!has_browser()) GTEST_SKIP() << "chromium is not installed";
  const std::string found = told_in_browser(folder_, page(), test_script("lesson_page_check.js"));
  EXPECT_NE(found.find("wrong: 0\n"), std::string::npos) << found;
  EXPECT_GT(number_after(found, "cells: "), 100) << found;
  EXPECT_GT(number_after(found, "matrices: "), 3) << found;
  EXPECT_GT(number_after(found, "named: "), 10) << found;
}

INSTANTIATE_TEST_SUITE_P(Lessons, LessonPage,
                         testing::Values("nanogpt", "steps", "d2l", "transformer", "from-scratch"),
                         [](const auto& lesson) {
                           std::string name = lesson.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(LessonPageFile, is_written_where_it_is_asked_for_and_opens_with_blanks) {
  const TemporaryFolder folder;
  const std::string path = folder / "steps.html";
  const ProgramRun run = run_program({"lesson", "steps", "--format", "html", "--out", path,
                                      "--exercise", "--step", "4", "--lang", "en"});
  EXPECT_EQ(run.code, 0) << run.errors;
  EXPECT_EQ(run.output, "");
  EXPECT_NE(run.errors.find(path), std::string::npos) << run.errors;
  const std::string text = folder.get("steps.html");
  EXPECT_NE(text.find("\"place\":\"exercise=1&at=step-4\""), std::string::npos);
  const ProgramRun quiet = run_program(
      {"lesson", "steps", "--format", "html", "--out", path, "--quiet", "--lang", "en"});
  EXPECT_EQ(quiet.errors, "");
  expect_one_line(run_program({"lesson", "steps", "--exercise", "--out", folder / "steps.txt"}), 2,
                  "--format html");
  EXPECT_EQ(run_program({"lesson", "steps", "--exercise", "--out", path}).code, 0);
  expect_one_line(run_program({"lesson", "steps", "--format", "html", "--step", "99"}), 2,
                  "has the steps 1 to ");
  expect_one_line(
      run_program({"lesson", "steps", "--format", "html", "--out", folder / "none/x.html"}), 1,
      "none");
}

TEST(LessonPageFile, a_cell_is_told_in_the_terminal_too) {
  const ProgramRun run = run_program(
      {"lesson", "steps", "--cell", "one_head.self.head.0.scores[1,2]", "--lang", "en"});
  EXPECT_EQ(run.code, 0) << run.errors;
  EXPECT_NE(run.output.find("= 12"), std::string::npos) << run.output;
  const ProgramRun json =
      run_program({"lesson", "steps", "--cell", "one_head.self.head.0.scores[1,2]", "--json"});
  EXPECT_EQ(*io::parse_json(json.output, "cell").find("value")->number(), 12);
  expect_one_line(run_program({"lesson", "steps", "--cell", "one_head.self.scoers[0,1]"}), 3,
                  "one_head.self.scores");
}

}  // namespace
}  // namespace headlight::test
