// Any bytes as text that takes one line.
#pragma once

#include <string>
#include <string_view>

namespace headlight::text {

// What any terminal and log can show as a part of one line: bytes that are not UTF-8 and controls
// become \xff, \x1b and the like, breaks of lines and changes of direction \u2028.
std::string printable(std::string_view text);

}  // namespace headlight::text
