// `headlight lesson` without a name, and `--exercise`: questions, answers, and what mistakes are
// told.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "headlight/io/io.h"
#include "headlight/text/text.h"
#include "tests/base/temporary_folder.h"
#include "tests/cli/program.h"

namespace headlight::test {
namespace {

using io::Json;

constexpr const char* kLessonNames[] = {"nanogpt", "steps", "d2l", "transformer", "from-scratch"};
constexpr const char* kLanguages[] = {"en", "tr", "az", "ko"};

class LessonExercise : public testing::Test {
 protected:
  ProgramRun asked(const std::string& lesson, const std::string& typed,
                   std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {"lesson", lesson, "--exercise"};
    words.insert(words.end(), more.begin(), more.end());
    return run_program(words, {.input_path = folder_.put("typed", typed)});
  }

  static Json exercises(const std::string& lesson, const std::string& language) {
    const ProgramRun run =
        run_program({"lesson", lesson, "--exercise", "--json", "--lang", language});
    EXPECT_EQ(run.code, 0) << run.errors;
    return io::parse_json(run.output, lesson);
  }

  static double number(const Json& json, const char* name) { return *json.find(name)->number(); }

  // As somebody would type it in this language.
  static std::string typed(double value, bool comma) {
    char digits[64];
    std::snprintf(digits, sizeof digits, "%.9g", value);
    std::string text = digits;
    if (comma && text.find('.') != std::string::npos) text[text.find('.')] = ',';
    if (text.starts_with('-')) text = "−" + text.substr(1);
    return text;
  }

  static size_t count(const std::string& text, const std::string& part) {
    size_t found = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
      ++found;
    }
    return found;
  }

  static void expect_narrow(const std::string& text) {
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      EXPECT_LE(text::columns(text.substr(begin, end - begin)), 80)
          << text.substr(begin, end - begin);
      begin = end + 1;
    }
  }

  void expect_answers_are_known(const char* lesson, const char* language);

  TemporaryFolder folder_;
};

TEST_F(LessonExercise, lessons_are_listed_without_a_name) {
  for (const char* language : kLanguages) {
    const ProgramRun run = run_program({"lesson", "--lang", language});
    EXPECT_EQ(run.code, 0) << run.errors;
    for (const char* name : kLessonNames) {
      const size_t at = run.output.find(std::string("  headlight lesson ") + name);
      ASSERT_NE(at, std::string::npos) << run.output;
      // In a language that is not its own the command names it.
      const std::string line = run.output.substr(at, run.output.find('\n', at) - at);
      EXPECT_TRUE(line.ends_with(name) || line.ends_with(std::string(" --lang ") + language))
          << line;
    }
    expect_narrow(run.output);
  }
  const ProgramRun run = run_program({"lesson", "--json", "--lang", "en"});
  const Json list = io::parse_json(run.output, "lessons");
  ASSERT_EQ(list.find("lessons")->array()->size(), 5U);
  for (const Json& one : *list.find("lessons")->array()) {
    EXPECT_GE(*one.find("steps")->integer(), 6);
    EXPECT_FALSE(one.find("title")->text()->empty());
    EXPECT_EQ(*one.find("command")->text(),
              "headlight lesson " + *one.find("name")->text() + " --lang en");
  }
}

// Each exercise is answered wrong in a way that is named, then right with the other decimal sign.
void LessonExercise::expect_answers_are_known(const char* lesson, const char* language) {
  const bool comma = std::string_view(language) == "tr" || std::string_view(language) == "az";
  const Json all = exercises(lesson, language);
  const Json::Array& list = *all.find("exercises")->array();
  ASSERT_GE(list.size(), 5U) << lesson;
  std::string lines;
  std::vector<std::string> named;
  for (const Json& one : list) {
    const Json::Array& variants = *one.find("variants")->array();
    ASSERT_FALSE(variants.empty());
    lines += typed(number(variants.front(), "value"), comma) + "\n";
    named.push_back(*variants.front().find("text")->text());
    lines += typed(number(one, "answer"), !comma) + "\n";
  }
  const ProgramRun run = asked(lesson, lines, {"--lang", language});
  EXPECT_EQ(run.code, 0) << run.errors;
  EXPECT_EQ(run.errors, "");
  EXPECT_EQ(run.output.find('{'), std::string::npos) << run.output;
  expect_narrow(run.output);
  for (const std::string& text : named) {
    // Wrapped as it is, its first words stand on one line.
    EXPECT_NE(run.output.find(text.substr(0, text.find(' '))), std::string::npos) << text;
  }
  const std::string size = std::to_string(list.size());
  const std::string summary = run.output.substr(run.output.rfind("\n\n"));
  EXPECT_GE(count(summary, size), 2U) << summary;  // all were answered, all at a second try
}

