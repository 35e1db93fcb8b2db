// GPT-2's splitting, which it defines by the regular expression
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// written out by hand.
#include <array>

#include "headlight/text/splitter.h"
#include "headlight/text/unicode.h"

namespace headlight::text {
namespace {

enum class Class { letter, number, space, other };

Class class_of(char32_t c) {
  if (is_letter(c)) return Class::letter;
  if (is_number(c)) return Class::number;
  return is_white_space(c) ? Class::space : Class::other;
}

Class class_at(std::string_view text, size_t at) { return class_of(code_point_at(text, at).value); }

// Where the run of this class that begins at `at` ends; `last` is where its last code point begins.
size_t end_of_run(std::string_view text, size_t at, Class kind, size_t& last) {
  while (at < text.size()) {
    const CodePoint point = code_point_at(text, at);
    if (class_of(point.value) != kind) break;
    last = at;
    at += point.length;
  }
  return at;
}

size_t contraction_length(std::string_view rest) {
  constexpr std::array<std::string_view, 7> kContractions = {"'s", "'t",  "'re", "'ve",
                                                             "'m", "'ll", "'d"};
  for (const std::string_view contraction : kContractions) {
    if (rest.starts_with(contraction)) return contraction.size();
  }
  return 0;
}

size_t end_of_piece(std::string_view text, size_t at) {
  if (const size_t length = contraction_length(text.substr(at))) return at + length;
  // One space belongs to the letters, numbers or marks after it.
  const size_t begin = text[at] == ' ' && at + 1 < text.size() ? at + 1 : at;
  size_t last = at;
  const Class kind = class_at(text, begin);
  if (kind != Class::space) return end_of_run(text, begin, kind, last);
  const size_t end = end_of_run(text, at, Class::space, last);
  // The last white space before a word is left to it, unless it is all there is.
  return end < text.size() && last > at ? last : end;
}

}  // namespace

void split_as_gpt2(std::string_view text, const PieceTaker& take) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = end_of_piece(text, at);
    take(text.substr(at, end - at));
    at = end;
  }
}

}  // namespace headlight::text
