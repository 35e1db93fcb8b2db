// Questions with what is given, and replies that name the mistake.
#include "headlight/narrate/lessons/exercise_session.h"

#include <cmath>

#include "headlight/narrate/lessons/exercise_answer.h"
#include "headlight/narrate/walk.h"

namespace headlight::narrate {
namespace {

// A number as it is given: with as many decimals as it has, up to those that are shown.
std::string given_text(const Catalogue& catalogue, double value) {
  int digits = 0;
  for (double unit = 1; digits < kAnswerDigits; ++digits, unit *= 10) {
    if (!std::isfinite(value) || value * unit == std::round(value * unit)) break;
  }
  return catalogue.number(value, digits);
}

std::string given_line(const Catalogue& catalogue, const GivenNumbers& numbers) {
  std::string text = numbers.name;
  if (!numbers.ingredient.empty()) {
    const std::string word = catalogue.text("cell.ingredient." + numbers.ingredient);
    text = text.empty() ? word : word + " " + text;
  }
  text += " = ";
  // A list whose numbers may have commas in them has semicolons between them.
  for (size_t i = 0; i < numbers.values.size(); ++i) {
    text += (i > 0 ? "; " : "") + given_text(catalogue, numbers.values[i]);
  }
  return text;
}

// How a number may be written, the language's own way first.
std::string examples_text(const Catalogue& catalogue) {
  const bool has_comma = catalogue.text("language.decimal") == ",";
  return std::string(has_comma ? "0,53 · 0.53" : "0.53 · 0,53") + " · −2 · 1/2";
}

}  // namespace

ExerciseSession::ExerciseSession(TextStyle style, const Catalogue& catalogue, const Lesson& lesson,
                                 const std::vector<ShownStep>& steps,
                                 const std::vector<Exercise>& exercises)
    : style_(style), catalogue_(catalogue), lesson_(lesson), steps_(steps), exercises_(exercises) {}

std::string ExerciseSession::line(std::string_view key,
                                  const std::vector<Placeholder>& values) const {
  return wrapped(catalogue_.text(key, values), style_.width);
}

std::string ExerciseSession::introduction() const {
  const std::string title = catalogue_.text("lesson." + lesson_.name + ".title");
  return bold(style_, catalogue_.text("exercise.of_lesson", {{"title", title}})) + "\n\n" +
         line("exercise.intro") +
         line("exercise.tolerance", {{"examples", examples_text(catalogue_)}}) +
         line("exercise.keys") + "\n";
}

std::string ExerciseSession::question() const {
  if (is_over() || is_asked_again_) return "";
  const Exercise& exercise = exercises_[next_];
  const ShownStep& step = steps_[exercise.step];
  const explain::Trace& trace = exercise.run->trace;
  const explain::TracedTensor& tensor = trace.at(exercise.cell.name);
  std::string text =
      wrapped(catalogue_.text("exercise.number", {{"number", std::to_string(next_ + 1)},
                                                  {"count", std::to_string(exercises_.size())}}) +
                  " · " + catalogue_.text("lesson.step", {{"step", std::to_string(step.number)}}) +
                  ": " + step.title,
              style_.width);
  text += wrapped(step.arrays[exercise.array].title, style_.width, "  ");
  const std::string formula = catalogue_.formula(tensor);
  if (!formula.empty()) text += wrapped(formula, style_.width, "    ");
  for (const GivenNumbers& numbers : exercise.given) {
    text += wrapped(given_line(catalogue_, numbers), style_.width, "    ");
  }
  const std::string cell = exercise.run->full_name(explain::cell_text(trace, exercise.cell));
  return text + wrapped(cell + " = ?", style_.width, "  ");
}

void ExerciseSession::go_on() {
  ++next_;
  is_second_try_ = false;
  is_asked_again_ = false;
}

std::string ExerciseSession::reply(std::string_view typed) {
  if (is_over()) return "";
  is_asked_again_ = true;
  const TypedAnswer answer = read_answer(typed);
  switch (answer.kind) {
    case AnswerKind::number:
      return reply_to(answer.number);
    case AnswerKind::question: {
      const std::string text = shown_answer();
      ++shown_;
      go_on();
      return text;
    }
    case AnswerKind::too_large:
      return line("exercise.too_large");
    case AnswerKind::too_long:
      return line("exercise.too_long");
    default:
      return line("exercise.no_number", {{"examples", examples_text(catalogue_)}});
  }
}

std::string ExerciseSession::reply_to(double number) {
  const Exercise& exercise = exercises_[next_];
  const Judgement judgement = judge(exercise, number);
  if (judgement.verdict == Verdict::right) {
    ++(is_second_try_ ? right_later_ : right_at_once_);
    const std::string text =
        line("exercise.right", {{"number", given_text(catalogue_, exercise.answer)}}) + "\n";
    go_on();
    return text;
  }
  is_second_try_ = true;
  std::string text;
  if (judgement.verdict == Verdict::mistake) {
    text = line("exercise.wrong", {{"mistake", mistake_text(catalogue_, *judgement.mistake)}});
  } else {
    text = line(judgement.verdict == Verdict::rounding ? "exercise.rounding" : "exercise.unknown");
  }
  return text + line("exercise.again");
}

std::string ExerciseSession::shown_answer() const {
  const Exercise& exercise = exercises_[next_];
  const Walk walk{.catalogue = catalogue_, .trace = exercise.run->trace};
  ShownStep step = cell_step(walk, explain::explain_cell(walk.trace, exercise.cell));
  step.afterwards.clear();
  return step_text(style_, catalogue_, exercise.run->full_name(step.title), step);
}

std::string ExerciseSession::summary() const {
  const int64_t asked = right_at_once_ + right_later_ + shown_;
  return line("exercise.summary", {{"asked", std::to_string(asked)},
                                   {"count", std::to_string(exercises_.size())},
                                   {"right", std::to_string(right_at_once_)},
                                   {"later", std::to_string(right_later_)},
                                   {"shown", std::to_string(shown_)}});
}

}  // namespace headlight::narrate