TEST_F(LessonExercise, accepts_right_answers_and_names_wrong_ones_in_two_languages_each) {
  for (size_t i = 0; i < std::size(kLessonNames); ++i) {
    for (const size_t other : {i, i + 1})
      expect_answers_are_known(kLessonNames[i], kLanguages[other % std::size(kLanguages)]);
  }
}

using LongLessonExercise = LessonExercise;

TEST_F(LongLessonExercise, accepts_right_answers_and_names_wrong_ones_in_every_language) {
  for (const char* lesson : kLessonNames) {
    for (const char* language : kLanguages) expect_answers_are_known(lesson, language);
  }
}

TEST_F(LessonExercise, says_which_mistake_it_was) {
  const Json all = exercises("steps", "en");
  const Json& first = all.find("exercises")->array()->front();
  for (const Json& variant : *first.find("variants")->array()) {
    const ProgramRun run =
        asked("steps", typed(number(variant, "value"), false) + "\n", {"--lang", "en"});
    std::string plain = run.output;
    std::ranges::replace(plain, '\n', ' ');
    EXPECT_NE(plain.find("Not quite. " + *variant.find("text")->text()), std::string::npos)
        << run.output;
  }
}

TEST_F(LessonExercise, a_question_mark_shows_the_terms_and_an_empty_line_ends) {
  const ProgramRun run = asked("steps", "?\n\n", {"--lang", "en"});
  EXPECT_EQ(run.code, 0) << run.errors;
  EXPECT_NE(run.output.find("Shown: 1."), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("Answered: 1 of "), std::string::npos) << run.output;
  const ProgramRun none = asked("steps", "", {"--lang", "en"});
  EXPECT_EQ(none.code, 0);
  EXPECT_NE(none.output.find("Answered: 0 of "), std::string::npos) << none.output;
  EXPECT_NE(none.output.find("within 1%"), std::string::npos) << none.output;
}

TEST_F(LessonExercise, hostile_lines_get_a_clear_line_and_no_control_character_comes_back) {
  std::string lines = std::string(100'000, '7') + "\n";
  for (const char* line : {"nan", "inf", "1e999", "\x1b]0;title\x07", "\xff\xfe\xfd", "1.2.3",
                           "1/0", "'; rm -rf /", "\xe2\x88\x92"}) {
    lines += std::string(line) + "\n";
  }
  lines += std::string("\0\0\0\n", 4);
  lines += std::string(1'000'000, 'x');  // and no end of line
  const ProgramRun run = asked("from-scratch", lines, {"--lang", "en"});
  EXPECT_EQ(run.code, 0) << run.errors;
  EXPECT_EQ(run.errors, "");
  EXPECT_NE(run.output.find("too long for a number"), std::string::npos);
  EXPECT_NE(run.output.find("too large"), std::string::npos);
  EXPECT_NE(run.output.find("not a number"), std::string::npos);
  for (const char c : {'\x1b', '\x07', '\0', '\xff'}) {
    EXPECT_EQ(run.output.find(c), std::string::npos) << static_cast<int>(c);
  }
  EXPECT_NE(run.output.find("Answered: 0 of "), std::string::npos);
  expect_narrow(run.output);
}

TEST_F(LessonExercise, one_step_alone_and_other_seeds) {
  const Json all = exercises("from-scratch", "en");
  const int64_t step = *all.find("exercises")->array()->front().find("step")->integer();
  const ProgramRun run = run_program(
      {"lesson", "from-scratch", "--exercise", "--json", "--step", std::to_string(step)});
  EXPECT_EQ(run.code, 0) << run.errors;
  const Json some = io::parse_json(run.output, "some");
  for (const Json& one : *some.find("exercises")->array()) {
    EXPECT_EQ(*one.find("step")->integer(), step);
  }
  const ProgramRun none = run_program({"lesson", "from-scratch", "--exercise", "--step", "1"});
  expect_one_line(none, 2, "has no exercises; there are some in ");
}

}  // namespace
}  // namespace headlight::test
