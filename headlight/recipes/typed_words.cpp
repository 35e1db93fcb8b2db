// Ranges and their sentences, over io's numbers; letters and pieces.
#include "headlight/recipes/typed_words.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

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

template <class T>
T number_of(std::string_view source, std::string_view text, Range<T> range, const char* kind) {
  const std::optional<T> number = io::parse_number<T>(text);
  // The comparisons are false for nan.
  if (number && *number >= range.lowest && *number <= range.highest) return *number;
  throw base::Error(
      base::ErrorKind::usage, source, io::in_quotes(text),
      std::string("must be a ") + kind + range_text(range, is_too_far(text, number, range)));
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
  for (const std::string& number : split_words(text, ',')) {
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
