// Any bytes as a part of one line.
#include <gtest/gtest.h>

#include "headlight/io/io.h"
#include "headlight/text/text.h"

namespace headlight::text {
namespace {

TEST(Printable, leaves_letters_of_any_script_as_they_are) {
  EXPECT_EQ(printable("Bakı, 가 → W_q\u0301"), "Bakı, 가 → W_q\u0301");
  EXPECT_EQ(printable(""), "");
}

TEST(Printable, shows_what_would_move_the_cursor_or_turn_the_line) {
  EXPECT_EQ(printable("a\nb\t\x1b[1m\x7f"), "a\\x0ab\\x09\\x1b[1m\\x7f");
  EXPECT_EQ(printable("a\u0085b\u2028c\u202Ed\u2066"), "a\\u0085b\\u2028c\\u202ed\\u2066");
}

TEST(Printable, shows_bytes_that_are_no_text) {
  EXPECT_EQ(printable("\xff"
                      "a\xc3"),
            "\\xffa\\xc3");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
}

TEST(PrintableLines, keep_line_feeds_and_tabs_and_nothing_else) {
  EXPECT_EQ(printable_lines("a\n\tb\r\x1b[1m\v"), "a\n\tb\\x0d\\x1b[1m\\x0b");
  EXPECT_EQ(printable_lines("\u009b\u202e\u2069 \x9b\xe2\x80"),
            "\\u009b\\u202e\\u2069 \\x9b\\xe2\\x80");
  EXPECT_EQ(printable_lines(""), "");
}

TEST(PrintableLines, leave_a_json_document_what_it_is) {
  const io::Json document = io::Json::Array{"\x1b\x7f\u0080\u009f\u202d\n\t\\ 가"};
  EXPECT_EQ(io::parse_json(printable_lines(io::json_text(document)), "shown"), document);
}

TEST(PrintableLines, keep_colours_where_they_may_and_no_other_sequence) {
  EXPECT_EQ(printable_lines("\x1b[1;38;5;9mx\x1b[0m\x1b[m", true), "\x1b[1;38;5;9mx\x1b[0m\x1b[m");
  EXPECT_EQ(printable_lines("\x1b[1;3\x1b[2J\x1b]0;m\x1b[?1m\x1b", true),
            "\\x1b[1;3\\x1b[2J\\x1b]0;m\\x1b[?1m\\x1b");
}

}  // namespace
}  // namespace headlight::text
