// Shortest texts of numbers.
#include "headlight/io/numbers.h"

#include <array>
#include <cmath>

namespace headlight::io {
namespace {

template <class T>
std::string shortest(T value) {
  std::array<char, 32> buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return std::string(buffer.data(), result.ptr);
}

std::string marked(std::string text) {
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

std::string number_text(float value) { return marked(shortest(value)); }
std::string number_text(double value) { return marked(shortest(value)); }
std::string number_text(int64_t value) { return shortest(value); }

std::optional<float> parse_float32(std::string_view text) {
  // Directly where possible: by way of float64 it would be rounded twice.
  if (const auto value = parse_number<float>(text)) return value;
  const auto value = parse_number<double>(text);
  if (!value || is_beyond_float32(*value)) return std::nullopt;
  return static_cast<float>(*value);
}

bool is_beyond_float32(double value) {
  // What is nearer to 2^128 than to the largest float32 is rounded to infinity.
  return std::isfinite(value) && std::abs(value) >= 0x1.ffffffp127;
}

}  // namespace headlight::io
