// Malformed GGUF files: header, settings, descriptions of tensors, data.
#include <functional>

#include "headlight/io/gguf.h"
#include "tests/io/bad_files.h"
#include "tests/io/gguf_bytes.h"

namespace headlight::io {
namespace {

std::string gguf_error(const std::string& bytes) {
  return error_of([&] {
    const Gguf file(std::make_shared<base::MemoryInput>(input_of(bytes)));
    for (const Gguf::Entry& entry : file.entries()) file.load(entry);
  });
}

std::string gguf(const std::function<void(GgufParts&)>& change) {
  GgufParts parts;
  change(parts);
  return parts.bytes();
}
std::string with_setting(const std::string& setting) {
  return gguf([&](GgufParts& parts) { parts.settings = {setting}; });
}
// A setting whose value is the end of the file.
std::string ending_with(const std::string& setting) {
  return "GGUF" + u32(3) + u64(0) + u64(1) + setting;
}
std::string with_tensor(const GgufTensor& tensor) {
  return gguf([&](GgufParts& parts) { parts.tensors = {tensor.bytes()}; });
}
std::string with_tensors(const GgufTensor& first, const GgufTensor& second) {
  return gguf([&](GgufParts& parts) {
    parts.tensors = {first.bytes(), second.bytes()};
    parts.data.resize(64);
  });
}
std::string with_alignment(uint64_t alignment) {
  return with_setting(gguf_setting("general.alignment", kUint32, u32(alignment)));
}
std::string nested(int depth) {
  std::string array = gguf_array(kUint8, 1, "x");
  for (int i = 1; i < depth; ++i) array = gguf_array(kArray, 1, array);
  return array;
}

class BadGguf : public testing::TestWithParam<BadFile> {};
TEST_P(BadGguf, is_refused) {
  expect_refused(gguf_error(GetParam().bytes), "gguf", GetParam().message);
}

const BadFile kGgufStarts[] = {
    {"empty", "", "0 bytes, the header needs 24"},
    {"four_bytes", "GGUF", "4 bytes, the header needs 24"},
    {"another_mark", gguf([](auto& parts) { parts.magic = "GGML"; }), "does not begin with GGUF"},
    {"a_pickle", std::string("\x80\x02") + std::string(40, 'x'), "it is a Python pickle"},
    {"a_zip", "PK\x03\x04" + std::string(40, 'x'), "it is a zip archive"},
    {"an_html_page", "<!DOCTYPE html><html>Not found</html>", "it is an HTML page"},
    {"a_git_lfs_pointer", "version https://git-lfs.github.com/spec/v1\n", "Git-LFS pointer"},
    {"version_0", gguf([](auto& parts) { parts.version = 0; }), "its version is 0, 2 and 3 are"},
    {"version_1", gguf([](auto& parts) { parts.version = 1; }), "its version is 1, 2 and 3 are"},
    {"version_4", gguf([](auto& parts) { parts.version = 4; }), "its version is 4, 2 and 3 are"},
    {"big_endian", gguf([](auto& parts) { parts.version = 0x03000000; }), "big-endian machines"},
    {"too_many_tensors", gguf([](auto& parts) { parts.tensor_count = 2'000'000; }),
     "it has 2000000 tensors"},
    {"tensors_without_end", gguf([](auto& parts) { parts.tensor_count = INT64_MAX; }),
     "it has 9223372036854775807 tensors"},
    {"too_many_settings", gguf([](auto& parts) { parts.setting_count = 65'537; }),
     "it has 65537 settings, at most 65536 are read"},
    {"settings_without_end", gguf([](auto& parts) { parts.setting_count = INT64_MAX; }),
     "at most 65536 are read"},
    {"more_settings_than_there_are", gguf([](auto& parts) { parts.setting_count = 3; }), ""},
    {"more_tensors_than_there_are", gguf([](auto& parts) { parts.tensor_count = 3; }), ""},
};
INSTANTIATE_TEST_SUITE_P(Start, BadGguf, testing::ValuesIn(kGgufStarts), name_of_case);

const BadFile kGgufSettings[] = {
    {"no_setting", ending_with(""), "the key of a setting at byte 24 needs 8 bytes, 0 are there"},
    {"key_past_the_end", ending_with(u64(100) + "abc"), "needs 100 bytes, 3 are there"},
    {"long_key", ending_with(u64(65'536)), "has 65536 bytes, at most 65535 are read"},
    {"key_of_2_to_the_63", ending_with(u64(uint64_t{1} << 63)), "has 9223372036854775808 bytes"},
    {"settings_of_a_large_file", "GGUF" + u32(3) + u64(0) + u64(65'536) + u64(9),
     "needs 9 bytes, 0 are there"},
    {"key_without_end", ending_with(u64(~uint64_t{0})), "has 18446744073709551615 bytes"},
    {"empty_key", with_setting(gguf_setting("", kUint8, "x")),
     "the key \"\" of a setting is empty"},
    {"key_that_is_not_utf8", with_setting(gguf_setting("\xff", kUint8, "x")), "is not UTF-8"},
    {"key_twice", gguf([](auto& parts) { parts.settings.push_back(parts.settings.front()); }),
     "setting \"general.architecture\" is there twice"},
    {"no_type", ending_with(gguf_string("a")), "setting \"a\" at byte 33 needs 4 bytes"},
    {"type_13", with_setting(gguf_setting("a", 13, u64(0))), "has type 13, 0 to 12 are known"},
    {"type_of_all_ones", with_setting(gguf_setting("a", ~0U, u64(0))), "has type 4294967295"},
    {"cut_off_number", ending_with(gguf_setting("a", kUint64, "1234")), "needs 8 bytes, 4 are"},
    {"number_over_int64", with_setting(gguf_setting("a", kUint64, u64(~uint64_t{0}))),
     "is 18446744073709551615, integers up to 2^63 - 1 are read"},
    {"bool_of_2", with_setting(gguf_setting("a", kBool, "\x02")), "is 2, a bool is 0 or 1"},
    {"bool_of_7_in_a_list", with_setting(gguf_setting("a", kArray, gguf_array(kBool, 2, "\1\7"))),
     "is 7, a bool is 0 or 1"},
    {"cut_off_text", ending_with(gguf_setting("a", kText, u64(9) + "abc")), "needs 9 bytes, 3 are"},
    {"text_without_end", ending_with(gguf_setting("a", kText, u64(~uint64_t{0}))),
     "at most 16777216 are read"},
    {"long_text", ending_with(gguf_setting("a", kText, u64(16'777'217))),
     "has 16777217 bytes, at most 16777216 are read"},
    {"array_of_type_13", with_setting(gguf_setting("a", kArray, gguf_array(13, 1, "x"))),
     "has type 13"},
    {"array_past_the_end",
     ending_with(gguf_setting("a", kArray, gguf_array(kUint32, 9, "12345678"))),
     "has 9 elements, 8 bytes are left"},
    {"array_without_end",
     ending_with(gguf_setting("a", kArray, gguf_array(kUint8, ~uint64_t{0}, "x"))),
     "has 18446744073709551615 elements, 1 bytes are left"},
    {"array_of_texts_past_the_end",
     ending_with(gguf_setting("a", kArray, gguf_array(kText, 2, gguf_string("abc") + u64(5)))),
     "needs 5 bytes, 0 are there"},
    {"array_whose_text_is_cut_off",
     ending_with(gguf_setting("a", kArray, gguf_array(kText, 1, u64(5) + "ab"))),
     "needs 5 bytes, 2 are there"},
    {"four_million_elements",
     with_setting(
         gguf_setting("a", kArray, gguf_array(kUint8, 4'000'001, std::string(4'000'001, 'x')))),
     "more than 4000000 elements in arrays"},
    {"arrays_nested_too_deep", with_setting(gguf_setting("a", kArray, nested(9))),
     "has arrays nested deeper than 8"},
    {"arrays_nested_without_end",
     [] {
       std::string arrays;
       for (int i = 0; i < 100'000; ++i) arrays += u32(kArray) + u64(1);
       return with_setting(gguf_setting("a", kArray, arrays));
     }(),
     "has arrays nested deeper than 8"},
    {"alignment_0", with_alignment(0), "general.alignment is 0, powers of two from 8 to 2^20"},
    {"alignment_7", with_alignment(7), "general.alignment is 7"},
    {"alignment_24", with_alignment(24), "general.alignment is 24"},
    {"alignment_of_a_gigabyte", with_alignment(1 << 30), "general.alignment is 1073741824"},
    {"alignment_of_words",
     with_setting(gguf_setting("general.alignment", kText, gguf_string("32"))),
     "general.alignment is \"32\""},
};
INSTANTIATE_TEST_SUITE_P(Settings, BadGguf, testing::ValuesIn(kGgufSettings), name_of_case);

const BadFile kGgufTensors[] = {
    {"empty_name", with_tensor({.name = gguf_string("")}), "the name \"\" of a tensor is empty"},
    {"name_that_is_not_utf8", with_tensor({.name = gguf_string("\xc3")}), "is not UTF-8"},
    {"long_name", with_tensor({.name = gguf_string(std::string(1025, 'x'))}),
     "has 1025 bytes, at most 1024 are read"},
    {"name_without_end", with_tensor({.name = u64(~uint64_t{0})}),
     "has 18446744073709551615 bytes"},
    {"five_axes", with_tensor({.sizes = {1, 1, 1, 1, 1}}), "has 5 axes, at most 4 are read"},
    {"axes_without_end", with_tensor({.rank = 0xFFFFFFFF}), "has 4294967295 axes"},
    {"size_over_2_to_the_48", with_tensor({.sizes = {(uint64_t{1} << 48) + 1}}), "at most 2^48"},
    {"size_of_all_ones", with_tensor({.sizes = {~uint64_t{0}}}), "a size of 18446744073709551615"},
    {"sizes_that_overflow", with_tensor({.sizes = {4194305, 4194305, 211106198978564}}),
     "tensor \"x\": "},
    {"type_Q2_K", with_tensor({.type = 10}),
     "tensor \"x\": the type Q2_K is not read; F32 F16 Q4_0 Q4_1 Q5_0"},
    {"type_IQ4_XS", with_tensor({.type = 23}), "the type IQ4_XS is not read"},
    {"type_Q4_2_of_old", with_tensor({.type = 4}), "the type Q4_2 is not read"},
    {"type_Q4_3_of_old", with_tensor({.type = 5}), "the type Q4_3 is not read"},
    {"type_31_of_old", with_tensor({.type = 31}), "the type 31 is not read"},
    {"type_999", with_tensor({.type = 999}), "the type 999 is not read"},
    {"rows_of_half_a_block", with_tensor({.sizes = {16, 2}, .type = 2}),
     "rows of 16 elements are no whole blocks of Q4_0, 32 each"},
    {"rows_of_half_a_large_block", with_tensor({.sizes = {128}, .type = 12}),
     "rows of 128 elements are no whole blocks of Q4_K, 256 each"},
    {"a_quantised_scalar", with_tensor({.sizes = {}, .type = 8}), "rows of 1 elements"},
    {"offset_that_is_not_aligned", with_tensor({.offset = 4}),
     "begins at byte 4 of the data, which is no multiple of the alignment 32"},
    {"offset_past_the_end", with_tensor({.offset = 1 << 20}), "truncated download?"},
    {"offset_of_almost_all_ones", with_tensor({.offset = ~uint64_t{31}}), "truncated download?"},
    {"not_enough_data", with_tensor({.sizes = {3, 3}}),
     "needs 36 bytes from byte 0 of the data on, which has 24; truncated download?"},
    {"no_data_at_all", gguf([](auto& parts) { parts.data = ""; }), "of the data on, which has 0"},
    {"not_even_the_gap", gguf([](auto& parts) { parts.data = ""; }).substr(0, 100), ""},
    {"first_tensor_not_at_the_start", gguf([](auto& parts) {
       parts.tensors = {GgufTensor{.offset = 32}.bytes()};
       parts.data = std::string(32, '\0') + six_floats();
     }),
     "bytes 0 to 32 of the data belong to no tensor"},
    {"name_twice", with_tensors({}, {.offset = 32}), "tensor \"x\" is there twice"},
    {"tensors_in_one_place", with_tensors({}, {.name = gguf_string("y")}),
     "begins at byte 0 of the data and overlaps the one before it, which ends at 24"},
    {"tensors_that_overlap",
     with_tensors({.sizes = {12}}, {.name = gguf_string("y"), .offset = 32}),
     "tensor \"y\" begins at byte 32 of the data and overlaps the one before it"},
    {"a_hole_between_tensors", gguf([](auto& parts) {
       parts.tensors.push_back(GgufTensor{.name = gguf_string("y"), .offset = 64}.bytes());
       parts.data.resize(88);
     }),
     "bytes 32 to 64 of the data belong to no tensor"},
    {"bytes_behind_the_last_tensor", gguf([](auto& parts) { parts.data.resize(33); }),
     "9 bytes follow the last tensor"},
    {"float64_beyond_float32", gguf([](auto& parts) {
       parts.tensors = {GgufTensor{.sizes = {1}, .type = 28}.bytes()};
       parts.data = little_endian(1e300);
     }),
     "element 0 is 1e+300, beyond float32"},
};
INSTANTIATE_TEST_SUITE_P(Tensors, BadGguf, testing::ValuesIn(kGgufTensors), name_of_case);

TEST(BadGgufs, cut_off_anywhere_give_one_error) {
  const std::string bytes = GgufParts{}.bytes();
  for (size_t size = 0; size < bytes.size(); ++size) {
    expect_refused(gguf_error(bytes.substr(0, size)), "gguf", "");
  }
}

TEST(BadGgufs, with_any_byte_changed_give_tensors_or_one_error) {
  const std::string bytes = GgufParts{}.bytes();
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (const int change : {1, 0x80, 0xff}) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ change);
      const std::string error = gguf_error(changed);
      if (error != "no error") expect_refused(error, "gguf", "");
    }
  }
}

}  // namespace
}  // namespace headlight::io
