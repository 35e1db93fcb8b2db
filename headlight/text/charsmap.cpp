// Walking the trie. A unit has a label in its lowest byte, an offset to its children and, where a
// key ends, a child with label 0 whose value is where the text begins.
#include "headlight/text/charsmap.h"

#include <utf8proc.h>

#include <algorithm>

#include "headlight/io/io.h"
#include "headlight/text/growth.h"
#include "headlight/text/unicode.h"
#include "headlight/text/vocabulary.h"

namespace headlight::text {
namespace {

constexpr uint32_t kIsValue = 1u << 31;
constexpr size_t kLongestText = 256;  // bytes of what is replaced, or put in its place

uint32_t unit_at(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 4; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

bool has_value(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint32_t label_of(uint32_t unit) { return unit & (kIsValue | 0xFF); }
uint32_t offset_of(uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }

// Where the user-perceived character that begins at `at` ends.
size_t end_of_grapheme(std::string_view text, size_t at) {
  CodePoint point = code_point_at(text, at);
  utf8proc_int32_t state = 0;
  while (at + point.length < text.size()) {
    at += point.length;
    const CodePoint next = code_point_at(text, at);
    if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(point.value),
                                         static_cast<utf8proc_int32_t>(next.value), &state)) {
      return at;
    }
    point = next;
  }
  return text.size();
}

}  // namespace

Charsmap::Charsmap(std::string_view bytes, const std::string& name) {
  const auto refuse = [&](const std::string& why) {
    refuse_tokenizer(name, "the table of replacements (precompiled_charsmap) " + why);
  };
  if (bytes.size() < 4) refuse("has no length");
  const size_t length = unit_at(bytes, 0);
  bytes.remove_prefix(4);
  if (length > bytes.size()) refuse("is cut short");
  if (length == 0 || length % 4 != 0) refuse("is not made of units of four bytes");
  for (size_t at = 0; at < length; at += 4) units_.push_back(unit_at(bytes, at));
  texts_ = bytes.substr(length);
  if (texts_.empty() || texts_.back() != '\0') refuse("does not end with a NUL");
  if (io::valid_utf8_length(texts_) != texts_.size()) refuse("holds text that is not UTF-8");
  for (size_t begin = 0; begin < texts_.size();) {
    const size_t end = texts_.find('\0', begin);
    if (end - begin > kLongestText) refuse("holds a text of more than 256 bytes");
    begin = end + 1;
  }
}

std::optional<Charsmap::Match> Charsmap::find(std::string_view text, bool longest) const {
  std::optional<Match> found;
  size_t node = offset_of(units_[0]);
  for (size_t at = 0; at < std::min(text.size(), kLongestText); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    node ^= byte;
    if (byte == 0 || node >= units_.size() || label_of(units_[node]) != byte) break;
    const uint32_t unit = units_[node];
    node ^= offset_of(unit);
    if (!has_value(unit) || node >= units_.size()) continue;
    const size_t begin = units_[node] & ~kIsValue;
    const bool is_start = begin < texts_.size() && (texts_[begin] & 0xC0) != 0x80;
    if (!is_start) continue;
    found = Match{at + 1, std::string_view(texts_).substr(begin, texts_.find('\0', begin) - begin)};
    if (!longest) break;
  }
  // Half a code point is never replaced.
  if (found && found->length < text.size() && (text[found->length] & 0xC0) == 0x80) return {};
  return found;
}

bool Charsmap::append_replaced(std::string& result, std::string_view part) const {
  const std::optional<Match> match = shortest(part);
  if (match) result += match->text;
  return match.has_value();
}

std::string Charsmap::replaced(std::string_view text, size_t longest) const {
  constexpr size_t kShort = 6;
  std::string result;
  result.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const size_t end = end_of_grapheme(text, at);
    const std::string_view grapheme = text.substr(at, end - at);
    at = end;
    check_growth(result, longest);
    if (grapheme.size() < kShort && append_replaced(result, grapheme)) continue;
    for (size_t i = 0; i < grapheme.size();) {
      const std::string_view part = grapheme.substr(i, code_point_at(grapheme, i).length);
      if (!append_replaced(result, part)) result += part;
      i += part.size();
    }
  }
  return result;
}

std::optional<std::string> from_base64(std::string_view text) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.size() % 4 != 0) return std::nullopt;
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 3);
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const size_t value = kLetters.find(c);
    if (value == kLetters.npos) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xFF);
  }
  if (count >= 6) return std::nullopt;
  return bytes;
}

std::string to_base64(std::string_view bytes) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t bits = 0;
    for (size_t i = 0; i < 3; ++i) {
      bits = bits << 8 | (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0);
    }
    for (size_t i = 0; i < 4; ++i) {
      text += at + i <= bytes.size() ? kLetters[bits >> (18 - 6 * i) & 63] : '=';
    }
  }
  return text;
}

}  // namespace headlight::text
