// Numbers to text and back, the same in every locale.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace headlight::io {

// The shortest text that reads back as the same number; "nan", "inf" and "-inf" where it is not
// finite.
std::string number_text(float value);
std::string number_text(double value);
std::string number_text(int64_t value);

// The number that the whole text is; nothing when it is anything else or out of T's range.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  if (problem != std::errc() || stop != end) return std::nullopt;
  return value;
}

// Whether a finite number is none any more once it is rounded to float32.
bool is_beyond_float32(double value);

// The same as a float32, in which the smallest numbers become zero. A number beyond float32's range
// is nothing.
std::optional<float> parse_float32(std::string_view text);

}  // namespace headlight::io
