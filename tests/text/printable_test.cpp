// Any bytes as a part of one line.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace headlight::text
