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

template <class T>
T number_of(std::string_view source, std::string_view text, Range<T> range, const char* kind) {
  const std::optional<T> number = io::parse_number<T>(text);
  // The comparisons are false for nan.
  if (number && *number >= range.lowest && *number <= range.highest) return *number;
  throw base::Error(base::ErrorKind::usage, source, io::in_quotes(text),
                    std::string("must be a ") + kind + " from " + io::number_text(range.lowest) +
                        " to " + io::number_text(range.highest));
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
