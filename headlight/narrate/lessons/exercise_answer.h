// A learner's answer: the number that was typed, and what is right or wrong with it.
#pragma once

#include <string_view>

#include "headlight/narrate/lessons/exercises.h"

namespace headlight::narrate {

inline constexpr size_t kLongestAnswer = 100;  // bytes

enum class AnswerKind {
  nothing,   // blanks alone
  question,  // "?"
  number,
  no_number,  // letters, two decimal signs, bytes that are no text, ...
  too_large,  // infinity, and what is as good as that
  too_long,
};
struct TypedAnswer {
  AnswerKind kind = AnswerKind::nothing;
  double number = 0;
};
// "0.53", "0,53", ".5", "−2", "+1.5e-3", "1/3"; blanks around it do not matter. Any bytes may come.
TypedAnswer read_answer(std::string_view line);

enum class Verdict { right, mistake, rounding, unknown };
struct Judgement {
  Verdict verdict = Verdict::unknown;
  const explain::Mistake* mistake = nullptr;  // of the exercise, where that is the verdict
};
// The mistake whose number is nearest, within the same tolerance as the right number has.
Judgement judge(const Exercise& exercise, double number);

}  // namespace headlight::narrate
