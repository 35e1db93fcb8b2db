// Error: its sentence, its kind, its one line.
#include <gtest/gtest.h>

#include <string>

#include "headlight/base/base.h"

namespace headlight::base {
namespace {

TEST(Error, reads_what_where_and_why) {
  const Error error(ErrorKind::bad_input, "layer_norm", "weight", "shape is [768], rows have 512");
  EXPECT_STREQ(error.what(), "layer_norm (weight): shape is [768], rows have 512");
}

TEST(Error, without_a_place_leaves_the_brackets_out) {
  EXPECT_STREQ(Error(ErrorKind::usage, "threads", "", "the number is 0").what(),
               "threads: the number is 0");
}

TEST(Error, keeps_its_kind) {
  EXPECT_EQ(Error(ErrorKind::usage, "a", "b", "c").kind(), ErrorKind::usage);
  EXPECT_EQ(Error(ErrorKind::bad_input, "a", "b", "c").kind(), ErrorKind::bad_input);
  EXPECT_EQ(Error(ErrorKind::out_of_memory, "a", "b", "c").kind(), ErrorKind::out_of_memory);
  EXPECT_EQ(Error(ErrorKind::failed, "a", "b", "c").kind(), ErrorKind::failed);
}

TEST(Error, stays_on_one_line_whatever_the_names_hold) {
  using namespace std::string_view_literals;
  const Error error(ErrorKind::bad_input, "open", "a\nb\x7f"sv, "c\0d\r\x1b"sv);
  EXPECT_EQ(std::string(error.what()), "open (a\\x0ab\\x7f): c\\x00d\\x0d\\x1b");
}

TEST(Error, keeps_the_bytes_of_other_alphabets) {
  const Error error(ErrorKind::bad_input, "açıq", "düz", "모델");
  EXPECT_STREQ(error.what(), "açıq (düz): 모델");
}

}  // namespace
}  // namespace headlight::base
