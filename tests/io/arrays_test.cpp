// Array files by their ending, dtypes that are asked for, numbers as text, UTF-8.
#include "headlight/io/arrays.h"

#include <cmath>
#include <limits>

#include "tests/base/temporary_folder.h"
#include "tests/io/bad_files.h"

namespace headlight::io {
namespace {

using base::ErrorKind;
using base::real_files;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;
using test::TemporaryFolder;

using Values = std::vector<double>;

Tensor storage(DType dtype, const std::vector<uint16_t>& bits) {
  Tensor array = Tensor::uninitialized(dtype, {static_cast<int64_t>(bits.size())});
  std::copy(bits.begin(), bits.end(), array.mutable_data<uint16_t>());
  return array;
}

TEST(Arrays, come_back_from_each_format) {
  const TemporaryFolder folder;
  const std::vector<float> numbers = {0.1f, -1e-38f, 3.4028235e38f, 16777216, 1e-45f, -0.0f};
  const Tensor array = Tensor::of({2, 3}, numbers);
  for (const char* name : {"a.npy", "a.safetensors", "a.safetensors:x", "a.json", "a.csv"}) {
    write_array(real_files(), folder / name, array);
    const Tensor read = read_array(real_files(), folder / name);
    EXPECT_EQ(read.shape(), (Shape{2, 3})) << name;
    ASSERT_EQ(read.dtype(), DType::f32) << name;
    for (size_t i = 0; i < numbers.size(); ++i) {
      EXPECT_EQ(std::memcmp(&read.data<float>()[i], &numbers[i], sizeof(float)), 0)
          << name << " " << i;
    }
  }
}

TEST(Arrays, of_integers_and_bools_come_back_from_each_format) {
  const TemporaryFolder folder;
  const Tensor numbers = Tensor::of({1, 2}, std::vector<int64_t>{INT64_MIN, INT64_MAX});
  Tensor flags = Tensor::zeros(DType::boolean, {1, 2});
  flags.mutable_data<bool>()[1] = true;
  for (const char* name : {"a.npy", "a.safetensors", "a.json", "a.csv"}) {
    write_array(real_files(), folder / name, numbers);
    const Tensor read = read_array(real_files(), folder / name);
    EXPECT_EQ(read.data<int64_t>()[0], INT64_MIN) << name;
    EXPECT_EQ(read.data<int64_t>()[1], INT64_MAX) << name;
    write_array(real_files(), folder / name, flags);
    EXPECT_EQ(values_of(as_boolean(read_array(real_files(), folder / name), name)), (Values{0, 1}))
        << name;
  }
}

TEST(Arrays, of_16_bit_storage_are_written_as_text) {
  const TemporaryFolder folder;
  write_array(real_files(), folder / "a.json", storage(DType::f16, {0x3C00, 0x3555}));
  EXPECT_EQ(folder.get("a.json"), "[1.0,0.33325195]\n");
}

TEST(Arrays, as_json_have_null_for_numbers_that_are_not_finite) {
  const TemporaryFolder folder;
  write_array(real_files(), folder / "a.json",
              Tensor::of({1, 3}, std::vector<float>{INFINITY, 0.5f, NAN}));
  EXPECT_EQ(folder.get("a.json"), "[[null,0.5,null]]\n");
}

TEST(Arrays, as_text_may_be_long) {
  const TemporaryFolder folder;
  std::vector<int64_t> numbers(100'000);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(i) * 1'000'003;
  for (const char* name : {"a.json", "a.csv"}) {
    write_array(real_files(), folder / name, Tensor::of({1000, 100}, numbers));
    const Tensor read = read_array(real_files(), folder / name);
    ASSERT_EQ(read.shape(), (Shape{1000, 100}));
    EXPECT_TRUE(std::equal(numbers.begin(), numbers.end(), read.data<int64_t>()));
  }
}

TEST(Arrays, are_picked_from_safetensors_by_name) {
  const TemporaryFolder folder;
  const std::string path = folder / "w.safetensors";
  write_safetensors(real_files(), path,
                    {{"a", Tensor::of({1}, std::vector<float>{1})},
                     {"b:c", Tensor::of({1}, std::vector<float>{2})}});
  EXPECT_EQ(values_of(read_array(real_files(), path + ":b:c")), Values{2});
  const std::string error = error_of([&] { read_array(real_files(), path); });
  EXPECT_NE(error.find(R"(2 tensors: "a", "b:c"; pick one with .safetensors:NAME)"),
            std::string::npos)
      << error;
  EXPECT_NE(
      error_of([&] { read_array(real_files(), path + ":d"); }).find(R"(there is no tensor "d")"),
      std::string::npos);
}

TEST(Arrays, are_placed_by_path_and_name) {
  EXPECT_EQ(split_place("a/b.safetensors:layer.0").path, "a/b.safetensors");
  EXPECT_EQ(split_place("a/b.safetensors:layer.0").name, "layer.0");
  EXPECT_EQ(split_place("C:/a.npy").path, "C:/a.npy");
  EXPECT_EQ(split_place("a.safetensors").name, "");
  EXPECT_TRUE(is_array_place("a.safetensors:layer.0"));
  EXPECT_FALSE(is_array_place("1,2,3"));
}

TEST(Arrays, of_other_endings_are_wrong_usage) {
  for (const char* path : {"a.txt", "a", "", "a.npy:x", "a.NPY"}) {
    EXPECT_NE(error_of([&] { read_array(real_files(), path); }, ErrorKind::usage)
                  .find("its ending is none of"),
              std::string::npos);
    EXPECT_NE(error_of([&] { write_array(real_files(), path, Tensor::zeros(DType::f32, {1})); },
                       ErrorKind::usage)
                  .find("its ending is none of"),
              std::string::npos);
  }
}

TEST(Arrays, that_are_missing_or_unwritable_say_so) {
  const TemporaryFolder folder;
  const std::string missing = folder / "none/a.npy";
  EXPECT_EQ(error_of([&] { read_array(real_files(), missing); }),
            "cannot read (" + missing + "): No such file or directory");
  EXPECT_EQ(error_of([&] { write_array(real_files(), missing, Tensor::zeros(DType::f32, {1})); },
                     ErrorKind::failed),
            "cannot write (" + missing + "): No such file or directory");
}

TEST(Arrays, of_rank_3_are_not_written_as_csv) {
  const TemporaryFolder folder;
  EXPECT_NE(error_of([&] {
              write_array(real_files(), folder / "a.csv", Tensor::zeros(DType::f32, {1, 2, 3}));
            })
                .find("a .csv file has rows and columns, rank 2, and the array has rank 3; .npy, "
                      ".safetensors"),
            std::string::npos);
  EXPECT_FALSE(base::exists(real_files(), folder / "a.csv"));
}

TEST(AsFloat32, widens_float16_exactly) {
  const Tensor array = as_float32(storage(DType::f16, {0x0000, 0x8000, 0x0001, 0x03FF, 0x0400,
                                                       0x3C00, 0xC000, 0x7BFF, 0x7C00, 0xFC00}));
  EXPECT_EQ(values_of(array),
            (Values{0, 0, 0x1p-24, 0x1.ff8p-15, 0x1p-14, 1, -2, 65504, INFINITY, -INFINITY}));
  EXPECT_TRUE(std::signbit(array.data<float>()[1]));
  EXPECT_TRUE(std::isnan(as_float32(storage(DType::f16, {0x7E01})).data<float>()[0]));
}

TEST(AsFloat32, widens_bfloat16_integers_and_bools) {
  EXPECT_EQ(values_of(as_float32(storage(DType::bf16, {0x3F80, 0xC000, 0x7F80}))),
            (Values{1, -2, INFINITY}));
  EXPECT_EQ(values_of(as_float32(Tensor::of({2}, std::vector<int64_t>{-3, 16777217}))),
            (Values{-3, 16777216}));
  EXPECT_EQ(values_of(as_float32(Tensor::zeros(DType::boolean, {1}))), Values{0});
}

TEST(AsFloat32, of_a_view_keeps_its_order) {
  const Tensor array = Tensor::of({2, 2}, std::vector<int64_t>{1, 2, 3, 4}).permuted({1, 0});
  EXPECT_EQ(values_of(as_float32(array)), (Values{1, 3, 2, 4}));
}

TEST(AsInt64, takes_integers_only) {
  EXPECT_EQ(values_of(as_int64(Tensor::of({2}, std::vector<float>{-3, 16777216}), "ids")),
            (Values{-3, 16777216}));
  EXPECT_EQ(values_of(as_int64(Tensor::zeros(DType::boolean, {1}), "ids")), Values{0});
  for (const float value : {0.5f, 16777218.0f, NAN, INFINITY}) {
    const std::string error = error_of([&] {
      as_int64(Tensor::of({2}, std::vector<float>{1, value}), "ids.npy");
    });
    EXPECT_NE(error.find("array (ids.npy): element 1 is "), std::string::npos) << error;
  }
}

TEST(AsBoolean, takes_zeros_and_ones_only) {
  EXPECT_EQ(values_of(as_boolean(Tensor::of({2}, std::vector<float>{0, 1}), "mask")),
            (Values{0, 1}));
  EXPECT_EQ(values_of(as_boolean(Tensor::of({2}, std::vector<int64_t>{1, 0}), "mask")),
            (Values{1, 0}));
  EXPECT_EQ(error_of([] {
              as_boolean(Tensor::of({2}, std::vector<int64_t>{1, 2}), "mask");
            }),
            "array (mask): element 1 is 2, 0 or 1 is needed");
  EXPECT_EQ(error_of([] { as_boolean(Tensor::of({1}, std::vector<float>{-INFINITY}), "mask"); }),
            "array (mask): element 0 is -inf, 0 or 1 is needed");
}

TEST(Numbers, have_the_shortest_text_that_comes_back) {
  EXPECT_EQ(number_text(0.1f), "0.1");
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(1e-45f), "1e-45");
  EXPECT_EQ(number_text(-1.7976931348623157e308), "-1.7976931348623157e+308");
  EXPECT_EQ(number_text(std::numeric_limits<float>::infinity()), "inf");
  EXPECT_EQ(number_text(-0.0f), "-0.0");
  EXPECT_EQ(number_text(3.0), "3.0");
  EXPECT_EQ(number_text(1e20f), "1e+20");
  EXPECT_EQ(number_text(INT64_MIN), "-9223372036854775808");
}

TEST(Numbers, are_parsed_whole_or_not_at_all) {
  EXPECT_EQ(parse_number<int64_t>("-12"), -12);
  for (const char* text : {"", " 1", "1 ", "+1", "1.0", "0x1", "9223372036854775808"}) {
    EXPECT_EQ(parse_number<int64_t>(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_number<double>("1.5e3"), 1500.0);
  EXPECT_EQ(parse_number<double>("1,5"), std::nullopt);
}

TEST(Utf8, is_cut_between_code_points_in_quotes) {
  EXPECT_EQ(in_quotes("söz"), "\"söz\"");
  EXPECT_EQ(in_quotes(std::string("\xff\n\0", 3)), "\"???\"");
  const std::string cut = in_quotes(std::string(79, 'a') + "\u0259" + std::string(100, 'b'));
  EXPECT_EQ(cut, "\"" + std::string(79, 'a') + "\u0259…\"");
}

TEST(Utf8, knows_well_formed_sequences) {
  EXPECT_EQ(valid_utf8_length("aé한😀"), 10u);
  for (const char* text :
       {"\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80", "\xe2\x82", "\xe2\x28\xa1", "\xe2\x82\x28"}) {
    EXPECT_EQ(valid_utf8_length(text), 0u) << text;
  }
}

}  // namespace
}  // namespace headlight::io
