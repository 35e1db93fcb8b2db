// Lines of text: how wide they may be, whether they have colours; wrapping, padding, tables.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::narrate {

// What is drawn on. Colours are the escape sequences of terminals.
struct TextStyle {
  int64_t width = 80;  // columns
  bool colors = false;
  std::string decimal = ".";  // what stands before the decimals of numbers
};

// A number as to_chars writes it; what is not finite as NaN, ∞ or −∞.
std::string number_text(double value, int digits, std::chars_format format);
// The number with another sign before its decimals than the point.
std::string with_decimal(std::string number, std::string_view decimal);

// Words in lines of at most `width` columns, each ended; a longer word has a line of its own. What
// belongs together stays on one line as far as it fits: shapes such as "(2, 4, 100)", and numbers
// and symbols with the signs between them, such as "8 · 64 = 512", and a number with what it is of,
// such as "Loss: 3.9". Breaks of lines are blanks, and controls can be seen.
std::string wrapped(std::string_view text, int64_t width, std::string_view indent = "");
// A command as it would be typed: where it is longer than `width` columns, in lines that end with a
// backslash, so that it can still be copied. Breaks are between words, none between an option and
// its value if that can be, and none inside quotes.
std::string wrapped_command(std::string_view command, int64_t width, std::string_view indent = "");
// A value as a shell reads it back: in quotes where it needs some.
std::string shell_quoted(std::string_view value);
// With blanks up to `width` columns: after the text, or before it.
std::string padded(const std::string& text, int64_t width);
std::string padded_before(const std::string& text, int64_t width);
// A token as a label: line breaks, escape sequences and the like can be seen, and take part in no
// layout.
std::string visible(const std::string& text);
// Cut to `width` columns, with a mark where something is left out.
std::string cut_to(const std::string& text, int64_t width);

std::string bold(const TextStyle& style, const std::string& text);

// Columns of one width each, two blanks between them, lines ended; the first line is the heading.
// Cells are made visible. Where there is no room for that, table_of_numbers.
std::string table_text(std::vector<std::vector<std::string>> lines, int64_t width);
// A name and numbers in each line, the numbers set right; the first line is the heading. A name
// that has no room beside its numbers stands above them; where the numbers alone are too wide, each
// stands below its name with what its column is called.
std::string table_of_numbers(const std::vector<std::vector<std::string>>& lines, int64_t width);

}  // namespace headlight::narrate
