// Words of the command line: correcting and showing them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/base/base.h"

namespace headlight::cli {

using base::nearest;

// A to Z only.
std::string in_small_letters(std::string_view word);

// The pieces between separators; "a,,b" has an empty one, "" is one.
std::vector<std::string> split_words(std::string_view text, char separator);

// What any terminal and log can show as a part of one line: bytes that are not UTF-8 and controls
// become \xff, \x1b and the like, breaks of lines and changes of direction \u2028.
std::string shown(std::string_view text);

}  // namespace headlight::cli
