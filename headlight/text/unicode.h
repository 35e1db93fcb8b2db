// Unicode: code points, their classes, normal forms and lower case. Text is UTF-8; what is not
// throws Error(bad_input).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::text {

// Throws Error(bad_input) with the byte, unless the text is UTF-8.
void check_utf8(std::string_view text);

// The code point at a byte of UTF-8, and how many bytes it takes.
struct CodePoint {
  char32_t value;
  size_t length;
};
CodePoint code_point_at(std::string_view text, size_t at);
void append(std::string& text, char32_t code_point);

bool is_letter(char32_t code_point);
bool is_mark(char32_t code_point);
bool is_nonspacing_mark(char32_t code_point);
bool is_number(char32_t code_point);
bool is_punctuation(char32_t code_point);
bool is_control_or_private(char32_t code_point);  // controls, formats, private use
bool is_unassigned(char32_t code_point);
bool is_white_space(char32_t code_point);  // the property White_Space
bool is_word(char32_t code_point);         // as \w of regular expressions

enum class NormalForm { nfc, nfd, nfkc, nfkd };
std::string normalized(std::string_view text, NormalForm form);

// Lower case. In Turkish (tr) and Azerbaijani (az), I becomes ı and İ becomes i; elsewhere I
// becomes i and İ becomes i with a dot above.
std::string lower(std::string_view text, std::string_view language = "en");

// How many columns of a terminal the text takes: Hangul and other wide letters two, marks and the
// later parts of a decomposed syllable none.
int64_t columns(std::string_view text);

// Pieces between white space.
std::vector<std::string_view> words(std::string_view text);

}  // namespace headlight::text
