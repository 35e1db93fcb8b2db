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

TEST(Error, without_a_subject_is_the_sentence_of_another) {
  EXPECT_STREQ(Error(ErrorKind::failed, "", "", "train (step 1): diverged").what(),
               "train (step 1): diverged");
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

TEST(Error, leaves_out_the_end_of_what_is_very_long) {
  std::string name;
  for (int i = 0; i < 1'000'000; ++i) name += "ç";
  const std::string error =
      Error(ErrorKind::bad_input, "load", "x", "1 unexpected: " + name).what();
  EXPECT_LT(error.size(), 4100u);
  EXPECT_TRUE(error.starts_with("load (x): 1 unexpected: çç"));
  EXPECT_TRUE(error.ends_with("ç…"));
}

}  // namespace
}  // namespace headlight::base
