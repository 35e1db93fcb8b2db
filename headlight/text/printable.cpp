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

// The length of a sequence that sets colours, which begins at `at`; 0 when there is none.
size_t color_length(std::string_view text, size_t at) {
  if (!text.substr(at).starts_with("\x1b[")) return 0;
  const size_t end = text.find_first_not_of("0123456789;", at + 2);
  return end == std::string_view::npos || text[end] != 'm' ? 0 : end + 1 - at;
}

struct Code {
  char32_t point;  // the byte, where the bytes are no code point
  size_t length;   // 0 then
};

Code code_at(std::string_view text, size_t at) {
  const size_t length = io::code_point_length(text, at);
  return {length > 1 ? code_point_at(text, at).value : static_cast<unsigned char>(text[at]),
          length};
}

bool is_plain(const Code& code) {
  return code.length > 0 && code.point >= U' ' && code.point != U'\x7f' &&
         !takes_part_in_layout(code.point);
}

void append_shown(std::string& result, const Code& code) {
  if (takes_part_in_layout(code.point) && code.length > 0) {
    append_escape(result, "\\u", code.point, 4);
  } else {
    append_escape(result, "\\x", code.point, 2);
  }
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const Code code = code_at(text, at);
    if (is_plain(code)) {
      result.append(text.substr(at, code.length));
    } else {
      append_shown(result, code);
    }
    at += std::max<size_t>(code.length, 1);
  }
  return result;
}

std::string printable_lines(std::string_view text, bool keeps_colors) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const Code code = code_at(text, at);
    const size_t kept = keeps_colors ? color_length(text, at) : 0;
    const size_t length = kept > 0 ? kept : std::max<size_t>(code.length, 1);
    if (kept > 0 || is_plain(code) || code.point == U'\n' || code.point == U'\t') {
      result.append(text.substr(at, length));
    } else if (code.point == U'\x7f') {
      append_escape(result, "\\u", code.point, 4);
    } else {
      append_shown(result, code);
    }
    at += length;
  }
  return result;
}

}  // namespace headlight::text
