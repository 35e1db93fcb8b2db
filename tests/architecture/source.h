// Reading C++ text just well enough for the rules.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headlight::architecture {

bool is_cpp(std::string_view path);

std::vector<std::string_view> lines_of(std::string_view text);

// The text with comments and literals blanked out, line breaks kept.
std::string code_of(std::string_view text);

struct Include {
  int line;
  std::string path;
};
// The files included in quotes.
std::vector<Include> includes_of(std::string_view text);

// Whether no letter, digit or underscore stands before `at`.
bool starts_word(std::string_view text, size_t at);
bool is_word_character(char c);

}  // namespace headlight::architecture
