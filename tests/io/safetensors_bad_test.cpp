// Malformed safetensors files and indexes.
#include "headlight/io/safetensors_header.h"
#include "tests/base/temporary_folder.h"
#include "tests/io/bad_files.h"

namespace headlight::io {
namespace {

using test::TemporaryFolder;

std::string open_bytes(const std::string& bytes) {
  return error_of([&] {
    const Safetensors tensors(std::make_shared<base::MemoryInput>(input_of(bytes)));
    for (const Safetensors::Entry& entry : tensors.entries()) tensors.load(entry);
  });
}

// One float32 tensor of two numbers, with a field changed.
std::string with_field(const std::string& dtype, const std::string& shape,
                       const std::string& offsets) {
  return safetensors_bytes(
      R"({"x":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}",
      "12345678");
}
std::string with_dtype(const std::string& dtype) { return with_field(dtype, "[2]", "[0,8]"); }
std::string with_shape(const std::string& shape) { return with_field("\"F32\"", shape, "[0,8]"); }
std::string with_offsets(const std::string& offsets) {
  return with_field("\"F32\"", "[2]", offsets);
}

// Two tensors of four bytes with these ranges, and eight bytes of data.
std::string two(const std::string& first, const std::string& second) {
  return safetensors_bytes(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":)" + first +
                               R"(},"b":{"dtype":"F32","shape":[1],"data_offsets":)" + second +
                               "}}",
                           "12345678");
}

std::string entry(const std::string& fields) {
  return safetensors_bytes(R"({"x":{)" + fields + "}}");
}
std::string metadata(const std::string& value) {
  return safetensors_bytes(R"({"__metadata__":)" + value + "}");
}

class BadSafetensors : public testing::TestWithParam<BadFile> {};
TEST_P(BadSafetensors, is_refused) {
  expect_refused(open_bytes(GetParam().bytes), "safetensors", GetParam().message);
}

const BadFile kFileStarts[] = {
    {"empty", "", "0 bytes, the header length needs 8"},
    {"three_bytes", "abc", "3 bytes, the header length needs 8"},
    {"header_too_long", std::string("\x01\xe1\xf5\x05\0\0\0\0{}", 10),
     "the header length is 100000001, at most 100000000 is read"},
    {"header_length_of_all_ones", std::string(8, '\xff') + "{}", "at most 100000000 is read"},
    {"header_past_the_end", std::string("\x40\0\0\0\0\0\0\0{}", 10),
     "the header ends at byte 72, the file at 10; truncated download?"},
    {"a_pickle", std::string("\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20jP\xa8P\x19.", 16),
     "can run code; convert to safetensors"},
    {"a_pickle_of_protocol_4", std::string("\x80\x04\x95\x10\0\0\0\0\0\0\0}\x94.", 14),
     "Python pickle"},
    {"a_zip", std::string("PK\x03\x04\0\0\x08\x08\0\0archive/data.pkl", 26), "it is a zip archive"},
    {"a_gguf", std::string("GGUF\x03\0\0\0\x02\0\0\0\0\0\0\0", 16),
     "it is a GGUF file; convert to safetensors"},
    {"an_npy", std::string("\x93NUMPY\x01\0v\0{'descr'", 19), "it is an .npy file"},
    {"a_git_lfs_pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:12\nsize 5\n",
     "Git-LFS pointer"},
    {"an_html_page", "\n<!DOCTYPE html><html>Not found</html>", "it is an HTML page"},
    {"an_html_page_in_capitals", "<HTML><BODY>Sign in</BODY></HTML>", "it is an HTML page"},
};
INSTANTIATE_TEST_SUITE_P(Start, BadSafetensors, testing::ValuesIn(kFileStarts), name_of_case);

const BadFile kFileHeaders[] = {
    {"no_header", safetensors_bytes(""), "not JSON"},
    {"not_utf8", safetensors_bytes("{\"\xff\":1}"), "not UTF-8 at byte 2"},
    {"utf16", safetensors_bytes(std::string("{\0\"\0", 4)), "not JSON at byte 1: a NUL"},
    {"cut_off_json", safetensors_bytes(R"({"x":{"dtype")"), "not JSON at byte 14"},
    {"json_with_a_tail", safetensors_bytes("{} {}"), "not JSON at byte 4"},
    {"a_list", safetensors_bytes("[]"), "the header is a list, not an object"},
    {"a_number", safetensors_bytes("1"), "the header is a number, not an object"},
    {"nothing_but_null", safetensors_bytes("null"), "the header is null, not an object"},
    {"a_name_twice",
     safetensors_bytes(
         R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})"),
     R"(the key "a" stands twice)"},
    {"deep_nesting", safetensors_bytes(std::string(100000, '[')), "the header is a list"},
    {"an_entry_that_is_a_text", safetensors_bytes(R"({"x":"F32"})"),
     R"(the entry "x" is a text, not an object)"},
    {"an_entry_that_is_a_list", safetensors_bytes(R"({"x":[]})"),
     R"(the entry "x" is a list, not an object)"},
    {"no_fields", entry(""), R"(tensor "x": dtype is missing)"},
    {"no_dtype", entry(R"("shape":[],"data_offsets":[0,4])"), "dtype is missing"},
    {"no_shape", entry(R"("dtype":"F32","data_offsets":[0,4])"), "shape is missing"},
    {"no_offsets", entry(R"("dtype":"F32","shape":[])"), "data_offsets is missing"},
    {"an_unknown_field", entry(R"("dtype":"F32","strides":[])"),
     R"(tensor "x": the field "strides" is unknown)"},
    {"a_field_twice", entry(R"("dtype":"F32","shape":[0],"data_offsets":[0,0],"dtype":"F32")"),
     R"(the key "dtype" stands twice)"},
    {"a_line_break_in_a_name", safetensors_bytes("{\"a\\nb\":1}"),
     R"(the entry "a?b" is a number)"},
    {"metadata_that_is_a_list", metadata("[]"),
     R"(the entry "__metadata__" is a list, not an object)"},
    {"metadata_with_a_number", metadata(R"({"step":5})"),
     R"(metadata "step" is a number, not a text)"},
    {"metadata_with_null", metadata(R"({"step":null})"), R"(metadata "step" is null, not a text)"},
    {"metadata_with_an_object", metadata(R"({"step":{}})"),
     R"(metadata "step" is an object, not a text)"},
};
INSTANTIATE_TEST_SUITE_P(Header, BadSafetensors, testing::ValuesIn(kFileHeaders), name_of_case);

const BadFile kFields[] = {
    {"dtype_of_the_wrong_type", with_dtype("32"), "dtype is a number, not a text"},
    {"dtype_that_is_a_list", with_dtype("[]"), "dtype is a list, not a text"},
    {"unknown_dtype", with_dtype("\"F8_E4M3\""),
     R"(the dtype "F8_E4M3" is not read; F64 F32 F16 BF16 I64)"},
    {"shape_that_is_a_number", with_shape("2"), "shape is a number, not a list"},
    {"shape_that_is_null", with_shape("null"), "shape is null, not a list"},
    {"shape_with_a_text", with_shape("[\"2\"]"), "shape holds a text, not numbers only"},
    {"shape_with_true", with_shape("[true]"), "shape holds a boolean, not numbers only"},
    {"shape_with_a_list", with_shape("[[2]]"), "shape holds a list, not numbers only"},
    {"negative_size", with_shape("[-2]"), "shape holds -2, integers from 0 to 2^48 are read"},
    {"fractional_size", with_shape("[2.5]"), "shape holds 2.5, integers from 0 to 2^48 are read"},
    {"size_with_an_exponent", with_shape("[2e0]"), "shape holds 2e0, integers"},
    {"size_over_2_to_48", with_shape("[281474976710657]"),
     "shape holds 281474976710657, integers from 0 to 2^48 are read"},
    {"size_over_64_bits", with_shape("[99999999999999999999]"),
     "shape holds 99999999999999999999, integers"},
    {"size_over_all_numbers", with_shape("[1e999]"), "not JSON"},
    {"rank_9", with_shape("[1,1,1,1,1,1,1,1,2]"), "the rank is over 8"},
    {"rank_20", with_shape("[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2]"), "the rank is over 8"},
    {"product_that_overflows", with_shape("[4194305,4194305,211106198978564]"),
     "the number of elements overflows"},
    {"product_that_overflows_before_a_zero", with_shape("[281474976710656,281474976710656,0]"),
     "the number of elements overflows"},
    {"offsets_that_are_a_text", with_offsets("\"0,8\""), "data_offsets is a text, not a list"},
    {"one_offset", with_offsets("[8]"), "data_offsets has 1 numbers, not 2"},
    {"three_offsets", with_offsets("[0,8,8]"), "data_offsets has 3 numbers, not 2"},
    {"negative_offset", with_offsets("[-1,8]"),
     "data_offsets holds -1, integers from 0 to 2^48 are read"},
    {"backward_range", with_offsets("[8,0]"), "its range runs backwards, from 8 to 0"},
    {"range_too_short", with_offsets("[0,4]"), "its range has 4 bytes, shape [2] of F32 needs 8"},
    {"range_too_long", with_shape("[1]"), "its range has 8 bytes, shape [1] of F32 needs 4"},
};
INSTANTIATE_TEST_SUITE_P(Field, BadSafetensors, testing::ValuesIn(kFields), name_of_case);

const BadFile kRanges[] = {
    {"overlap", two("[0,4]", "[2,6]"), R"(tensor "b" begins at byte 2 of the data and overlaps)"},
    {"same_range", two("[0,4]", "[0,4]"), "overlaps the one before it, which ends at 4"},
    {"hole", two("[0,4]", "[8,12]"), "bytes 4 to 8 of the data belong to no tensor"},
    {"hole_at_the_start", two("[4,8]", "[8,12]"), "bytes 0 to 4 of the data belong to no tensor"},
    {"missing_bytes", with_offsets("[0,8]").substr(0, with_offsets("[0,8]").size() - 3),
     "3 bytes missing: the tensors have 8, 5 are there; truncated download?"},
    {"bytes_after_the_last", with_offsets("[0,8]") + "12345", "5 bytes follow the last tensor"},
    {"bytes_without_tensors", safetensors_bytes("{}", "1"), "1 bytes follow the last tensor"},
    {"a_bool_of_2",
     safetensors_bytes(R"({"x":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}})",
                       std::string("\0\1\2", 3)),
     "element 2 is 2, a bool is 0 or 1"},
    {"a_uint64_over_int64",
     safetensors_bytes(R"({"x":{"dtype":"U64","shape":[1],"data_offsets":[0,8]}})",
                       std::string(8, '\xff')),
     "element 0 is 18446744073709551615, integers up to 2^63 - 1 are read"},
};
INSTANTIATE_TEST_SUITE_P(Range, BadSafetensors, testing::ValuesIn(kRanges), name_of_case);

TEST(BadSafetensors, with_more_entries_than_the_limit_is_refused) {
  const std::string tensors = R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"b":{}})";
  const std::string texts = R"({"__metadata__":{"a":"","b":""}})";
  const auto parse = [](const std::string& header) {
    return error_of([&] { parse_safetensors_header(header, "the file", 1); });
  };
  expect_refused(parse(tensors), "safetensors", "more than 1 tensors");
  expect_refused(parse(texts), "safetensors", "more than 1 entries of metadata");
}

