// Unicode's tables are utf8proc's. Its own normalisation is not used: it orders marks by insertion,
// which takes hours for a megabyte of them.
#include "headlight/text/unicode.h"

#include <utf8proc.h>

#include <algorithm>

#include "headlight/base/base.h"
#include "headlight/io/io.h"

namespace headlight::text {
namespace {

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

utf8proc_category_t category_of(char32_t code_point) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code_point));
}

bool is_between(utf8proc_category_t category, utf8proc_category_t first, utf8proc_category_t last) {
  return category >= first && category <= last;
}

using CodePoints = std::vector<utf8proc_int32_t>;

CodePoints decomposed(std::string_view text, int options) {
  constexpr size_t kLongest = 32;  // no code point decomposes into more than 18
  CodePoints result;
  result.reserve(text.size());
  int boundary = 0;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    utf8proc_int32_t parts[kLongest];
    const auto count =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(point.value), parts, kLongest,
                                static_cast<utf8proc_option_t>(options), &boundary);
    result.insert(result.end(), parts, parts + std::clamp<utf8proc_ssize_t>(count, 0, kLongest));
    at += point.length;
  }
  return result;
}

int combining_class(utf8proc_int32_t point) {
  return utf8proc_get_property(point)->combining_class;
}

void order_marks(CodePoints& points) {
  const auto is_starter = [](utf8proc_int32_t point) { return combining_class(point) == 0; };
  for (auto begin = points.begin(); begin != points.end();) {
    begin = std::find_if_not(begin, points.end(), is_starter);
    const auto end = std::find_if(begin, points.end(), is_starter);
    std::stable_sort(begin, end, [](utf8proc_int32_t a, utf8proc_int32_t b) {
      return combining_class(a) < combining_class(b);
    });
    begin = end;
  }
}

// utf8proc takes the vowel U+11A7, which stands before the finals of Hangul, for the place of a
// final that is not there, and loses it behind a syllable. It joins nothing: what is before it and
// what begins with it are composed apart.
CodePoints composed(CodePoints points) {
  constexpr utf8proc_int32_t kBeforeFinals = 0x11A7;
  auto end_of_result = points.begin();
  for (auto begin = points.begin(); begin != points.end();) {
    const auto end = std::find(begin + 1, points.end(), kBeforeFinals);
    const auto length = utf8proc_normalize_utf32(
        &*begin, end - begin, static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
    end_of_result = std::copy_n(begin, std::max<utf8proc_ssize_t>(length, 0), end_of_result);
    begin = end;
  }
  points.erase(end_of_result, points.end());
  return points;
}

std::string utf8_of(const CodePoints& points) {
  std::string text;
  text.reserve(points.size());
  for (const utf8proc_int32_t point : points) append(text, static_cast<char32_t>(point));
  return text;
}

}  // namespace

void check_utf8(std::string_view text) {
  const size_t valid = io::valid_utf8_length(text);
  if (valid == text.size()) return;
  throw base::Error(base::ErrorKind::bad_input, "text", "byte " + std::to_string(valid),
                    "is not UTF-8");
}

CodePoint code_point_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[at + i]));
  };
  const char32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xE0) return {(lead & 0x1F) << 6 | (byte(1) & 0x3F), 2};
  if (lead < 0xF0) return {(lead & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F), 3};
  return {(lead & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F),
          4};
}

void append(std::string& text, char32_t code_point) {
  const auto add = [&](char32_t byte) { text += static_cast<char>(byte); };
  if (code_point < 0x80) {
    add(code_point);
  } else if (code_point < 0x800) {
    add(0xC0 | code_point >> 6);
  } else if (code_point < 0x10000) {
    add(0xE0 | code_point >> 12);
    add(0x80 | (code_point >> 6 & 0x3F));
  } else {
    add(0xF0 | code_point >> 18);
    add(0x80 | (code_point >> 12 & 0x3F));
    add(0x80 | (code_point >> 6 & 0x3F));
  }
  if (code_point >= 0x80) add(0x80 | (code_point & 0x3F));
}

bool is_letter(char32_t code_point) {
  return is_between(category_of(code_point), UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LO);
}

