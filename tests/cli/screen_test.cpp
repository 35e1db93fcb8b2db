// The screen that tests look at shows what a terminal would.
#include "tests/cli/screen.h"

#include <gtest/gtest.h>

namespace headlight::test {
namespace {

using Rows = std::vector<std::string>;

Screen fed(int64_t width, const std::string& bytes) {
  Screen screen(width);
  screen.feed(bytes);
  return screen;
}

TEST(AScreen, shows_lines_one_below_the_other) {
  EXPECT_EQ(fed(10, "one\r\ntwo\r\n").rows(), (Rows{"one", "two"}));
  EXPECT_EQ(fed(10, "one\r\n\r\n\x1b[1mtwo\x1b[0m").rows(), (Rows{"one", "", "two"}));
}

TEST(AScreen, breaks_lines_that_are_too_long_and_tells) {
  const Screen screen = fed(4, "abcdef\r\nabcd\r\ngh");
  EXPECT_EQ(screen.rows(), (Rows{"abcd", "ef", "abcd", "gh"}));
  EXPECT_EQ(screen.broken_lines(), Rows{"abcd"});
}

TEST(AScreen, gives_hangul_two_columns) {
  EXPECT_TRUE(fed(4, "한국").broken_lines().empty());
  EXPECT_FALSE(fed(3, "한국").broken_lines().empty());
  EXPECT_EQ(fed(5, "a한국b\rX").rows(), (Rows{"a한국", "X"}));
}

TEST(AScreen, writes_over_what_a_carriage_return_goes_back_to) {
  EXPECT_EQ(fed(10, "abc\rx").rows(), Rows{"xbc"});
  EXPECT_EQ(fed(10, "abc\r\x1b[Kx").rows(), Rows{"x"});
  EXPECT_EQ(fed(3, "abc\rx").rows(), Rows{"xbc"});  // the edge is not passed before a letter comes
}

TEST(AScreen, goes_up_and_erases_what_is_below) {
  EXPECT_EQ(fed(10, "one\r\ntwo\r\nthree\x1b[2A\r\x1b[JX").rows(), Rows{"X"});
  EXPECT_EQ(fed(10, "one\r\ntwo\x1b[A\r\x1b[2Kx").rows(), (Rows{"x", "two"}));
}

TEST(AScreen, tells_what_it_does_not_know) {
  EXPECT_EQ(fed(10, "\x1b[5Bx").unknown(), Rows{"\x1b[5B"});
}

// A line of 8 columns whose cursor is at its end: when 4 columns are left, a carriage return goes
// to the second of its rows.
TEST(AScreen, that_is_made_narrower_breaks_lines_anew) {
  Screen screen(10);
  screen.feed("abcdefgh");
  screen.resize(4);
  EXPECT_EQ(screen.rows(), (Rows{"abcd", "efgh"}));
  screen.feed("\r\x1b[Kxy");
  EXPECT_EQ(screen.rows(), (Rows{"abcd", "xy"}));
  screen.resize(10);
  EXPECT_EQ(screen.rows(), Rows{"abcdxy"});
}

TEST(AScreen, that_cuts_keeps_its_rows) {
  Screen screen(10, OnResize::cut);
  screen.feed("first\r\nabcdefgh\r");
  screen.resize(4);
  EXPECT_EQ(screen.rows(), (Rows{"firs", "abcd"}));
  screen.feed("\x1b[Jxy");
  EXPECT_EQ(screen.rows(), (Rows{"firs", "xy"}));
}

}  // namespace
}  // namespace headlight::test
