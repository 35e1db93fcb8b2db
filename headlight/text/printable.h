// Any bytes as text that a terminal can show and does not obey.
#pragma once

#include <string>
#include <string_view>

namespace headlight::text {

// What any terminal and log can show as a part of one line: bytes that are not UTF-8 and controls
// become \xff, \x1b and the like, breaks of lines and changes of direction \u2028.
std::string printable(std::string_view text);

// The same for text of several lines: line feeds and tabs stay as they are, and what is escaped in
// a JSON document (only \u007f and the like can be there) leaves it the same document.
// `keeps_colors`: so do the sequences that set colours, "ESC [ digits and semicolons m", and no
// others.
std::string printable_lines(std::string_view text, bool keeps_colors = false);

}  // namespace headlight::text
