// Words of the command line: correcting and showing them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::cli {

// The candidate that takes the fewest edits (a letter inserted, left out, replaced, or two
// neighbours exchanged); the first of equals. There is at least one candidate.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

// A to Z only.
std::string in_small_letters(std::string_view word);

// The pieces between separators; "a,,b" has an empty one, "" is one.
std::vector<std::string> split_words(std::string_view text, char separator);

// Bytes that are not UTF-8 become \xff and the like, so that any terminal and log can show the
// text.
std::string shown(std::string_view text);

}  // namespace headlight::cli
