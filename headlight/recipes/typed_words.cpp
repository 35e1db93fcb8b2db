// Ranges and their sentences, over io's numbers; letters and pieces.
#include "headlight/recipes/typed_words.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <type_traits>

#include "headlight/base/base.h"
#include "headlight/io/io.h"

namespace headlight::recipes {
namespace {

// Beyond this, either end is there for the arithmetic's sake and no help to a reader.
constexpr double kBeyondCounting = 1e12;

template <class T>
bool is_open(T end) {
  return std::abs(static_cast<double>(end)) >= kBeyondCounting;
}

// Digits that may have a sign before them, as many as there may be.
bool is_whole(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// What is meant is a number of this kind, but one beyond an end that is usually left out.
template <class T>
bool is_too_far(std::string_view text, std::optional<T> number, Range<T> range) {
  if (!number && !is_whole(text)) return false;
  const bool is_low = number ? *number < range.lowest : text.starts_with('-');
  const bool is_high = number ? *number > range.highest : !text.starts_with('-');
  return (is_low && is_open(range.lowest)) || (is_high && is_open(range.highest));
}

template <class T>
std::string range_text(Range<T> range, bool says_all) {
  const bool has_low = says_all || !is_open(range.lowest);
  const bool has_high = says_all || !is_open(range.highest);
  if (has_low && has_high) {
    return " from " + readable_number(range.lowest) + " to " + readable_number(range.highest);
  }
  if (has_low) return ", at least " + readable_number(range.lowest);
  return has_high ? ", at most " + readable_number(range.highest) : "";
}

// The digits of "1,000", "1.000" and "1_000_000", without what groups them; empty where it is none.
std::string ungrouped(std::string_view text) {
  std::string digits;
  size_t after = 0;  // digits since the last sign
  bool has_signs = false;
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      digits += c;
      ++after;
      continue;
    }
    const bool is_sign = c == ',' || c == '.' || c == '_' || c == '\'' || c == ' ';
    if (!is_sign || after == 0 || after > 3 || (has_signs && after != 3)) return "";
    has_signs = true;
    after = 0;
  }
  return has_signs && after == 3 && !digits.starts_with('0') ? digits : "";
}

// How a number is written here that people write as 0,8 or 1,000 or 1e3; empty where it is none.
std::string written_here(std::string_view text, bool is_whole_wanted) {
  if (const std::string digits = ungrouped(text); !digits.empty()) {
    return is_whole_wanted ? digits : "";  // a fraction, or a thousand
  }
  std::string with_point(text);
  const size_t comma = text.find(',');
  if (comma != text.npos) with_point[comma] = '.';
  const auto number = io::parse_number<double>(with_point);
  if (!number || std::abs(*number) >= kBeyondCounting) return "";
  if (!is_whole_wanted) return io::number_text(*number);
  return comma == text.npos && *number == std::floor(*number) ? fixed_text(*number, 0) : "";
}

template <class T>
bool is_within(std::optional<T> number, Range<T> range) {
  // The comparisons are false for nan.
  return number && *number >= range.lowest && *number <= range.highest;
}

template <class T>
T number_of(std::string_view source, std::string_view text, Range<T> range, const char* kind) {
  const std::optional<T> number = io::parse_number<T>(text);
  if (is_within(number, range)) return *number;
  const std::string here = number ? "" : written_here(text, std::is_integral_v<T>);
  const bool helps = is_within(io::parse_number<T>(here), range);
  throw base::Error(base::ErrorKind::usage, source, io::in_quotes(text),
                    std::string("must be a ") + kind +
                        range_text(range, is_too_far(text, number, range)) +
                        (helps ? "; here it is written " + here : ""));
}

}  // namespace

int64_t integer_of(std::string_view source, std::string_view text, Range<int64_t> range) {
  return number_of(source, text, range, "whole number");
}

double real_of(std::string_view source, std::string_view text, Range<double> range) {
  return number_of(source, text, range, "number");
}

std::vector<int64_t> integers_of(std::string_view source, std::string_view text,
                                 Range<int64_t> range) {
  std::vector<int64_t> numbers;
  for (std::string_view number : split_words(text, ',')) {
    // "1, 2, 3", as lists are written elsewhere; and not "1 2 3", which may be one number.
    while (!numbers.empty() && number.starts_with(' ')) number.remove_prefix(1);
    if (number.find(' ') != number.npos) {
      throw base::Error(base::ErrorKind::usage, source, io::in_quotes(text),
                        "must be whole numbers with commas between them, as 1,2,3");
    }
    numbers.push_back(integer_of(source, number, range));
  }
  return numbers;
}

std::string readable_number(int64_t number) {
  std::string text = std::to_string(number);
  const size_t first = text.starts_with('-') ? 1 : 0;
  if (text.size() - first < 5) return text;  // 1024
  for (size_t at = text.size(); at > first + 3;) text.insert(at -= 3, ",");
  return text;
}

std::string readable_number(double number) {
  const bool is_whole_number = std::abs(number) < kBeyondCounting && number == std::floor(number);
  if (is_whole_number) return readable_number(static_cast<int64_t>(number));
  if (std::abs(number) < kBeyondCounting) return io::number_text(number);
  std::array<char, 40> buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number,
                                    std::chars_format::scientific, 1);
  return std::string(buffer.data(), result.ptr);
}

std::string fixed_text(double number, int digits) {
  std::array<char, 400> buffer;  // the largest double has 309 digits before the point
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number,
                                    std::chars_format::fixed, digits);
  return std::string(buffer.data(), result.ptr);
}

std::string in_small_letters(std::string_view word) {
  std::string small(word);
  for (char& c : small) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return small;
}

std::vector<std::string> split_words(std::string_view text, char separator) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    words.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

}  // namespace headlight::recipes
