// Numbers as people type them: what is read, and how what is not is written here.
#include <cstdint>

#include "tests/recipes/support.h"

namespace headlight::recipes {
namespace {

std::string whole(std::string_view text, Range<int64_t> range = {1, 100'000}) {
  return refusal_of([&] { integer_of("--max-iters", text, range); }).text;
}

std::string real(std::string_view text, Range<double> range = {0, 1000}) {
  return refusal_of([&] { real_of("--lr", text, range); }).text;
}

void expect_no_advice(const std::string& error) {
  expect_has(error, "must be a ");
  EXPECT_EQ(error.find("written"), std::string::npos) << error;
}

TEST(AWholeNumber, as_people_group_its_digits_is_told_how_it_is_written) {
  for (const char* text : {"1,000", "1.000", "1_000", "1 000", "1'000", "1e3", "1000.0"}) {
    SCOPED_TRACE(text);
    expect_has(whole(text), "must be a whole number from 1 to 100,000; here it is written 1000");
  }
  expect_has(whole("1.000.000", {1, INT64_MAX}), "here it is written 1000000");
}

TEST(AWholeNumber, that_is_none_gets_no_advice) {
  for (const char* text : {"", "ten", "1.5", "1,5", "1,00", "0,001", "1,0000", ",000", "1,,000",
                           "0", "1e9", "1e300", "nan", "-1,000", "1,000,", "0x10"}) {
    SCOPED_TRACE(text);
    expect_no_advice(whole(text));
  }
}

TEST(ANumber, with_a_comma_is_told_of_the_point) {
  expect_has(real("0,8"), "must be a number from 0 to 1000; here it is written 0.8");
  expect_has(real("0,001"), "here it is written 0.001");
  expect_has(real("1,5e-3"), "here it is written 0.0015");
  // A thousand, or one.
  for (const char* text : {"1,000", "1,2,3", ",", "0,8x", "2000,5", "hot", "", "inf"}) {
    SCOPED_TRACE(text);
    expect_no_advice(real(text));
  }
}

TEST(AListOfNumbers, may_have_blanks_after_its_commas) {
  EXPECT_EQ(integers_of("--ids", "1,2,3", {0, 9}), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(integers_of("--ids", "1, 2,  3", {0, 9}), (std::vector<int64_t>{1, 2, 3}));
  for (const char* text : {"1 2 3", "1 ,2", " 1,2", "1, 2 3"}) {
    SCOPED_TRACE(text);
    expect_refused(
        ErrorKind::usage,
        [&] {
          integers_of("--ids", text, {0, 9});
        },
        "must be whole numbers with commas between them, as 1,2,3");
  }
  for (const char* text : {"1,,2", "1,2,", "", "1, ", "a,b"}) {
    SCOPED_TRACE(text);
    expect_refused(
        ErrorKind::usage,
        [&] {
          integers_of("--ids", text, {0, 9});
        },
        "must be a whole number");
  }
}

}  // namespace
}  // namespace headlight::recipes