TEST(BadSafetensors, that_shrinks_before_a_tensor_is_loaded_is_refused) {
  const TemporaryFolder folder;
  const std::string path = folder.put("a.safetensors", with_shape("[2]"));
  const Safetensors tensors = open_safetensors(base::real_files(), path);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 2);
  EXPECT_NE(error_of([&] { tensors.load("x"); }).find("2 bytes from byte"), std::string::npos);
}

// An index over two shards with one tensor each, a and b.
class BadIndex : public testing::TestWithParam<BadFile> {
 protected:
  void SetUp() override {
    for (const char* name : {"a", "b"}) {
      folder_.put(std::string(name) + ".safetensors",
                  safetensors_bytes(std::string("{\"") + name +
                                        R"(":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                                    name));
    }
    folder_.put("twice.safetensors", folder_.get("a.safetensors"));
    folder_.put("both.safetensors",
                safetensors_bytes(R"({"c":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                                  R"("d":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})"));
  }
  TemporaryFolder folder_;
};

TEST_P(BadIndex, is_refused) {
  const std::string path = folder_.put("model.safetensors.index.json", GetParam().bytes);
  const std::string error = error_of([&] { open_safetensors(base::real_files(), path); });
  EXPECT_NE(error.find(GetParam().message), std::string::npos) << error;
}

const BadFile kIndexes[] = {
    {"empty", "", "not JSON"},
    {"a_list", "[]", "it is not an object"},
    {"a_number", "3", "it is not an object"},
    {"no_map", R"({"metadata":{"total_size":2}})", "weight_map is missing"},
    {"map_that_is_a_list", R"({"weight_map":[]})", "weight_map is not an object"},
    {"map_that_is_a_text", R"({"weight_map":"a"})", "weight_map is not an object"},
    {"map_to_a_number", R"({"weight_map":{"a":1}})", R"(tensor "a" has no file name)"},
    {"map_to_an_object", R"({"weight_map":{"a":{}}})", R"(tensor "a" has no file name)"},
    {"tensor_twice", R"({"weight_map":{"a":"a.safetensors","a":"b.safetensors"}})",
     R"(the key "a" stands twice)"},
    {"path_upwards", R"({"weight_map":{"a":"../a.safetensors"}})", "is no plain file name"},
    {"absolute_path", R"({"weight_map":{"a":"/etc/a.safetensors"}})", "is no plain file name"},
    {"backslash", R"({"weight_map":{"a":"..\\a.safetensors"}})", "is no plain file name"},
    {"nul_in_a_name", R"({"weight_map":{"a":"a\u0000.safetensors"}})", "is no plain file name"},
    {"empty_name", R"({"weight_map":{"a":""}})", "is no plain file name"},
    {"another_ending", R"({"weight_map":{"a":"a.bin"}})",
     "is no plain file name that ends with .safetensors"},
    {"missing_shards",
     R"({"weight_map":{"a":"a.safetensors","b":"c.safetensors","c":"d.safetensors"}})",
     R"(2 of 3 shards are missing, the first is "c.safetensors")"},
    {"tensor_in_none", R"({"weight_map":{"a":"a.safetensors","x":"a.safetensors"}})",
     R"(tensor "x" is in none of the shards)"},
    {"tensor_in_two", R"({"weight_map":{"a":"a.safetensors","x":"twice.safetensors"}})",
     R"(tensor "a" is in )"},
    {"tensor_in_another", R"({"weight_map":{"a":"b.safetensors","b":"a.safetensors"}})",
     R"(tensor "a" is not in b.safetensors but in )"},
    {"tensor_not_listed", R"({"weight_map":{"c":"both.safetensors"}})",
     R"(both.safetensors is not in the index)"},
};
INSTANTIATE_TEST_SUITE_P(Index, BadIndex, testing::ValuesIn(kIndexes), name_of_case);

}  // namespace
}  // namespace headlight::io
