// The table of docs/lessons.md: every point of the five tutorials is where the table says it is, in
// words and in numbers, in every language.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "headlight/narrate/narrate.h"
#include "tests/places.h"

namespace headlight::narrate {
namespace {

// One line of the table.
struct Point {
  std::string what;
  std::string lesson;
  std::string step;  // a number, or "intro"
  std::vector<std::string> languages = {};
  std::vector<std::string> texts = {};    // keys of the catalogue
  std::vector<std::string> numbers = {};  // names of arrays or numbers; "heads" for drawn ones
};

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

std::vector<std::string> pieces_of(const std::string& text, char mark) {
  std::vector<std::string> pieces = {""};
  for (const char c : text) {
    if (c == mark) {
      pieces.emplace_back();
    } else {
      pieces.back() += c;
    }
  }
  return pieces;
}

// What stands between backquotes.
std::vector<std::string> quoted_in(const std::string& cell) {
  std::vector<std::string> names;
  const std::vector<std::string> pieces = pieces_of(cell, '`');
  for (size_t i = 1; i < pieces.size(); i += 2) names.push_back(pieces[i]);
  return names;
}

std::vector<Point> points() {
  std::ifstream file(tests::source_folder() + "/docs/lessons.md");
  std::vector<Point> points;
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> cells = pieces_of(line, '|');
    if (cells.size() != 8 || quoted_in(cells[2]).empty()) continue;
    Point& point = points.emplace_back(Point{.what = trimmed(cells[1]),
                                             .lesson = quoted_in(cells[2]).front(),
                                             .step = trimmed(cells[3]),
                                             .texts = quoted_in(cells[5]),
                                             .numbers = quoted_in(cells[6])});
    for (const std::string& language : pieces_of(trimmed(cells[4]), ',')) {
      point.languages.push_back(trimmed(language));
    }
  }
  return points;
}

std::string with_single_blanks(const std::string& text) {
  std::string joined;
  for (const char c : text) {
    const bool is_blank = c == ' ' || c == '\n';
    if (!is_blank) joined += c;
    if (is_blank && !joined.empty() && joined.back() != ' ') joined += ' ';
  }
  return joined;
}

// A step as it is shown: all parts under its number.
struct Shown {
  std::string text;
  io::Json::Object numbers = {};
  std::set<std::string> arrays = {};
  bool draws_heads = false;
};

using Steps = std::map<std::string, Shown>;

Steps steps_of(const std::string& name, const std::string& language) {
  const auto lesson = std::find_if(lessons().begin(), lessons().end(),
                                   [&](const Lesson& one) { return one.name == name; });
  if (lesson == lessons().end()) throw std::runtime_error("no lesson " + name);
  base::ThreadPool threads(2);
  const Catalogue& catalogue = Catalogue::of(language);
  LessonOptions options{.catalogue = catalogue, .threads = threads};
  const std::vector<ShownStep> made = lesson->steps(options);
  Steps steps;
  steps["intro"].text = with_single_blanks(lesson_text({}, catalogue, *lesson, {}));
  for (const ShownStep& step : made) {
    Shown& shown = steps[std::to_string(step.number)];
    shown.text += with_single_blanks(lesson_text({}, catalogue, *lesson, {step}, false));
    shown.draws_heads = shown.draws_heads || !step.heads.empty();
    for (const ShownArray& array : step.arrays) shown.arrays.insert(array.name);
    for (const ShownNumber& number : step.numbers) {
      shown.numbers.emplace_back(number.name, number.value);
    }
  }
  return steps;
}

// The catalogue's text without what is filled in.
std::vector<std::string> fixed_parts(const std::string& text) {
  std::vector<std::string> parts;
  for (const std::string& piece : pieces_of(text, '{')) {
    const size_t close = piece.find('}');
    parts.push_back(trimmed(close == std::string::npos ? piece : piece.substr(close + 1)));
  }
  return parts;
}

bool is_told(const Shown& step, double value, const Catalogue& catalogue) {
  for (int digits = 0; digits <= 6; ++digits) {
    if (step.text.find(catalogue.number(value, digits)) != std::string::npos) return true;
  }
  return false;
}

bool has_number(const Shown& step, const std::string& name, const Catalogue& catalogue) {
  if (name == "heads") return step.draws_heads;
  if (step.arrays.contains(name)) return step.text.find(name) != std::string::npos;
  return std::any_of(step.numbers.begin(), step.numbers.end(), [&](const io::Json::Member& one) {
    return one.first == name && is_told(step, *one.second.number(), catalogue);
  });
}

void expect_shown(const Point& point, const Shown& step, const std::string& language) {
  const Catalogue& catalogue = Catalogue::of(language);
  for (const std::string& key : point.texts) {
    for (const std::string& part : fixed_parts(catalogue.text(key))) {
      EXPECT_NE(step.text.find(part), std::string::npos)
          << point.lesson << " " << point.step << " in " << language << " lacks " << key << ": "
          << part;
    }
  }
  for (const std::string& name : point.numbers) {
    EXPECT_TRUE(has_number(step, name, catalogue))
        << point.lesson << " " << point.step << " in " << language << " lacks " << name;
  }
}

TEST(LessonsTable, has_the_points_of_all_five_tutorials_in_four_languages) {
  std::map<std::string, int> counts;
  for (const Point& point : points()) {
    ++counts[point.lesson];
    EXPECT_FALSE(point.texts.empty() && point.numbers.empty()) << point.what;
    std::set<std::string_view> languages(point.languages.begin(), point.languages.end());
    EXPECT_EQ(languages, (std::set<std::string_view>{"en", "tr", "az", "ko"})) << point.what;
  }
  EXPECT_EQ(counts.size(), lessons().size());
  const std::map<std::string, int> least = {
      {"nanogpt", 10}, {"steps", 16}, {"d2l", 18}, {"transformer", 21}, {"from-scratch", 9}};
  for (const auto& [lesson, count] : least) EXPECT_GE(counts[lesson], count) << lesson;
}

class LessonsTable : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Lessons, LessonsTable,
                         testing::Values("nanogpt", "steps", "d2l", "transformer", "from-scratch"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_P(LessonsTable, is_true_of_the_lesson_in_every_language) {
  for (const char* language : {"en", "tr", "az", "ko"}) {
    const Steps steps = steps_of(GetParam(), language);
    for (const Point& point : points()) {
      if (point.lesson != GetParam()) continue;
      const auto step = steps.find(point.step);
      ASSERT_NE(step, steps.end()) << point.what << ": step " << point.step;
      expect_shown(point, step->second, language);
    }
  }
}

}  // namespace
}  // namespace headlight::narrate
