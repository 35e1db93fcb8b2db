// The data of a lesson's page: the steps in every language, and the runs that they show.
#include "headlight/narrate/lessons/lesson_page.h"

#include "headlight/narrate/languages.h"
#include "headlight/narrate/lessons/exercises.h"
#include "headlight/narrate/lessons/lesson_page_run.h"
#include "headlight/narrate/lessons/shown_excerpt.h"
#include "headlight/narrate/page_document.h"

namespace headlight::narrate {
namespace {

using io::Json;

Json::Array strings_json(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

template <class T, class One>
Json::Array each_json(const std::vector<T>& items, const One& one) {
  Json::Array list;
  for (const T& item : items) list.emplace_back(one(item));
  return list;
}

// What a step says in one language.
Json step_words(const ShownStep& step) {
  const auto table = [](const ShownTable& one) { return each_json(one.lines, strings_json); };
  return Json::Object{
      {"title", step.title},
      {"paragraphs", strings_json(step.paragraphs)},
      {"tables", each_json(step.tables, table)},
      {"arrays", each_json(step.arrays, [](const ShownArray& one) { return Json(one.title); })},
      {"heads", each_json(step.heads, [](const HeadDrawing& one) { return Json(one.title); })},
      {"afterwards", strings_json(step.afterwards)}};
}

Json words_json(const Catalogue& catalogue, const Lesson& lesson,
                const std::vector<ShownStep>& steps) {
  const std::string key = "lesson." + lesson.name;
  return Json::Object{{"title", catalogue.text(key + ".title")},
                      {"intro", catalogue.text(key + ".intro")},
                      {"steps", each_json(steps, step_words)}};
}

// An array as the page shows it: of which tensor, which part, in which shape.
Json array_json_of(const ShownArray& array, const std::string& tensor) {
  const ShownExcerpt excerpt = excerpt_of(array);
  const auto numbers = [](const std::vector<int64_t>& all) {
    return Json::Array(all.begin(), all.end());
  };
  Json::Array axes;
  for (const explain::Axis axis : array.axes) axes.emplace_back(explain::name_of(axis));
  const auto sizes = array.numbers.shape().sizes();
  return Json::Object{{"name", array.name},
                      {"tensor", tensor},
                      {"begin", tensor == array.tensor ? array.tensor_begin : 0},
                      {"shape", Json::Array(sizes.begin(), sizes.end())},
                      {"axes", std::move(axes)},
                      {"labels", each_json(array.labels, strings_json)},
                      {"outer", numbers(excerpt.outer)},
                      {"shown_outer", numbers(excerpt.shown_outer)},
                      {"rows", excerpt.rows},
                      {"columns", excerpt.columns},
                      {"shown_rows", excerpt.shown_rows},
                      {"shown_columns", excerpt.shown_columns}};
}

// A head's drawing as an array.
ShownArray array_of(const HeadDrawing& head) {
  return {.name = head.title,
          .title = head.title,
          .numbers = head.weights,
          .labels = {head.labels.rows, head.labels.columns},
          .tensor = head.tensor,
          .tensor_begin = head.tensor_begin};
}

Json step_json_of(const ShownStep& step, LessonPageRun& run) {
  Json::Array arrays, heads;
  for (const ShownArray& array : step.arrays) {
    if (!array.numbers.defined()) continue;
    arrays.emplace_back(array_json_of(array, run.show(array)));
  }
  for (const HeadDrawing& head : step.heads) {
    const ShownArray array = array_of(head);
    heads.emplace_back(array_json_of(array, run.show(array)));
  }
  return Json::Object{{"number", step.number},
                      {"arrays", std::move(arrays)},
                      {"heads", std::move(heads)},
                      {"slips", strings_json(step.slips)}};
}

Json exercise_json(const Exercise& exercise) {
  const auto given = [](const GivenNumbers& one) -> Json {
    return Json::Object{{"name", one.name},
                        {"ingredient", one.ingredient},
                        {"values", each_json(one.values, page_number)}};
  };
  const auto mistake = [](const explain::Mistake& one) -> Json {
    return Json::Object{{"key", one.key}, {"value", one.value}, {"term", one.term}};
  };
  const explain::TracedTensor& tensor = exercise.run->trace.at(exercise.cell.name);
  return Json::Object{{"step", exercise.step},
                      {"array", exercise.array},
                      {"place", exercise.place},
                      {"formula", tensor.formula},
                      {"answer", exercise.answer},
                      {"tolerance", exercise.tolerance},
                      {"given", each_json(exercise.given, given)},
                      {"mistakes", each_json(exercise.mistakes, mistake)}};
}

// That shows the same numbers in a terminal.
std::string lesson_command(const Lesson& lesson, const LessonPageOptions& options) {
  const std::string seed =
      options.seed == LessonPageOptions().seed ? "" : " --seed " + std::to_string(options.seed);
  return options.program + " lesson " + lesson.name + seed;
}

// The link at which the page opens.
std::string place_of(const LessonPageOptions& options) {
  std::string place = options.exercise ? "exercise=1" : "";
  if (options.step > 0) {
    place += (place.empty() ? "" : "&") + std::string("at=step-") + std::to_string(options.step);
  }
  return place;
}

}  // namespace

LessonDocument make_lesson_document(base::ThreadPool& threads, const Lesson& lesson,
                                    const LessonPageOptions& options) {
  const auto runs = std::make_shared<LessonRuns>();
  Json::Object words;
  std::vector<ShownStep> steps;
  for (const std::string_view language : languages()) {
    const Catalogue& catalogue = Catalogue::of(language);
    LessonOptions told{.catalogue = catalogue,
                       .threads = threads,
                       .seed = options.seed,
                       .program = options.program,
                       .runs = runs};
    steps = lesson.steps(told);
    words.emplace_back(std::string(language), words_json(catalogue, lesson, steps));
  }
  LessonPageRun run(*runs);
  const auto step = [&](const ShownStep& one) { return step_json_of(one, run); };
  Json::Array shown = each_json(steps, step);
  LessonDocument document{.runs = runs,
                          .exercises = exercises_of(*runs, steps, options.seed),
                          .content = run.content()};
  Json described = Json::Object{{"name", lesson.name},
                                {"words", std::move(words)},
                                {"steps", std::move(shown)},
                                {"runs", run.labels_json()},
                                {"exercises", each_json(document.exercises, exercise_json)}};
  Json data = Json::Object{{"language", options.language},
                           {"version", HEADLIGHT_VERSION},
                           {"vocabulary_size", 0},
                           {"vocabulary", Json::Array()},
                           {"labels", Json::Object()},
                           {"source", ""},
                           {"sentences", Json::Array()},
                           {"asked", Json::Array()},
                           {"losses", Json::Array()},
                           {"steps", Json::Array()},
                           {"command", lesson_command(lesson, options)},
                           {"place", place_of(options)},
                           {"lesson", std::move(described)},
                           {"operations", explain::operations_json(document.content.operations)}};
  document.data = with_members(data, {{"runs", "[" + run.json() + "]"}});
  return document;
}

void write_lesson_page(base::Output& output, base::ThreadPool& threads, const Lesson& lesson,
                       const LessonPageOptions& options) {
  const LessonDocument document = make_lesson_document(threads, lesson, options);
  const std::string texts = io::json_text(page_texts(document.content, PageKind::lesson));
  write_page(output,
             document.data.substr(0, document.data.size() - 1) + ",\"texts\":" + texts + "}");
}

}  // namespace headlight::narrate
