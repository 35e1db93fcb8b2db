// The nearest word, and none where none is near.
#include "headlight/base/nearest.h"

#include <gtest/gtest.h>

#include <array>

namespace headlight::base {
namespace {

constexpr std::array<std::string_view, 7> kWords = {"attend", "train", "temperature", "top-k",
                                                    "en",     "tr",    "translate"};

std::string near(std::string_view word) { return std::string(nearest(word, kWords).value_or("")); }

TEST(Nearest, is_the_word_with_the_fewest_slips) {
  EXPECT_EQ(near("atend"), "attend");
  EXPECT_EQ(near("trian"), "train");
  EXPECT_EQ(near("tain"), "train");
  EXPECT_EQ(near("tempreature"), "temperature");
  EXPECT_EQ(near("train"), "train");
}

TEST(Nearest, is_what_a_word_begins) {
  EXPECT_EQ(near("temp"), "temperature");
  EXPECT_EQ(near("top-k-sampling"), "top-k");
  EXPECT_EQ(near("trans"), "translate");
}

TEST(Nearest, of_two_letters_has_the_same_two) {
  EXPECT_EQ(near("ne"), "en");
  EXPECT_EQ(near("de"), "");
  EXPECT_EQ(near("t"), "");
  EXPECT_EQ(near(""), "");
}

TEST(Nearest, is_nothing_when_more_than_a_third_is_wrong) {
  EXPECT_EQ(near("abcdef"), "");
  EXPECT_EQ(near("chat"), "");
  EXPECT_EQ(near("epochs"), "");
  EXPECT_EQ(near(std::string(100000, 'a')), "");
  EXPECT_EQ(nearest("train", {}), std::nullopt);
}

TEST(NearestHint, ends_a_message_or_is_empty) {
  EXPECT_EQ(nearest_hint("atend", kWords), "; the nearest is attend");
  EXPECT_EQ(nearest_hint("chat", kWords), "");
}

TEST(NearestDivisors, stand_below_and_above_what_does_not_divide) {
  EXPECT_EQ(nearest_divisors(24, 5), "4 or 6");
  EXPECT_EQ(nearest_divisors(512, 5), "4 or 8");
  EXPECT_EQ(nearest_divisors(768, 10), "8 or 12");
  EXPECT_EQ(nearest_divisors(13, 4), "1 or 13");
  EXPECT_EQ(nearest_divisors(3, 2), "1 or 3");
  EXPECT_EQ(nearest_divisors(24, 23), "12 or 24");
}

TEST(NearestDivisors, of_less_than_is_wanted_are_the_number_itself) {
  EXPECT_EQ(nearest_divisors(3, 5), "3");
  EXPECT_EQ(nearest_divisors(1, 2), "1");
  EXPECT_EQ(nearest_divisors(6, INT64_MAX), "6");
}

}  // namespace
}  // namespace headlight::base
