// Whole screens in every language: one decimal sign, steps that can be told apart, nothing said of
// what is not there.
#include <regex>

#include "tests/narrate/catalogue_words.h"
#include "tests/narrate/support.h"

namespace headlight::narrate {
namespace {

constexpr const char* kSentence = "When you play the game of thrones";
constexpr const char* kContinuation = "you win or you die";

class Screens : public NarrateTest {
 protected:
  std::string explained(ExplainRequest request) {
    request.text = kSentence;
    return written(Explanation(threads_, base::real_files(), request));
  }
  std::string cell(const std::string& language, const std::string& name) {
    return explained({.target = kContinuation, .language = language, .cell = name});
  }
  std::string lesson(const std::string& name, std::string_view language) {
    LessonOptions options{.catalogue = Catalogue::of(language), .threads = threads_};
    for (const Lesson& one : lessons()) {
      if (one.name == name) return lesson_text({}, options.catalogue, one, one.steps(options));
    }
    return "";
  }
  std::string first_minute(const std::string& language) {
    std::string told;
    FirstMinute minute(threads_, {.language = language}, [&](std::string_view t) { told += t; });
    minute.run();
    return told;
  }

  // Everything but the largest lessons, which the program's own tests look at.
  std::vector<std::string> screens(const std::string& language) {
    std::vector<std::string> all = {explained({.target = kContinuation, .language = language}),
                                    explained({.target = kContinuation,
                                               .train = true,
                                               .language = language,
                                               .cell = "encoder.layers.0.fc1.weight[3,2]",
                                               .backward = true}),
                                    first_minute(language)};
    for (const char* name : {"steps", "d2l", "transformer"}) all.push_back(lesson(name, language));
    for (const char* name :
         {"encoder.0.self.head.0.weights[1,2]", "encoder.0.norm_1.normalized[1,1]",
          "encoder.0.norm_1.deviation[1]", "encoder.positions[2,3]", "probabilities[0,3]",
          "encoder.0.self.projected_query[1,1]", "decoder.0.self.row_max[0,0,3]"}) {
      all.push_back(cell(language, name));
    }
    return all;
  }
};

// Without indices, whose commas part whole numbers: "scores[3,5]", "(+40)".
std::string without_indices(const std::string& text) {
  return std::regex_replace(text, std::regex(R"(\[[0-9,]*\])"), "");
}

TEST_F(Screens, have_one_decimal_sign_each) {
  for (const std::string_view language : languages()) {
    const bool comma = Catalogue::of(language).decimal() == ",";
    for (const std::string& screen : screens(std::string(language))) {
      const std::string numbers = without_indices(screen);
      EXPECT_TRUE(test::has_number_with(numbers, comma ? ',' : '.')) << screen;
      for (const std::string& line : test::parts_of(numbers, '\n')) {
        EXPECT_FALSE(test::has_number_with(line, comma ? '.' : ',')) << language << ": " << line;
      }
    }
  }
}

TEST_F(Screens, have_no_place_that_is_not_filled_in) {
  const std::regex unfilled(R"(\{[a-z_]+(\|[a-z]+)?\})");
  for (const std::string_view language : languages()) {
    for (const std::string& screen : screens(std::string(language))) {
      std::smatch found;
      EXPECT_FALSE(std::regex_search(screen, found, unfilled)) << language << ": " << found.str();
    }
  }
}

TEST_F(Screens, of_a_narrow_terminal_have_the_exercises_of_a_lesson_whole) {
  for (const std::string_view language : languages()) {
    LessonOptions options{.catalogue = Catalogue::of(language), .threads = threads_};
    const auto d2l = std::ranges::find(lessons(), "d2l", &Lesson::name);
    std::vector<ShownStep> steps = d2l->steps(options);
    std::erase_if(steps, [](const ShownStep& step) { return step.number < 6; });
    ASSERT_EQ(steps.size(), 4U);
    const std::string text = lesson_text({.width = 40}, options.catalogue, *d2l, steps, false);
    for (const std::string& line : test::parts_of(text, '\n')) {
      EXPECT_LE(text::columns(line), 40) << language << ": " << line;
      EXPECT_EQ(line.find("…"), std::string::npos) << language << ": " << line;
    }
    for (const ShownStep& step : steps) {
      for (const ShownTable& table : step.tables) {
        for (const std::string& cell : table.lines.back())
          EXPECT_NE(text.find(cell), std::string::npos) << language << ": " << cell;
      }
    }
  }
}

TEST_F(Screens, name_no_two_steps_alike) {
  for (const std::string_view language : languages()) {
    const std::string step = Catalogue::of(language).text("lesson.step", {{"step", "12"}}) + ":";
    const std::string again =
        Catalogue::of(language).text("lesson.step_continued", {{"step", "12"}}) + ":";
    const std::string text = "\n" + lesson("transformer", language);
    const size_t first = text.find("\n" + step);
    ASSERT_NE(first, std::string::npos) << language;
    EXPECT_EQ(text.find("\n" + step, first + 1), std::string::npos) << language;
    EXPECT_NE(text.find("\n" + again, first), std::string::npos) << language;
  }
  const std::string walk =
      explained({.target = kContinuation, .steps = {Step::learning}, .backward = true});
  EXPECT_NE(walk.find("Step 14 of 14: "), std::string::npos) << walk;
  EXPECT_NE(walk.find("Step 14 of 14, continued: "), std::string::npos) << walk;
}

TEST_F(Screens, say_after_which_token_words_are_likely) {
  EXPECT_NE(lesson("transformer", "en").find("\nAfter <start>:\n\n  Word"), std::string::npos);
  EXPECT_NE(explained({.language = "tr", .steps = {Step::prediction}})
                .find("\n<start> belirtecinden sonra:\n"),
            std::string::npos);
  models::Gpt gpt(models::small_gpt());
  models::fill(gpt, 3);
  explain::Input input;
  input.batch.ids = models::random_ids({1, 3}, gpt.vocab_size(), 4);
  input.tokens = {"you", "win", "or"};
  input.vocabulary.assign(static_cast<size_t>(gpt.vocab_size()), "word");
  const explain::Trace trace = explain::trace_model(threads_, gpt, input);
  const ShownStep step =
      walk_step({.catalogue = Catalogue::of("en"), .trace = trace}, Step::prediction);
  EXPECT_EQ(step.paragraphs.back(), "After \"or\":");
}

TEST_F(Screens, name_only_what_is_left_out) {
  const auto told = [](const LeftOut& left) { return left_out_text(Catalogue::of("en"), left); };
  EXPECT_EQ(told({0, 3, 504, 512}), "504 of 512 columns left out.");
  EXPECT_EQ(told({84, 100, 0, 4}), "84 of 100 rows left out.");
  EXPECT_EQ(told({84, 100, 504, 512}), "84 of 100 rows and 504 of 512 columns left out.");
  for (const std::string_view language : languages()) {
    const std::vector<Placeholder> numbers = {
        {"rows", "0"}, {"all_rows", "3"}, {"columns", "504"}, {"all_columns", "512"}};
    const std::string text = lesson("steps", language);
    const Catalogue& catalogue = Catalogue::of(language);
    EXPECT_EQ(text.find(catalogue.text("message.left_out", numbers)), std::string::npos) << text;
    EXPECT_NE(text.find(catalogue.text("message.left_out.columns", numbers)), std::string::npos);
  }
}

TEST_F(Screens, tell_a_quotient_by_what_is_divided) {
  const auto sentence = [](std::string_view language, const std::string& kind) {
    return Catalogue::of(language).text("cell.combination.quotient" + kind);
  };
  const auto unwrapped = [](std::string text) {
    std::ranges::replace(text, '\n', ' ');
    return text;
  };
  for (const std::string_view language : languages()) {
    const std::string weight =
        unwrapped(cell(std::string(language), "encoder.0.self.head.0.weights[1,2]"));
    explain::expect_has(weight, sentence(language, ".exponential"));
    EXPECT_EQ(weight.find(sentence(language, "")), std::string::npos) << weight;
    explain::expect_has(unwrapped(cell(std::string(language), "probabilities[0,3]")),
                        sentence(language, ".exponential"));
    explain::expect_has(unwrapped(cell(std::string(language), "encoder.0.norm_1.normalized[1,1]")),
                        sentence(language, ""));
  }
}

TEST_F(Screens, name_the_words_that_training_brought_closest) {
  LessonOptions options{.catalogue = Catalogue::of("en"), .threads = threads_};
  for (const Lesson& one : lessons()) {
    if (one.name != "transformer") continue;
    double before = 0, after = 0, other_before = 0, other_after = 0;
    for (const ShownStep& step : one.steps(options)) {
      for (const ShownNumber& number : step.numbers) {
        if (number.name == "closest_before") before = number.value;
        if (number.name == "closest_after") after = number.value;
        if (number.name == "cosine_before") other_before = number.value;
        if (number.name == "cosine_after") other_after = number.value;
      }
    }
    EXPECT_GT(after - before, 0.1);
    EXPECT_GE(after - before, other_after - other_before);
  }
}

}  // namespace
}  // namespace headlight::narrate