bool is_mark(char32_t code_point) {
  return is_between(category_of(code_point), UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_ME);
}

bool is_nonspacing_mark(char32_t code_point) {
  return category_of(code_point) == UTF8PROC_CATEGORY_MN;
}

bool is_number(char32_t code_point) {
  return is_between(category_of(code_point), UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO);
}

bool is_punctuation(char32_t code_point) {
  return is_between(category_of(code_point), UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO);
}

bool is_control_or_private(char32_t code_point) {
  return is_between(category_of(code_point), UTF8PROC_CATEGORY_CC, UTF8PROC_CATEGORY_CO);
}

bool is_unassigned(char32_t code_point) { return category_of(code_point) == UTF8PROC_CATEGORY_CN; }

bool is_white_space(char32_t code_point) {
  return (code_point >= 0x09 && code_point <= 0x0D) || code_point == 0x20 || code_point == 0x85 ||
         is_between(category_of(code_point), UTF8PROC_CATEGORY_ZS, UTF8PROC_CATEGORY_ZP);
}

bool is_word(char32_t code_point) {
  const utf8proc_category_t category = category_of(code_point);
  if (is_letter(code_point) || is_mark(code_point)) return true;
  if (category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL) return true;
  if (category == UTF8PROC_CATEGORY_PC) return true;
  // Letters in circles and squares, which are alphabetic though symbols; then the joiners.
  return (code_point >= 0x24B6 && code_point <= 0x24E9) ||
         (code_point >= 0x1F130 && code_point <= 0x1F149) ||
         (code_point >= 0x1F150 && code_point <= 0x1F169) ||
         (code_point >= 0x1F170 && code_point <= 0x1F189) || code_point == 0x200C ||
         code_point == 0x200D;
}

std::string normalized(std::string_view text, NormalForm form) {
  check_utf8(text);
  if (is_ascii(text)) return std::string(text);
  const bool is_compatible = form == NormalForm::nfkc || form == NormalForm::nfkd;
  const bool is_composed = form == NormalForm::nfc || form == NormalForm::nfkc;
  CodePoints points = decomposed(
      text, UTF8PROC_DECOMPOSE | UTF8PROC_STABLE | (is_compatible ? UTF8PROC_COMPAT : 0));
  order_marks(points);
  if (is_composed) points = composed(std::move(points));
  return utf8_of(points);
}

std::string lower(std::string_view text, std::string_view language) {
  constexpr char32_t kDottedCapital = 0x130;
  constexpr char32_t kDotless = 0x131;
  constexpr std::string_view kDotAbove = "\u0307";
  check_utf8(text);
  const bool is_turkic = language == "tr" || language == "az";
  std::string result;
  result.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    at += point.length;
    if (point.value == kDottedCapital) {
      result.append("i").append(is_turkic ? "" : kDotAbove);
    } else if (point.value == 'I' && is_turkic && text.substr(at).starts_with(kDotAbove)) {
      result += 'i';
      at += kDotAbove.size();
    } else if (point.value == 'I' && is_turkic) {
      append(result, kDotless);
    } else {
      const auto small = utf8proc_tolower(static_cast<utf8proc_int32_t>(point.value));
      append(result, static_cast<char32_t>(small));
    }
  }
  return result;
}

int64_t columns(std::string_view text) {
  int64_t count = 0;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    at += point.length;
    // Vowels and finals of Hangul join the consonant before them.
    const bool joins = (point.value >= 0x1160 && point.value <= 0x11FF) ||
                       (point.value >= 0xD7B0 && point.value <= 0xD7FF);
    if (!joins) count += utf8proc_charwidth(static_cast<utf8proc_int32_t>(point.value));
  }
  return count;
}

std::vector<std::string_view> words(std::string_view text) {
  check_utf8(text);
  std::vector<std::string_view> result;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    if (is_white_space(point.value)) {
      if (at > begin) result.push_back(text.substr(begin, at - begin));
      begin = at + point.length;
    }
    at += point.length;
  }
  if (begin < text.size()) result.push_back(text.substr(begin));
  return result;
}

}  // namespace headlight::text
