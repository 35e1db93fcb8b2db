// Arrays as text: .json and .csv.
#include <cmath>

#include "headlight/io/csv.h"
#include "headlight/io/json_array.h"
#include "tests/io/bad_files.h"

namespace headlight::io {
namespace {

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

using Values = std::vector<double>;

Tensor read_json(const std::string& text) { return read_json_array(input_of(text)); }
Tensor read_table(const std::string& text) { return read_csv(input_of(text)); }

TEST(JsonArray, has_the_shape_of_its_lists) {
  EXPECT_EQ(read_json("[[1, 2.5], [3, 4], [5, 6]]").shape(), (Shape{3, 2}));
  EXPECT_EQ(values_of(read_json("[[1, 2.5], [3, 4], [5, 6]]")), (Values{1, 2.5, 3, 4, 5, 6}));
  EXPECT_EQ(read_json("[[[[[[[[7]]]]]]]]").rank(), 8);
  EXPECT_EQ(read_json("7.5").rank(), 0);
  EXPECT_EQ(read_json("[]").shape(), (Shape{0}));
  EXPECT_EQ(read_json("[[], []]").shape(), (Shape{2, 0}));
}

TEST(JsonArray, has_the_dtype_of_its_values) {
  EXPECT_EQ(read_json("[1, 2]").dtype(), DType::i64);
  EXPECT_EQ(read_json("[1, 2.0]").dtype(), DType::f32);
  EXPECT_EQ(read_json("[2.5, 1, 9007199254740993]").dtype(), DType::f32);
  EXPECT_EQ(read_json("[true, false]").dtype(), DType::boolean);
  EXPECT_EQ(read_json("[[]]").dtype(), DType::f32);
  EXPECT_EQ(read_json("[9007199254740993]").data<int64_t>()[0], 9007199254740993);
  EXPECT_EQ(values_of(read_json("[true, false, true]")), (Values{1, 0, 1}));
}

TEST(JsonArray, rounds_each_number_once) {
  // Halfway between two float32 but for the last digit: by way of float64 it would be rounded to
  // even, downwards.
  EXPECT_EQ(read_json("[1.00000005960464477540]").data<float>()[0], 0x1.000002p0f);
  EXPECT_EQ(values_of(read_json("[1e-300, 1e-999]")), (Values{0, 0}));
}

TEST(JsonArray, refuses_numbers_beyond_float32) {
  expect_refused(error_of([] { read_json("[3.4028234e38, 1e300]"); }), "json",
                 "[1]: 1e300 is beyond float32");
  expect_refused(error_of([] { read_json("[[-3.4028236e38]]"); }), "json", "is beyond float32");
}

class BadJsonArray : public testing::TestWithParam<BadFile> {};
TEST_P(BadJsonArray, is_refused) {
  expect_refused(error_of([] { read_json(GetParam().bytes); }), "json", GetParam().message);
}
const BadFile kLists[] = {
    {"not_json", "[1 2]", "not JSON at byte 4"},
    {"shorter_row", "[[1,2],[3]]", "[1]: a list of 1 is here, those before it have 2"},
    {"longer_row", "[[[1],[2]],[[3],[4,5]]]",
     "[1][1]: a list of 2 is here, those before it have 1"},
    {"row_after_an_empty_one", "[[],[1]]", "[1]: a list of 1 is here, those before it have 0"},
    {"number_after_a_list", "[[1],2]", "[1]: a number is here, lists are before it"},
    {"number_after_an_empty_list", "[[],2]", "[1]: a number is here, lists are before it"},
    {"list_after_a_number", "[1,[2]]", "[1]: a list is here, numbers are before it"},
    {"null", "[[1,null]]", "[0][1]: null is no number"},
    {"text", "[\"1\"]", "[0]: a text is no number"},
    {"object", R"({"a":[1]})", "an object is no list of numbers"},
    {"mixed", "[1,true]", "[1]: numbers and booleans are mixed"},
    {"rank_9", "[[[[[[[[[1]]]]]]]]]", "lists are nested deeper than 8 levels"},
    {"nan", "[NaN]", "not JSON at byte 2"},
};
INSTANTIATE_TEST_SUITE_P(Lists, BadJsonArray, testing::ValuesIn(kLists), name_of_case);

TEST(Csv, has_a_row_for_each_line) {
  EXPECT_EQ(read_table("1.5,2\n3,4\n5,6\n").shape(), (Shape{3, 2}));
  EXPECT_EQ(values_of(read_table("1.5,2\n3,4\n5,6\n")), (Values{1.5, 2, 3, 4, 5, 6}));
  EXPECT_EQ(read_table("7").shape(), (Shape{1, 1}));
}

TEST(Csv, may_be_separated_by_semicolons_or_tabs) {
  EXPECT_EQ(values_of(read_table("1;2\n3;4")), (Values{1, 2, 3, 4}));
  EXPECT_EQ(values_of(read_table("1\t2\n3\t4")), (Values{1, 2, 3, 4}));
}

TEST(Csv, may_have_spaces_a_byte_order_mark_and_line_ends_of_windows) {
  EXPECT_EQ(values_of(read_table("\xEF\xBB\xBF 1 , 2\r\n3,4\r\n\r\n")), (Values{1, 2, 3, 4}));
}

TEST(Csv, holds_numbers_that_are_not_finite) {
  const Tensor table = read_table("inf,-inf,nan\n");
  EXPECT_EQ(table.data<float>()[0], INFINITY);
  EXPECT_EQ(table.data<float>()[1], -INFINITY);
  EXPECT_TRUE(std::isnan(table.data<float>()[2]));
}

TEST(Csv, refuses_numbers_beyond_float32) {
  expect_refused(error_of([] { read_table("1,1e300\n"); }), "csv",
                 "line 1, column 2: \"1e300\" is beyond float32");
}

TEST(Csv, of_integers_is_int64) {
  EXPECT_EQ(read_table("1,-2\n").dtype(), DType::i64);
  EXPECT_EQ(read_table("1,-2.\n").dtype(), DType::f32);
}

class BadCsv : public testing::TestWithParam<BadFile> {};
TEST_P(BadCsv, is_refused) {
  expect_refused(error_of([] { read_table(GetParam().bytes); }), "csv", GetParam().message);
}
const BadFile kTables[] = {
    {"empty", "", "it holds no numbers"},
    {"white_space", " \n\r\n", "it holds no numbers"},
    {"line_of_titles", "x,y\n1,2\n",
     R"(line 1, column 1: "x" is no number (a line of titles is not read)"},
    {"empty_cell", "1,,3\n", R"(line 1, column 2: "" is no number)"},
    {"comma_at_the_end", "1,2,\n", R"(line 1, column 3: "" is no number)"},
    {"empty_line_inside", "1,2\n\n3,4\n", R"(line 2, column 1: "" is no number)"},
    {"shorter_row", "1,2\n3\n", "line 2 has 1 columns, line 1 has 2"},
    {"longer_row", "1,2\n3,4,5\n", "line 2 has 3 columns, line 1 has 2"},
    {"spaces_between", "1 2 3\n", R"(line 1, column 1: "1 2 3" is no number)"},
    {"quotes", "\"1\",2\n", R"(column 1: ""1"" is no number)"},
    {"decimal_comma", "1,5;2,5\n", R"(line 1, column 1: "1,5" is no number)"},
    {"hexadecimal", "0x10\n", R"("0x10" is no number)"},
    {"beyond_float64", "1e400\n", R"("1e400" is no number)"},
    {"text_after_a_number", "1,2\n3,4x\n", R"(line 2, column 2: "4x" is no number)"},
    {"control_characters", std::string("1,\0\x1b\n", 5), R"(line 1, column 2: "??" is no number)"},
};
INSTANTIATE_TEST_SUITE_P(Tables, BadCsv, testing::ValuesIn(kTables), name_of_case);

}  // namespace
}  // namespace headlight::io
