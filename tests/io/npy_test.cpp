// .npy: what NumPy writes, what we write, and malformed files.
#include "headlight/io/npy.h"

#include "headlight/io/elements.h"
#include "tests/io/bad_files.h"
#include "tests/io/string_output.h"

namespace headlight::io {
namespace {

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;
using namespace std::string_literals;

using Values = std::vector<double>;

Tensor read(const std::string& bytes) { return read_npy(input_of(bytes)); }

// A version 1 file of this header and these bytes.
std::string npy(const std::string& header, const std::string& data = "") {
  std::string bytes = "\x93NUMPY\x01"s + '\0';
  bytes += static_cast<char>(header.size() & 0xFF);
  bytes += static_cast<char>(header.size() >> 8);
  return bytes + header + data;
}
std::string of_type(const std::string& descr, const std::string& shape, const std::string& data) {
  return npy("{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + "}", data);
}

std::string written(const Tensor& array) {
  test::StringOutput output;
  write_npy(output, array);
  return output.text;
}

// As numpy.save wrote them.
const std::string kFloats =
    "\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
    "                                                          \n"
    "\x00\x00\x80?\x00\x00\x00@\x00\x00@@\x00\x00\x80@\x00\x00\xa0@\x00\x00\xc0@"s;
const std::string kBigEndianFortran =
    "\x93NUMPY\x01\x00v\x00{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }"
    "                                                           \n"
    "\x00\x01\x00\x04\x00\x02\x00\x05\x00\x03\x00\x06"s;
const std::string kBooleansOfVersion2 =
    "\x93NUMPY\x02\x00t\x00\x00\x00{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }"
    "                                                          \n"
    "\x01\x00"s;
const std::string kScalarOfVersion3 =
    "\x93NUMPY\x03\x00t\x00\x00\x00{'descr': '<f8', 'fortran_order': False, 'shape': (), }"
    "                                                            \n"
    "\x00\x00\x00\x00\x00\x00\x04@"s;

TEST(Npy, of_numpy_is_read) {
  EXPECT_EQ(read(kFloats).shape(), (Shape{2, 3}));
  EXPECT_EQ(values_of(read(kFloats)), (Values{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(read(kBooleansOfVersion2).dtype(), DType::boolean);
  EXPECT_EQ(values_of(read(kBooleansOfVersion2)), (Values{1, 0}));
  EXPECT_EQ(read(kScalarOfVersion3).rank(), 0);
  EXPECT_EQ(values_of(read(kScalarOfVersion3)), Values{2.5});
}

TEST(Npy, in_fortran_order_and_big_endian_comes_out_in_ours) {
  const Tensor array = read(kBigEndianFortran);
  EXPECT_EQ(array.dtype(), DType::i64);
  EXPECT_EQ(array.shape(), (Shape{2, 3}));
  EXPECT_EQ(values_of(array), (Values{1, 2, 3, 4, 5, 6}));
}

TEST(Npy, in_fortran_order_of_rank_3_comes_out_in_ours) {
  std::string data;
  for (int k = 0; k < 4; ++k) {
    for (int j = 0; j < 3; ++j) {
      for (int i = 0; i < 2; ++i) data += static_cast<char>(12 * i + 4 * j + k);
    }
  }
  const Tensor array =
      read(npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 4), }\n", data));
  for (int64_t i = 0; i < 24; ++i) EXPECT_EQ(array.data<int64_t>()[i], i);
}

TEST(Npy, of_each_type_is_read) {
  EXPECT_EQ(values_of(read(of_type("<f2", "(1,)", "\x00\x3c"s))), Values{0x3C00});
  EXPECT_EQ(values_of(read(of_type(">f2", "(1,)", "\x3c\x00"s))), Values{0x3C00});
  EXPECT_EQ(values_of(read(of_type(">f4", "(1,)", "\x3f\x80\x00\x00"s))), Values{1});
  EXPECT_EQ(values_of(read(of_type(">f8", "(1,)", "\x3f\xf0\x00\x00\x00\x00\x00\x00"s))),
            Values{1});
  EXPECT_EQ(values_of(read(of_type("|i1", "(1,)", "\xff"))), Values{-1});
  EXPECT_EQ(values_of(read(of_type("<i2", "(1,)", "\xfe\xff"))), Values{-2});
  EXPECT_EQ(values_of(read(of_type("<i4", "(1,)", "\xfe\xff\xff\xff"))), Values{-2});
  EXPECT_EQ(values_of(read(of_type(">i8", "(1,)", "\xff\xff\xff\xff\xff\xff\xff\xfe"))),
            Values{-2});
  EXPECT_EQ(values_of(read(of_type("|u1", "(1,)", "\xff"))), Values{255});
  EXPECT_EQ(values_of(read(of_type("<u2", "(1,)", "\x01\x02"))), Values{513});
  EXPECT_EQ(values_of(read(of_type("<u4", "(1,)", "\xff\xff\xff\xff"))), Values{4294967295.0});
  EXPECT_EQ(values_of(read(of_type("<u8", "(1,)", "\x07\x00\x00\x00\x00\x00\x00\x00"s))),
            Values{7});
}

TEST(Npy, header_may_be_spaced_and_ordered_freely) {
  const Tensor array =
      read(npy("{ \"shape\":( 2L,),'fortran_order' :True ,'descr':\t'|u1',}   \n", "ab"));
  EXPECT_EQ(values_of(array), (Values{'a', 'b'}));
}

TEST(Npy, without_elements_keeps_its_shape) {
  EXPECT_EQ(read(of_type("<f4", "(0, 5)", "")).shape(), (Shape{0, 5}));
  EXPECT_EQ(read(written(Tensor::zeros(DType::f32, {3, 0}))).shape(), (Shape{3, 0}));
}

TEST(Npy, is_written_as_numpy_writes_it) {
  EXPECT_EQ(written(Tensor::of({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6})), kFloats);
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{7}, Shape{123456, 1}}) {
    const std::string bytes = written(Tensor::zeros(DType::boolean, shape));
    EXPECT_EQ((bytes.size() - static_cast<size_t>(shape.elements())) % 64, 0u);
    EXPECT_EQ(read(bytes).shape(), shape);
  }
}

TEST(Npy, comes_back_as_it_was_written) {
  const Tensor numbers = Tensor::of({3}, std::vector<int64_t>{INT64_MIN, 0, INT64_MAX});
  EXPECT_EQ(values_of(read(written(numbers))), values_of(numbers));
  const Tensor matrix = Tensor::of({2, 2}, std::vector<float>{1, 2, 3, 4}).permuted({1, 0});
  EXPECT_EQ(values_of(read(written(matrix))), (Values{1, 3, 2, 4}));
  Tensor half = Tensor::zeros(DType::f16, {1});
  half.mutable_data<uint16_t>()[0] = 0x1234;
  EXPECT_EQ(read(written(half)).dtype(), DType::f16);
  EXPECT_EQ(values_of(read(written(half))), Values{0x1234});
}

TEST(Npy, of_bfloat16_is_written_as_float32) {
  Tensor array = Tensor::zeros(DType::bf16, {1});
  array.mutable_data<uint16_t>()[0] = 0x3FC0;
  EXPECT_EQ(values_of(read(written(array))), Values{1.5});
}

class BadNpy : public testing::TestWithParam<BadFile> {};
TEST_P(BadNpy, is_refused) {
  expect_refused(error_of([] { read(GetParam().bytes); }), "npy", GetParam().message);
}

const BadFile kStarts[] = {
    {"empty", "", "it does not start as an .npy file does"},
    {"text", "1,2,3\n", "it does not start as an .npy file does"},
    {"magic_alone", "\x93NUMPY", "6 bytes, the header's start needs 12"},
    {"cut_in_the_length", "\x93NUMPY\x01\x00v"s, "9 bytes, the header's start needs 10"},
    {"version_0", "\x93NUMPY\x00\x00v\x00\x00\x00"s, "version 0 is not read; 1, 2 and 3 are"},
    {"version_4", "\x93NUMPY\x04\x00v\x00\x00\x00"s, "version 4 is not read; 1, 2 and 3 are"},
    {"header_past_the_end", "\x93NUMPY\x01\x00v\x00{'descr'"s,
     "the header ends at byte 128, the file at 18; truncated download?"},
    {"header_too_long", "\x93NUMPY\x02\x00\xff\xff\xff\xff"s,
     "the header has 4294967295 bytes, at most 65536 are read"},
    {"a_pickle", "\x80\x04\x95\x10\x00\x00"s, "can run code"},
    {"an_npz", "PK\x03\x04\x14\x00"s, "it is a zip archive (an .npz"},
    {"an_html_page", "<!doctype html>", "it is an HTML page"},
};
INSTANTIATE_TEST_SUITE_P(Start, BadNpy, testing::ValuesIn(kStarts), name_of_case);

const std::string kRest = "'fortran_order': False, 'shape': (1,)}";
const BadFile kHeaders[] = {
    {"no_header", npy(""), "the header is wrong at byte 0: { is expected, the end is there"},
    {"json", npy("[1]"), R"({ is expected, "[1]" is there)"},
    {"no_keys", npy("{}"), "the header needs descr, fortran_order and shape"},
    {"key_missing", npy("{'descr': '<f4', 'shape': (1,)}", "1234"),
     "the header needs descr, fortran_order and shape"},
    {"key_unknown", npy("{'descr': '<f4', 'strides': (1,)}"),
     R"(the header's key "strides" is unknown)"},
    {"key_twice", npy("{'descr': '<f4', 'descr': '<f4', " + kRest),
     "the header's key descr stands twice"},
    {"key_without_quotes", npy("{descr: '<f4'}"), "at byte 1: a string is expected"},
    {"colon_missing", npy("{'descr' '<f4'}"), ": is expected"},
    {"comma_missing", npy("{'descr': '<f4' 'shape': (1,)}"), "} is expected"},
    {"string_without_end", npy("{'descr': '<f4}"), "a string with an end is expected"},
    {"code", npy("{'descr': __import__('os').system('true'), " + kRest), "a string is expected"},
    {"text_after_it", npy("{'descr': '<f4', " + kRest + " x", "1234"), "the end is expected"},
    {"order_that_is_a_number", npy("{'fortran_order': 0}"), "True or False is expected"},
    {"shape_that_is_a_list", npy("{'shape': [1]}"), "( is expected"},
    {"negative_size", npy("{'shape': (-1,)}"), "a size is expected"},
    {"fractional_size", npy("{'shape': (1.5,)}"), ") is expected"},
    {"size_over_64_bits", npy("{'shape': (99999999999999999999,)}"), "a size is expected"},
    {"rank_9", npy("{'shape': (1,1,1,1,1,1,1,1,1)}"), "the rank is over 8"},
    {"product_that_overflows", of_type("<f4", "(4294967296, 4294967296)", ""),
     "the number of elements overflows"},
    {"objects", of_type("|O", "(1,)", "\x80\x04N."), "they are pickled, which can run code"},
    {"records", npy("{'descr': [('x', '<f4')], " + kRest), "arrays of records are not read"},
    {"complex_numbers", of_type("<c8", "(1,)", "12345678"),
     R"(the type "<c8" is not read; f2 f4 f8)"},
    {"texts", of_type("<U3", "(1,)", ""), R"(the type "<U3" is not read)"},
    {"no_byte_order", of_type("f4", "(1,)", "1234"), R"(the type "f4" is not read)"},
    {"byte_order_unclear", of_type("|f4", "(1,)", "1234"), R"(the type "|f4" is not read)"},
    {"empty_type", of_type("", "(1,)", "1234"), R"(the type "" is not read)"},
    {"bytes_missing", of_type("<f4", "(2, 3)", "12345"),
     "19 bytes missing: shape [2, 3] needs 24, 5 are there"},
    {"bytes_missing_by_far", of_type("<f8", "(1152921504606846976,)", "1"),
     "9223372036854775807 bytes missing"},
    {"bytes_too_many", of_type("<f4", "(1,)", "123456"), "2 bytes follow the array"},
    {"a_bool_of_3", of_type("|b1", "(2,)", "\x01\x03"), "element 1 is 3, a bool is 0 or 1"},
};
INSTANTIATE_TEST_SUITE_P(Header, BadNpy, testing::ValuesIn(kHeaders), name_of_case);

}  // namespace
}  // namespace headlight::io
