// `headlight lesson`: one of the five tutorials, step by step.
#include "apps/cli/lesson.h"

#include <algorithm>
#include <array>

#include "apps/cli/program.h"
#include "headlight/nn/nn.h"

namespace headlight::cli {
namespace {

using base::Error;
using base::ErrorKind;
using explain::Catalogue;

constexpr std::string_view kLessonExamples =
    R"(  headlight lesson steps
      self-attention on three inputs, with numbers that can be computed by hand (Turkish)
  headlight lesson nanogpt --lang en
      the eight steps of nanoGPT's attention, and whether one fused layer is faster than three
  headlight lesson from-scratch --step 5
      one step: why scores are divided by the root of the width
  headlight lesson d2l --json
      all numbers as JSON

The lessons: nanogpt (Azerbaijani), steps, d2l and transformer (Turkish), from-scratch (Korean); --lang en|tr|az|ko for another language.
--json: {"lesson":"","language":"","title":"","intro":"","steps":[{"step":1,"title":"","text":[],"numbers":{},"arrays":[{"name":"","title":
"","shape":[],"values":[]}]}]}; arrays of more than 100000 numbers have a shape and no values.
)";

constexpr Option kLessonOptions[] = {{"step", "N", "show this step alone"}};

constexpr int64_t kMostElements = 100'000;

const Lesson& lesson_called(const std::string& name) {
  std::vector<std::string_view> names;
  std::string all;
  for (const Lesson& lesson : lessons()) {
    if (lesson.name == name) return lesson;
    names.push_back(lesson.name);
    all += (all.empty() ? "" : ", ") + lesson.name;
  }
  throw Error(ErrorKind::usage, "lesson", io::in_quotes(name),
              "there are " + all + "; the nearest is " + std::string(base::nearest(name, names)));
}

void print_text(Session& session, const Catalogue& catalogue, const Lesson& lesson,
                const std::vector<ShownStep>& steps, bool with_intro) {
  const Terminal terminal = terminal_of_output();
  const std::string key = "lesson." + lesson.name;
  if (with_intro) {
    session.output.write(
        bold(terminal, catalogue.text("lesson.of", {{"title", catalogue.text(key + ".title")}})) +
        "\n\n" + wrapped(catalogue.text(key + ".intro"), terminal.width) + "\n");
  }
  for (const ShownStep& step : steps) {
    const std::string heading =
        catalogue.text("lesson.step", {{"step", std::to_string(step.number)}}) + ": " + step.title;
    session.output.write(step_text(terminal, catalogue, heading, step));
  }
}

void print_json(Session& session, const Catalogue& catalogue, const Lesson& lesson,
                const std::vector<ShownStep>& steps) {
  const std::string key = "lesson." + lesson.name;
  const io::Json document = io::Json::Object{{"lesson", lesson.name},
                                             {"language", catalogue.language()},
                                             {"title", catalogue.text(key + ".title")},
                                             {"intro", catalogue.text(key + ".intro")},
                                             {"steps", steps_json(steps, kMostElements)}};
  session.output.write(io::json_text(document) + "\n");
}

void run_lesson(Session& session) {
  const Lesson& lesson = lesson_called(session.arguments.text("lesson").value());
  const auto wanted = session.arguments.integer("step", {1, 99});
  const Catalogue& catalogue =
      Catalogue::of(session.arguments.text("lang").value_or(lesson.language));
  base::ThreadPool threads(session.threads);
  LessonRoom room{.catalogue = catalogue, .threads = threads};
  if (session.arguments.has("seed")) room.seed = session.seed;
  std::vector<ShownStep> steps = lesson.steps(room);
  if (wanted) {
    const auto last = steps.back().number;
    std::erase_if(steps, [&](const ShownStep& step) { return step.number != *wanted; });
    if (steps.empty()) {
      throw Error(ErrorKind::usage, session.arguments.source("step"), std::to_string(*wanted),
                  "the lesson " + lesson.name + " has the steps 1 to " + std::to_string(last));
    }
  }
  if (session.json) {
    print_json(session, catalogue, lesson, steps);
  } else {
    print_text(session, catalogue, lesson, steps, !wanted);
  }
}

}  // namespace

const std::vector<Lesson>& lessons() {
  static const std::vector<Lesson> kLessons = {{"nanogpt", "az", nanogpt_lesson},
                                               {"steps", "tr", steps_lesson},
                                               {"d2l", "tr", d2l_lesson},
                                               {"transformer", "tr", transformer_lesson},
                                               {"from-scratch", "ko", from_scratch_lesson}};
  return kLessons;
}

bool Sight::wants(std::string_view place) {
  const bool is_large = place.ends_with("weighted_values") && !with_weighted_values_;
  return !is_large && place.find("head.") == std::string_view::npos;
}

void Sight::see(std::string_view place, const tensor::Tensor& values) {
  seen_[std::string(place)] = values.contiguous();
}

ShownStep lesson_step(const LessonRoom& room, const std::string& lesson, int number,
                      const std::vector<explain::Placeholder>& values) {
  const std::string key = "lesson." + lesson + "." + std::to_string(number);
  return {.number = number,
          .title = room.catalogue.text(key + ".title"),
          .paragraphs = {room.catalogue.text(key + ".text", values)}};
}

ShownArray lesson_array(const LessonRoom& room, const std::string& name, const std::string& key,
                        const tensor::Tensor& numbers) {
  return {.name = name, .title = room.catalogue.text("tensor." + key), .numbers = numbers};
}

tensor::Tensor drawn_numbers(const tensor::Shape& shape, uint64_t seed, const std::string& name,
                             float deviation) {
  const nn::Parameters one = {std::make_shared<nn::Parameter>(name, shape)};
  nn::draw_normal(one, seed, deviation);
  return one.front()->value().data();
}

tensor::Tensor ones_of(const tensor::Shape& shape) {
  return tensor::Tensor::of(shape, std::vector<float>(static_cast<size_t>(shape.elements()), 1.0F));
}

autograd::Value leaf(const tensor::Shape& shape, const std::vector<float>& numbers) {
  return autograd::Value::leaf(tensor::Tensor::of(shape, numbers));
}

const Command kLesson = {
    "lesson",        "follow one of five tutorials on attention, with their numbers",
    kLessonExamples, kLessonOptions,
    run_lesson,      {.name = "LESSON"}};

}  // namespace headlight::cli
