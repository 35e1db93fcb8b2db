// Newer tables, less what older ones did not have. Listed are whole stretches without a code point
// of the older version, where newer ones have marks, punctuation, formats or decompositions: also
// what a still newer utf8proc knows in them is left out.
#include "headlight/text/hugging_face_unicode.h"

#include <algorithm>
#include <iterator>

namespace headlight::text::hugging_face {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

constexpr Range kAfterUnicode9[] = {
    {0x061D, 0x061D},   {0x07FB, 0x07FF},   {0x085F, 0x089F},   {0x08BE, 0x08D3},
    {0x09FC, 0x0A00},   {0x0A76, 0x0A80},   {0x0AFA, 0x0B00},   {0x0B4E, 0x0B55},
    {0x0C04, 0x0C04},   {0x0C3A, 0x0C3C},   {0x0C70, 0x0C77},   {0x0C84, 0x0C84},
    {0x0CF3, 0x0D00},   {0x0D3B, 0x0D3C},   {0x0D80, 0x0D81},   {0x0EBA, 0x0EBA},
    {0x0ECE, 0x0ECF},   {0x1715, 0x171F},   {0x180F, 0x180F},   {0x1ABF, 0x1AFF},
    {0x1B4C, 0x1B4F},   {0x1B7D, 0x1B7F},   {0x1CF7, 0x1CF7},   {0x1DF6, 0x1DFA},
    {0x2E45, 0x2E7F},   {0x32FF, 0x32FF},   {0xA7B8, 0xA7F6},   {0xA82C, 0xA82F},
    {0xA8FE, 0xA8FF},   {0xAB66, 0xAB6F},   {0x10570, 0x105FF}, {0x10768, 0x107FF},
    {0x10D00, 0x10E5F}, {0x10E7F, 0x10FFF}, {0x11070, 0x1107E}, {0x110C2, 0x110CF},
    {0x11144, 0x1114F}, {0x111CE, 0x111CF}, {0x1123F, 0x1127F}, {0x1133A, 0x1133B},
    {0x11375, 0x113FF}, {0x1145A, 0x1145A}, {0x1145E, 0x1147F}, {0x116B8, 0x116BF},
    {0x11740, 0x1189F}, {0x11900, 0x11ABF}, {0x11AF9, 0x11BFF}, {0x11CB7, 0x11FFF},
    {0x12544, 0x12FFF}, {0x1342F, 0x143FF}, {0x14647, 0x167FF}, {0x16B90, 0x16EFF},
    {0x16F45, 0x16F4F}, {0x16F7F, 0x16F8E}, {0x16FE1, 0x16FFF}, {0x1BCA4, 0x1CFFF},
    {0x1E02B, 0x1E7FF}, {0x1F16C, 0x1F16F}, {0x1F9C1, 0x1FFFD},
};

// What Unicode 9 itself has added lies in these.
constexpr Range kAfterUnicode8[] = {
    {0x08B5, 0x08E2},   {0x1DF6, 0x1DFB},   {0x2E43, 0x2E7F},   {0xA8C5, 0xA8CD},
    {0x1123E, 0x1127F}, {0x11375, 0x1147F}, {0x1165A, 0x1167F}, {0x11AF9, 0x11FFF},
    {0x1DAB0, 0x1E7FF}, {0x1E8D7, 0x1EDFF},
};

template <size_t kCount>
bool is_in(const Range (&ranges)[kCount], char32_t c) {
  if (c < ranges[0].first) return false;  // most characters of most texts
  const Range* range = std::ranges::lower_bound(ranges, c, {}, &Range::last);
  return range != std::end(ranges) && c >= range->first;
}

bool is_after_unicode_9(char32_t c) { return is_in(kAfterUnicode9, c); }
bool is_after_unicode_8(char32_t c) { return is_in(kAfterUnicode8, c) || is_after_unicode_9(c); }

// SHARADA SANDHI MARK was punctuation at first.
constexpr char32_t kSandhiMark = 0x111C9;

}  // namespace

// A code point that the tables do not have decomposes into nothing, joins nothing and stands
// between marks as a letter does: what is before it and behind it are texts of their own.
std::string normalized(std::string_view text, NormalForm form) {
  check_utf8(text);
  std::string result;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    const size_t end = at + point.length;
    if (is_after_unicode_9(point.value)) {
      result += text::normalized(text.substr(begin, at - begin), form);
      result += text.substr(at, point.length);
      begin = end;
    }
    at = end;
  }
  return result += text::normalized(text.substr(begin), form);
}

bool is_combining_mark(char32_t c) {
  if (c == 0x1CF2 || c == 0x1CF3) return true;  // signs of Vedic, which are letters now
  return is_mark(c) && c != kSandhiMark && !is_after_unicode_9(c);
}

bool is_nonspacing_mark(char32_t c) {
  if (c == 0x1734) return true;  // HANUNOO SIGN PAMUDPOD, which takes space now
  // Two letters of Mongolian and a vowel of Javanese became nonspacing marks.
  if (c == 0x1885 || c == 0x1886 || c == 0xA9BD || c == kSandhiMark) return false;
  return text::is_nonspacing_mark(c) && !is_after_unicode_8(c);
}

bool is_punctuation(char32_t c) {
  if (c == 0x166D || c == kSandhiMark)
    return true;  // the first, of Canadian letters, is a symbol now
  return text::is_punctuation(c) && !is_after_unicode_8(c);
}

bool is_control_or_private(char32_t c) {
  return text::is_control_or_private(c) && !is_after_unicode_8(c);
}

}  // namespace headlight::text::hugging_face
