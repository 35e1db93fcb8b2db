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

// Bytes that are not UTF-8 become \xff and the like, so that any terminal and log can show the
// text.
std::string shown(std::string_view text);

}  // namespace headlight::cli
