// Words of the command line: correcting and showing them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/base/base.h"
#include "headlight/recipes/recipes.h"

namespace headlight::cli {

using base::nearest;

using recipes::in_small_letters;
using recipes::split_words;

// What any terminal and log can show as a part of one line: bytes that are not UTF-8 and controls
// become \xff, \x1b and the like, breaks of lines and changes of direction \u2028.
std::string shown(std::string_view text);

}  // namespace headlight::cli
