// GET /api/lessons, POST /api/check: lessons as documents, and answers to exercises.
#include <algorithm>

#include "apps/server/studio/check_order.h"
#include "apps/server/studio/lessons.h"
#include "apps/server/studio/studio.h"

namespace headlight::server::studio {
namespace {

using io::Json;

constexpr size_t kMostLessons = 10;

std::string_view word_for(narrate::AnswerKind kind) {
  constexpr std::string_view kNames[] = {"nothing",   "question",  "number",
                                         "no_number", "too_large", "too_long"};
  return kNames[static_cast<size_t>(kind)];
}

std::string_view word_for(narrate::Verdict verdict) {
  constexpr std::string_view kNames[] = {"right", "mistake", "rounding", "unknown"};
  return kNames[static_cast<size_t>(verdict)];
}

void list_lessons(Studio& /*studio*/, const Request& request, const std::shared_ptr<Reply>& reply) {
  QueryFields query(request.query);
  const narrate::Catalogue& catalogue = asked_catalogue(query);
  query.refuse_others();
  reply->send_json(narrate::lesson_list_json(catalogue, "headlight"));
}

void show_lesson(Studio& studio, const Request& request, const std::shared_ptr<Reply>& reply) {
  QueryFields query(request.query);
  const auto seed = static_cast<uint64_t>(query.integer("seed", kAnySeed).value_or(1));
  const narrate::Catalogue& catalogue = asked_catalogue(query);
  query.refuse_others();
  // The document has all languages; the first member says in which one it begins.
  constexpr std::string_view kEnglish = R"({"language":"en")";
  std::string data = studio.lessons().find(request.parameters.at("name"), seed)->data;
  if (data.starts_with(kEnglish)) {
    data.replace(0, kEnglish.size(), R"({"language":")" + std::string(catalogue.language()) + '"');
  }
  reply->send({.body = std::move(data)});
}

Json judged(const narrate::Exercise& exercise, const std::string& answer) {
  const narrate::TypedAnswer typed = narrate::read_answer(answer);
  const bool is_number = typed.kind == narrate::AnswerKind::number;
  Json::Object json = {{"kind", word_for(typed.kind)},
                       {"number", is_number ? Json(typed.number) : Json()},
                       {"verdict", Json()},
                       {"mistake", Json()},
                       {"tolerance", exercise.tolerance}};
  bool is_told = typed.kind == narrate::AnswerKind::question;
  if (is_number) {
    const narrate::Judgement found = narrate::judge(exercise, typed.number);
    json[2].second = word_for(found.verdict);
    is_told = found.verdict == narrate::Verdict::right;
    if (found.mistake != nullptr) {
      json[3].second = Json::Object{{"key", found.mistake->key},
                                    {"term", found.mistake->term},
                                    {"value", found.mistake->value}};
    }
  }
  json.emplace_back("value", is_told ? Json(exercise.answer) : Json());
  return json;
}

narrate::Exercise exercise_at(const explain::Trace& trace, const std::string& cell) {
  narrate::Exercise exercise;
  exercise.cell = explain::parse_cell(trace, cell);
  exercise.answer = explain::explain_cell(trace, exercise.cell).value;
  exercise.tolerance = narrate::answer_tolerance(exercise.answer);
  exercise.mistakes = explain::mistakes_of(trace, exercise.cell, exercise.tolerance);
  return exercise;
}

void check_answer(Studio& studio, const Request& request, const std::shared_ptr<Reply>& reply) {
  const CheckOrder order = read_check_order(request.body);
  if (!order.trace.empty()) {
    const std::shared_ptr<KeptTrace> trace = studio.traces().find(order.trace);
    const std::lock_guard lock(trace->mutex);
    const explain::Trace& run = trace->document->trace(trace->run_at(order.run));
    reply->send_json(
        judged(about("cell", [&] { return exercise_at(run, order.cell); }), order.answer));
    return;
  }
  const auto lesson = studio.lessons().find(order.lesson, order.seed);
  const auto count = std::ssize(lesson->exercises);
  if (order.exercise >= count) {
    refuse_field("exercise", "the lesson has the exercises 0 to " + std::to_string(count - 1) +
                                 ", not " + std::to_string(order.exercise));
  }
  reply->send_json(judged(lesson->exercises[static_cast<size_t>(order.exercise)], order.answer));
}

}  // namespace

std::shared_ptr<const narrate::LessonDocument> LessonStore::find(const std::string& name,
                                                                 uint64_t seed) {
  const auto lesson = std::ranges::find(narrate::lessons(), name, &narrate::Lesson::name);
  if (lesson == narrate::lessons().end()) refuse_unknown("lesson", name, "lesson_not_found");
  // One at a time: who comes second finds it made.
  const std::lock_guard lock(mutex_);
  const auto known = std::ranges::find_if(
      entries_, [&](const Entry& one) { return one.name == name && one.seed == seed; });
  if (known != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, known);
    return entries_.front().document;
  }
  entries_.push_front({name, seed,
                       std::make_shared<const narrate::LessonDocument>(
                           narrate::make_lesson_document(threads_, *lesson, {.seed = seed}))});
  if (entries_.size() > kMostLessons) entries_.pop_back();
  return entries_.front().document;
}

void add_lesson_routes(const StudioRouter& router) {
  router.add("GET", "/api/lessons", list_lessons);
  router.add("GET", "/api/lessons/{name}", show_lesson);
  router.add("POST", "/api/check", check_answer);
}

}  // namespace headlight::server::studio
