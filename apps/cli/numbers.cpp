// Ranges and their sentences, over io's numbers.
#include "apps/cli/numbers.h"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "apps/cli/words.h"
#include "headlight/base/base.h"
#include "headlight/io/io.h"

namespace headlight::cli {
namespace {

template <class T>
T number_of(std::string_view option, std::string_view text, Range<T> range, const char* kind) {
  const std::optional<T> number = io::parse_number<T>(text);
  // The comparisons are false for nan.
  if (number && *number >= range.lowest && *number <= range.highest) return *number;
  throw base::Error(base::ErrorKind::usage, option, io::in_quotes(text),
                    std::string("must be a ") + kind + " from " + io::number_text(range.lowest) +
                        " to " + io::number_text(range.highest));
}

}  // namespace

int64_t integer_of(std::string_view option, std::string_view text, Range<int64_t> range) {
  return number_of(option, text, range, "whole number");
}

double real_of(std::string_view option, std::string_view text, Range<double> range) {
  return number_of(option, text, range, "number");
}

std::vector<int64_t> integers_of(std::string_view option, std::string_view text,
                                 Range<int64_t> range) {
  std::vector<int64_t> numbers;
  for (const std::string& number : split_words(text, ',')) {
    numbers.push_back(integer_of(option, number, range));
  }
  return numbers;
}

std::string fixed_text(double number, int digits) {
  std::array<char, 400> buffer;  // the largest double has 309 digits before the point
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number,
                                    std::chars_format::fixed, digits);
  return std::string(buffer.data(), result.ptr);
}

}  // namespace headlight::cli
