// Escapes for what would move the cursor, break the line or turn its direction.
#include "headlight/text/printable.h"

#include <algorithm>

#include "headlight/io/io.h"
#include "headlight/text/unicode.h"

namespace headlight::text {
namespace {

void append_escape(std::string& text, std::string_view mark, char32_t number, int digits) {
  constexpr char kDigits[] = "0123456789abcdef";
  text.append(mark);
  for (int at = digits - 1; at >= 0; --at) text.push_back(kDigits[number >> 4 * at & 15]);
}

// Controls beyond ASCII, breaks of lines and paragraphs, and what turns the direction of others.
bool takes_part_in_layout(char32_t point) {
  return (point >= 0x80 && point < 0xA0) || (point >= 0x2028 && point <= 0x202E) ||
         (point >= 0x2066 && point <= 0x2069);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t length = io::code_point_length(text, at);
    const auto byte = static_cast<unsigned char>(text[at]);
    const char32_t point = length > 1 ? code_point_at(text, at).value : byte;
    if (length == 0 || point < U' ' || point == U'\x7f') {
      append_escape(result, "\\x", byte, 2);
    } else if (takes_part_in_layout(point)) {
      append_escape(result, "\\u", point, 4);
    } else {
      result.append(text.substr(at, length));
    }
    at += std::max<size_t>(length, 1);
  }
  return result;
}

}  // namespace headlight::text
