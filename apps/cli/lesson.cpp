// `headlight lesson`: one of the five tutorials, step by step.
#include "apps/cli/program/program.h"
#include "apps/cli/program/terminal.h"
#include "headlight/narrate/narrate.h"

namespace headlight::cli {
namespace {

using base::Error;
using base::ErrorKind;
using narrate::Catalogue;
using narrate::Lesson;
using narrate::ShownStep;

constexpr std::string_view kLessonExamples =
    R"(  headlight lesson steps
      self-attention on three inputs, with numbers that can be computed by hand (Turkish)
  headlight lesson nanogpt --lang en
      the eight steps of nanoGPT's attention, and whether one fused layer is faster than three
  headlight lesson from-scratch --step 5
      one step: why scores are divided by the root of the width
  headlight lesson d2l --json
      all numbers as JSON

The lessons: nanogpt (Azerbaijani), steps, d2l and transformer (Turkish), from-scratch (Korean); --lang for another language.

--json:
    {"lesson":"","language":"","title":"","intro":"",
     "steps":[{"step":1,"title":"","text":[],"numbers":{},
       "arrays":[{"name":"","title":"","shape":[],"values":[]}]}]}
Arrays of more than 100000 numbers have a shape and no values.
)";

constexpr Option kLessonOptions[] = {{"step", "N", "show this step alone"}};

const Lesson& lesson_called(const std::string& name) {
  std::vector<std::string_view> names;
  std::string all;
  for (const Lesson& lesson : narrate::lessons()) {
    if (lesson.name == name) return lesson;
    names.push_back(lesson.name);
    all += (all.empty() ? "" : ", ") + lesson.name;
  }
  throw Error(ErrorKind::usage, "lesson", io::in_quotes(name),
              "there are " + all + base::nearest_hint(name, names));
}

void run_lesson(Session& session) {
  const Lesson& lesson = lesson_called(session.arguments.text("lesson").value());
  const auto wanted = session.arguments.integer("step", {1, 99});
  const Catalogue& catalogue =
      Catalogue::of(session.arguments.text("lang").value_or(lesson.language));
  base::ThreadPool threads(session.threads);
  narrate::LessonOptions options{.catalogue = catalogue, .threads = threads};
  if (session.arguments.has("seed")) options.seed = session.seed;
  std::vector<ShownStep> steps = lesson.steps(options);
  if (wanted) {
    const auto last = steps.back().number;
    std::erase_if(steps, [&](const ShownStep& step) { return step.number != *wanted; });
    if (steps.empty()) {
      throw Error(ErrorKind::usage, session.arguments.source("step"), std::to_string(*wanted),
                  "the lesson " + lesson.name + " has the steps 1 to " + std::to_string(last));
    }
  }
  if (session.json) {
    session.output.write(io::json_text(narrate::lesson_json(catalogue, lesson, steps)) + "\n");
  } else {
    session.output.write(
        narrate::lesson_text(style_of_output(), catalogue, lesson, steps, !wanted));
  }
}

}  // namespace

const Command kLesson = {
    "lesson",        "follow one of five tutorials on attention, with their numbers",
    kLessonExamples, kLessonOptions,
    run_lesson,      {.name = "LESSON"}};

}  // namespace headlight::cli
