// Numbers as people type them, and mistakes by their numbers.
#include "headlight/narrate/lessons/exercise_answer.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <string>

namespace headlight::narrate {
namespace {

constexpr std::string_view kMinusSigns[] = {"−", "–"};  // U+2212, and the dash that looks like it
constexpr double kLargestTyped = 1e12;
constexpr double kRoundingShare = 0.06;  // of the number: a digit or two were dropped too early

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\v\f";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// With ASCII signs and a point; a plus at the beginning says nothing.
std::string in_plain_signs(std::string_view text) {
  std::string plain(text);
  for (const std::string_view sign : kMinusSigns) {
    for (size_t at = plain.find(sign); at != plain.npos; at = plain.find(sign, at + 1)) {
      plain.replace(at, sign.size(), "-");
    }
  }
  for (char& c : plain) {
    if (c == ',') c = '.';
  }
  return plain.starts_with('+') && !plain.starts_with("+-") ? plain.substr(1) : plain;
}

std::optional<double> typed_number(std::string_view text) {
  const size_t first = text.starts_with('-') ? 1 : 0;
  // Words ("inf", "nan") and hexadecimal digits are numbers to others.
  if (text.size() <= first || text.find_first_not_of("0123456789.eE+-") != text.npos) return {};
  if (text[first] != '.' && (text[first] < '0' || text[first] > '9')) return {};
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (end != text.data() + text.size()) return {};
  if (error == std::errc::result_out_of_range) return HUGE_VAL;
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

std::optional<double> fraction_of(const std::string& text) {
  const size_t line = text.find('/');
  if (line == text.npos) return typed_number(text);
  const auto above = typed_number(without_blanks(std::string_view(text).substr(0, line)));
  const auto below = typed_number(without_blanks(std::string_view(text).substr(line + 1)));
  if (!above || !below || *below == 0) return {};
  return *above / *below;
}

// Whether the number was cut or rounded to fewer digits than are needed.
bool is_rounded(double answer, double number) {
  if (std::fabs(number - answer) <= kRoundingShare * std::fabs(answer)) return true;
  for (int digits = 1; digits < kAnswerDigits; ++digits) {
    const double unit = std::pow(10.0, digits);
    if (number != 0 && std::fabs(number - std::round(answer * unit) / unit) < 1e-9) return true;
  }
  return false;
}

}  // namespace

TypedAnswer read_answer(std::string_view line) {
  const std::string_view text = without_blanks(line);
  if (text.empty()) return {AnswerKind::nothing};
  if (text.size() > kLongestAnswer) return {AnswerKind::too_long};
  if (text == "?") return {AnswerKind::question};
  const std::optional<double> number = fraction_of(in_plain_signs(text));
  if (!number || std::isnan(*number)) return {AnswerKind::no_number};
  if (std::fabs(*number) > kLargestTyped) return {AnswerKind::too_large};
  return {AnswerKind::number, *number};
}

Judgement judge(const Exercise& exercise, double number) {
  if (std::fabs(number - exercise.answer) <= exercise.tolerance) return {Verdict::right};
  const explain::Mistake* nearest = nullptr;
  double least = 0;
  for (const explain::Mistake& mistake : exercise.mistakes) {
    const double distance = std::fabs(number - mistake.value);
    if (distance > answer_tolerance(mistake.value)) continue;
    if (nearest != nullptr && distance >= least) continue;
    nearest = &mistake;
    least = distance;
  }
  if (nearest != nullptr) return {Verdict::mistake, nearest};
  return {is_rounded(exercise.answer, number) ? Verdict::rounding : Verdict::unknown};
}

}  // namespace headlight::narrate
