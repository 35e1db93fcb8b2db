// Shortest texts of numbers.
#include "headlight/io/numbers.h"

#include <array>

namespace headlight::io {
namespace {

template <class T>
std::string shortest(T value) {
  std::array<char, 32> buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return std::string(buffer.data(), result.ptr);
}

}  // namespace

std::string number_text(float value) { return shortest(value); }
std::string number_text(double value) { return shortest(value); }
std::string number_text(int64_t value) { return shortest(value); }

std::optional<float> parse_float32(std::string_view text) {
  // Directly where possible: by way of float64 it would be rounded twice.
  if (const auto value = parse_number<float>(text)) return value;
  const auto value = parse_number<double>(text);
  return value ? std::optional<float>(static_cast<float>(*value)) : std::nullopt;
}

}  // namespace headlight::io
