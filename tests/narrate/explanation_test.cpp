// One explanation as text, as JSON and as a page, without a command line.
#include "headlight/narrate/explanation.h"

#include <cmath>

#include "tests/base/temporary_folder.h"
#include "tests/narrate/support.h"

namespace headlight::narrate {
namespace {

using io::Json;

constexpr const char* kText = "When you play the game of thrones";

class ExplanationTest : public NarrateTest {
 protected:
  Explanation explained(const ExplainRequest& request) {
    return Explanation(threads_, base::real_files(), request);
  }
  Json json(ExplainRequest request) {
    request.format = ExplainFormat::json;
    return io::parse_json(written(explained(request)), "explanation");
  }
  Json page_data(ExplainRequest request) {
    request.format = ExplainFormat::html;
    const std::string page = written(explained(request));
    constexpr std::string_view kBegin = "id=\"data\">";
    const size_t begin = page.find(kBegin) + kBegin.size();
    return io::parse_json(page.substr(begin, page.find("</script>", begin) - begin), "page");
  }
};

TEST_F(ExplanationTest, tells_the_steps_asked_for_in_the_language_asked_for) {
  const std::string text =
      written(explained({.text = kText, .language = "tr", .steps = {Step::positions, Step::mask}}));
  EXPECT_NE(text.find("Adım 5 / 14"), std::string::npos) << text;
  EXPECT_NE(text.find("Adım 12 / 14"), std::string::npos);
  EXPECT_EQ(text.find("Adım 6 / 14"), std::string::npos);
  EXPECT_EQ(text.find("\033["), std::string::npos);
}

TEST_F(ExplanationTest, is_as_wide_and_as_coloured_as_its_style) {
  const ExplainRequest plain{.text = kText, .steps = {Step::attention}};
  ExplainRequest narrow = plain;
  narrow.style = {.width = 50, .colors = true};
  const std::string text = written(explained(narrow));
  EXPECT_NE(text.find("\033["), std::string::npos);
  EXPECT_NE(text, written(explained(plain)));
}

TEST_F(ExplanationTest, numbers_the_steps_of_tensors_and_variants_in_json) {
  const Json document = json({.text = kText});
  const Json::Array& tensors = *document.find("trace")->find("tensors")->array();
  for (const Json& tensor : tensors) {
    EXPECT_EQ((*tensor.object())[1].first, "step");
    if (*tensor.find("name")->text() == "encoder.0.self.weights") {
      EXPECT_EQ(tensor.find("step")->integer(), number_of(Step::attention));
    }
    EXPECT_EQ(tensor.find("also_step"), nullptr);
  }
  for (const Json& parameter : *document.find("trace")->find("parameters")->array()) {
    EXPECT_EQ(parameter.find("step")->integer(), 0);
  }
  const Json& variant = document.find("variants")->array()->front();
  EXPECT_EQ((*variant.object())[2].first, "step");
  EXPECT_EQ(document.find("steps")->array()->size(), static_cast<size_t>(kStepCount));
}

TEST_F(ExplanationTest, gives_the_page_its_steps_as_data) {
  const Json data = page_data({.text = kText});
  const Json::Array& steps = *data.find("steps")->array();
  ASSERT_EQ(steps.size(), static_cast<size_t>(kStepCount));
  EXPECT_EQ(*steps[6].find("name")->text(), "attention");
  EXPECT_EQ(steps[6].find("number")->integer(), 7);
  size_t again = 0;
  const Json& run = data.find("runs")->array()->back();
  for (const Json& tensor : *run.find("tensors")->array()) {
    if (tensor.find("also_step") == nullptr) continue;
    EXPECT_EQ(tensor.find("also_step")->integer(), number_of(Step::mask));
    ++again;
  }
  EXPECT_EQ(again, 5U);
  EXPECT_EQ(run.find("heads")->array()->size(), 6U);
}

TEST_F(ExplanationTest, says_on_the_page_what_is_passed_on_unchanged) {
  const Json data = page_data({.text = kText});
  const Json& run = data.find("runs")->array()->back();
  size_t passed = 0;
  for (const Json& tensor : *run.find("tensors")->array()) {
    const std::string& name = *tensor.find("name")->text();
    const bool has_numbers = run.find("values")->find(name) != nullptr;
    const Json* same = tensor.find("same_as");
    EXPECT_EQ(same == nullptr, has_numbers) << name;
    if (name == "encoder.0.residual_in") {
      ASSERT_NE(same, nullptr);
      EXPECT_EQ(*same->text(), "encoder.sum");
    }
    passed += same != nullptr ? 1 : 0;
  }
  EXPECT_GT(passed, 3U);
}

TEST_F(ExplanationTest, shows_on_the_page_how_a_weight_with_a_gradient_changes) {
  const Json data = page_data({.text = kText});
  const Json& walk = *data.find("runs")->array()->back().find("backward");
  EXPECT_EQ(walk.find("weight")->text()->find("encoder.layers.0.self_attn."), 0U);
  EXPECT_GT(std::abs(*walk.find("gradient")->number()), 1e-6);
  // Without a word that is known to be right there is nothing to learn.
  EXPECT_TRUE(
      page_data({.text = "you play"}).find("runs")->array()->back().find("backward")->is_null());
  EXPECT_EQ(json({.text = kText}).find("backward"), nullptr);
}

TEST_F(ExplanationTest, of_a_cell_opens_the_page_there_with_its_heads) {
  const Json data = page_data({.text = kText, .cell = "encoder.0.self.head.0.scores[3,5]"});
  EXPECT_EQ(*data.find("place")->text(), "cell=encoder.0.self.head.0.scores[3,5]");
  EXPECT_EQ(data.find("runs")->array()->back().find("heads")->array()->size(), 6U);
}

TEST_F(ExplanationTest, takes_a_model_that_is_already_there) {
  recipes::WorkedModel worked = recipes::make_worked_model(recipes::default_sentences());
  const ExplainRequest request{.text = kText, .format = ExplainFormat::json};
  const Explanation explanation(
      threads_, base::real_files(), request,
      make_subject(request, "mine", std::move(worked.model), std::move(worked.tokenizer)));
  const Json document = io::parse_json(written(explanation), "explanation");
  EXPECT_EQ(*document.find("model")->text(), "mine");
  EXPECT_NE(document.find("says")->text(), nullptr);
}

TEST_F(ExplanationTest, writes_tensors_with_the_steps_in_the_metadata) {
  const test::TemporaryFolder folder;
  explained({.text = kText, .format = ExplainFormat::safetensors, .steps = {Step::positions}})
      .write_tensors(folder / "trace.safetensors");
  const io::Safetensors file =
      io::open_safetensors(base::real_files(), folder / "trace.safetensors");
  EXPECT_EQ(file.entries().size(), 2U);  // and what becomes of them in a variant
  const Json trace = io::parse_json(file.metadata().at("trace"), "trace");
  EXPECT_EQ(trace.find("tensors")->array()->front().find("step")->integer(), 3);
}

TEST_F(ExplanationTest, refuses_what_the_model_does_not_have) {
  const auto error = [&](const ExplainRequest& request) {
    return explain::error_of([&] { explained(request); });
  };
  explain::expect_has(error({.text = "you fly"}), "\"fly\"");
  explain::expect_has(error({.text = kText, .names = {"encoder.0.self.wieghts"}}), "weights");
  explain::expect_has(error({.text = kText, .language = "xx"}), "is no language");
}

TEST_F(NarrateTest, the_first_minute_ends_with_the_right_words_and_a_page) {
  std::string told;
  FirstMinute minute(threads_, {.seed = 3}, [&](std::string_view text) { told += text; });
  minute.run();
  minute.tell_page("/some/walk.html", "./run");
  EXPECT_NE(told.find("After training it continues with: you win or you die"), std::string::npos)
      << told;
  EXPECT_NE(told.find("as one page: /some/walk.html\n"), std::string::npos);
  for (const char* command : {"  ./run lesson\n", "  ./run explain --help\n", "  ./run --help\n"}) {
    EXPECT_NE(told.find(command), std::string::npos) << told;
  }
  std::string page;
  TextOutput output(page);
  minute.write_page(output);
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
}

TEST_F(NarrateTest, the_first_picture_of_the_first_minute_is_of_a_head_that_tells_words_apart) {
  FirstMinute minute(threads_, {}, [](std::string_view) {});
  minute.run();
  std::string page;
  TextOutput output(page);
  minute.write_page(output);
  const size_t begin = page.find("id=\"data\">") + std::string_view("id=\"data\">").size();
  const Json data =
      io::parse_json(page.substr(begin, page.find("</script>", begin) - begin), "page");
  double most = 0;
  for (const Json& head : *data.find("runs")->array()->back().find("heads")->array()) {
    if (*head.find("role")->text() == "uniform") continue;
    most = std::max(most, *head.find("selectivity")->number());
  }
  EXPECT_GT(most, 1);  // at least three words of six are told apart
}

TEST_F(NarrateTest, the_first_minute_ends_so_from_any_seed) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    std::string told;
    FirstMinute minute(threads_, {.seed = seed}, [&](std::string_view text) { told += text; });
    minute.run();
    EXPECT_NE(told.find("After training it continues with: you win or you die"), std::string::npos)
        << seed;
  }
}

TEST_F(NarrateTest, lessons_are_told_in_any_language_with_the_engines_numbers) {
  for (const Lesson& lesson : lessons()) {
    if (lesson.name == "nanogpt" || lesson.name == "from-scratch") continue;  // large
    for (const std::string_view language : languages()) {
      LessonOptions options{.catalogue = Catalogue::of(language), .threads = threads_};
      const std::vector<ShownStep> steps = lesson.steps(options);
      const Json document = lesson_json(options.catalogue, lesson, steps);
      EXPECT_EQ(*document.find("language")->text(), language);
      EXPECT_FALSE(lesson_text({}, options.catalogue, lesson, steps).empty());
      EXPECT_GE(steps.size(), 6U) << lesson.name;
    }
  }
}

}  // namespace
}  // namespace headlight::narrate
