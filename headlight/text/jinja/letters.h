// Texts letter by letter, as Python's methods of str take them; marks are kept. For text's own use.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "headlight/text/jinja/meter.h"
#include "headlight/text/marked_text.h"

namespace headlight::text::jinja {

MarkedText upper_text(const MarkedText& text, Meter& meter);
MarkedText lower_text(const MarkedText& text, Meter& meter);
// The first letter large, all others small.
MarkedText capitalized(const MarkedText& text, Meter& meter);
// The first letter of each word large: of words between anything but letters, as the method does
// it, or between blanks and opening brackets, as the filter does.
MarkedText titled(const MarkedText& text, bool as_filter, Meter& meter);

// Without the letters at its sides: white space, or those of `letters`.
struct Sides {
  bool left = true;
  bool right = true;
};
MarkedText stripped(const MarkedText& text, const std::optional<std::string>& letters, Sides sides,
                    Meter& meter);

// Pieces between separators, or between white space without one; at most `most` cuts, from the
// right where `from_right`; below 0: all.
struct Cuts {
  std::optional<std::string> separator = {};
  int64_t most = -1;
  bool from_right = false;
};
std::vector<MarkedText> split_text(const MarkedText& text, const Cuts& cuts, Meter& meter);
std::vector<MarkedText> lines_of(const MarkedText& text, bool keeps_ends, Meter& meter);
// `most` below 0: all.
MarkedText replaced(const MarkedText& text, std::string_view old, const MarkedText& with,
                    int64_t most, Meter& meter);

// Whether there is a letter, and all that have two cases are small, or large.
bool is_lower_text(std::string_view text);
bool is_upper_text(std::string_view text);
// Whether there is a letter, and all are as wanted.
bool all_letters(std::string_view text, const std::function<bool(char32_t)>& is_wanted);
// Letters before a byte.
int64_t letters_before(std::string_view text, size_t at);

}  // namespace headlight::text::jinja
