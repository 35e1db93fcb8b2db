// UTF-8 by its table of well-formed sequences (Unicode, table 3-7).
#include "headlight/io/utf8.h"

namespace headlight::io {
namespace {

constexpr size_t kQuotedBytes = 80;

struct Lead {
  size_t length;          // of the sequence, 0 for a byte that starts none
  unsigned char lowest;   // the second byte's range: it excludes overlong forms, surrogates and
  unsigned char highest;  // what lies past U+10FFFF
};

Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte < 0xF0) {
    return {3, static_cast<unsigned char>(byte == 0xE0 ? 0xA0 : 0x80),
            static_cast<unsigned char>(byte == 0xED ? 0x9F : 0xBF)};
  }
  if (byte < 0xF5) {
    return {4, static_cast<unsigned char>(byte == 0xF0 ? 0x90 : 0x80),
            static_cast<unsigned char>(byte == 0xF4 ? 0x8F : 0xBF)};
  }
  return {0, 0, 0};
}

}  // namespace

size_t code_point_length(std::string_view text, size_t at) {
  const Lead lead = lead_of(static_cast<unsigned char>(text[at]));
  if (lead.length <= 1) return lead.length;
  if (lead.length > text.size() - at) return 0;
  const auto second = static_cast<unsigned char>(text[at + 1]);
  if (second < lead.lowest || second > lead.highest) return 0;
  for (size_t i = 2; i < lead.length; ++i) {
    if ((static_cast<unsigned char>(text[at + i]) & 0xC0) != 0x80) return 0;
  }
  return lead.length;
}

size_t valid_utf8_length(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t length = code_point_length(text, at);
    if (length == 0) break;
    at += length;
  }
  return at;
}

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  size_t at = 0;
  while (at < text.size() && at < kQuotedBytes) {
    const size_t length = code_point_length(text, at);
    const auto byte = static_cast<unsigned char>(text[at]);
    const bool is_shown = length > 0 && byte >= 0x20 && byte != 0x7F;
    result += is_shown ? text.substr(at, length) : "?";
    at += length > 0 ? length : 1;
  }
  return result + (at < text.size() ? "…\"" : "\"");
}

}  // namespace headlight::io
