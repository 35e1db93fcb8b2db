// safetensors: round trips, dtypes, shards, the bytes that are written.
#include "headlight/io/safetensors.h"

#include <cmath>

#include "tests/base/faulty_files.h"
#include "tests/base/temporary_folder.h"
#include "tests/io/bad_files.h"
#include "tests/places.h"

namespace headlight::io {
namespace {

using base::real_files;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;
using test::TemporaryFolder;

using Values = std::vector<double>;

// The one tensor of a file with this dtype and data.
Tensor load_one(const std::string& dtype, int64_t elements, const std::string& data) {
  const std::string bytes =
      safetensors_bytes(R"({"x":{"dtype":")" + dtype + R"(","shape":[)" + std::to_string(elements) +
                            R"(],"data_offsets":[0,)" + std::to_string(data.size()) + "]}}",
                        data);
  return Safetensors(std::make_shared<base::MemoryInput>(input_of(bytes))).load("x");
}

std::string bytes_of(auto... values) {
  std::string bytes;
  const auto add = [&](auto value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  (add(values), ...);
  return bytes;
}

TEST(Safetensors, come_back_as_they_were_written) {
  const TemporaryFolder folder;
  Tensor half = Tensor::uninitialized(DType::f16, {2});
  half.mutable_data<uint16_t>()[0] = 0x3C00;
  half.mutable_data<uint16_t>()[1] = 0xFFFF;
  Tensor flags = Tensor::zeros(DType::boolean, {1, 3});
  flags.mutable_data<bool>()[1] = true;
  const Tensor matrix = Tensor::of({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  write_safetensors(real_files(), folder / "a.safetensors",
                    {{"matrix", matrix},
                     {"transposed", matrix.permuted({1, 0})},
                     {"ids", Tensor::of({2}, std::vector<int64_t>{INT64_MIN, INT64_MAX})},
                     {"half", half},
                     {"flags", flags},
                     {"scalar", Tensor::of(Shape{}, std::vector<float>{7})},
                     {"empty", Tensor::zeros(DType::f32, {0, 5})},
                     {"ad\"\n\u0259", Tensor::zeros(DType::bf16, {1})}},
                    {{"format", "pt"}, {"söz", "\\ \"\t"}});
  const Safetensors read = open_safetensors(real_files(), folder / "a.safetensors");
  EXPECT_EQ(read.metadata(), (Metadata{{"format", "pt"}, {"söz", "\\ \"\t"}}));
  EXPECT_EQ(read.entries().size(), 8u);
  EXPECT_EQ(values_of(read.load("matrix")), (Values{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(values_of(read.load("transposed")), (Values{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(read.load("transposed").shape(), (Shape{3, 2}));
  EXPECT_EQ(read.load("ids").data<int64_t>()[0], INT64_MIN);
  EXPECT_EQ(read.load("ids").data<int64_t>()[1], INT64_MAX);
  EXPECT_EQ(read.load("half").dtype(), DType::f16);
  EXPECT_EQ(values_of(read.load("half")), (Values{0x3C00, 0xFFFF}));
  EXPECT_EQ(values_of(read.load("flags")), (Values{0, 1, 0}));
  EXPECT_EQ(read.load("scalar").rank(), 0);
  EXPECT_EQ(values_of(read.load("scalar")), Values{7});
  EXPECT_EQ(read.load("empty").shape(), (Shape{0, 5}));
  EXPECT_EQ(read.load("ad\"\n\u0259").dtype(), DType::bf16);
}

TEST(Safetensors, of_nothing_can_be_written_and_read) {
  const TemporaryFolder folder;
  write_safetensors(real_files(), folder / "a.safetensors", {});
  EXPECT_TRUE(open_safetensors(real_files(), folder / "a.safetensors").entries().empty());
}

TEST(Safetensors, are_written_with_wide_elements_first_and_aligned) {
  const TemporaryFolder folder;
  write_safetensors(real_files(), folder / "a.safetensors",
                    {{"a", Tensor::zeros(DType::boolean, {3})},
                     {"c", Tensor::of({1}, std::vector<float>{1})},
                     {"b", Tensor::of({1}, std::vector<float>{2})},
                     {"d", Tensor::of({1}, std::vector<int64_t>{3})}});
  const std::string bytes = folder.get("a.safetensors");
  const std::string header =
      R"({"d":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]},)"
      R"("c":{"dtype":"F32","shape":[1],"data_offsets":[12,16]},"a":{"dtype":"BOOL","shape":[3],"data_offsets":[16,19]}})";
  const size_t padded = (header.size() + 7) / 8 * 8;
  EXPECT_EQ(bytes, safetensors_bytes(header + std::string(padded - header.size(), ' '),
                                     bytes_of(int64_t{3}, 2.0f, 1.0f) + std::string(3, '\0')));
}

TEST(Safetensors, convert_other_numbers_while_they_are_read) {
  EXPECT_EQ(values_of(load_one("F64", 2, bytes_of(0.5, -double{INFINITY}))),
            (Values{0.5, -INFINITY}));
  expect_refused(error_of([] { load_one("F64", 2, bytes_of(0.5, -1e300)); }), "safetensors",
                 "element 1 is -1e+300, beyond float32");
  EXPECT_EQ(values_of(load_one("I32", 2, bytes_of(int32_t{-5}, INT32_MAX))),
            (Values{-5, INT32_MAX}));
  EXPECT_EQ(values_of(load_one("I16", 2, bytes_of(int16_t{-5}, int16_t{300}))), (Values{-5, 300}));
  EXPECT_EQ(values_of(load_one("I8", 2, bytes_of(int8_t{-5}, int8_t{100}))), (Values{-5, 100}));
  EXPECT_EQ(values_of(load_one("U64", 1, bytes_of(uint64_t{1} << 40))), (Values{0x1p40}));
  EXPECT_EQ(values_of(load_one("U32", 1, bytes_of(UINT32_MAX))), (Values{UINT32_MAX}));
  EXPECT_EQ(values_of(load_one("U16", 1, bytes_of(uint16_t{65535}))), (Values{65535}));
  EXPECT_EQ(values_of(load_one("U8", 2, bytes_of(uint8_t{0}, uint8_t{255}))), (Values{0, 255}));
  EXPECT_EQ(load_one("F64", 1, bytes_of(0.5)).dtype(), DType::f32);
  EXPECT_EQ(load_one("U8", 1, bytes_of(uint8_t{1})).dtype(), DType::i64);
}

TEST(Safetensors, convert_arrays_that_are_longer_than_a_piece) {
  std::string data;
  Values expected;
  for (int32_t i = 0; i < 50'000; ++i) {
    data += bytes_of(i);
    expected.push_back(i);
  }
  EXPECT_EQ(values_of(load_one("I32", 50'000, data)), expected);
}

TEST(Safetensors, may_have_white_space_before_the_header) {
  const std::string bytes = safetensors_bytes(
      " \n\t{\"x\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}  ", "a");
  const Safetensors tensors(std::make_shared<base::MemoryInput>(input_of(bytes)));
  EXPECT_EQ(values_of(tensors.load("x")), Values{'a'});
}

TEST(Safetensors, without_the_wanted_tensor_name_the_first_ones) {
  const TemporaryFolder folder;
  std::vector<NamedTensor> tensors;
  for (const char* name : {"f", "e", "d", "c", "b", "a"})
    tensors.push_back({name, Tensor::zeros(DType::f32, {1})});
  write_safetensors(real_files(), folder / "a.safetensors", tensors);
  const Safetensors read = open_safetensors(real_files(), folder / "a.safetensors");
  EXPECT_EQ(read.find("g"), nullptr);
  const std::string error = error_of([&] { read.load("g"); });
  EXPECT_NE(error.find(R"(there is no tensor "g" among its 6 tensors: "a", "b", "c", "d", "e", …)"),
            std::string::npos)
      << error;
}

TEST(Safetensors, cannot_be_written_with_a_name_twice_or_a_reserved_one) {
  const TemporaryFolder folder;
  const Tensor one = Tensor::zeros(DType::f32, {1});
  EXPECT_NE(error_of([&] {
              write_safetensors(real_files(), folder / "a.safetensors", {{"x", one}, {"x", one}});
            }).find(R"(the name "x" is given twice)"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              write_safetensors(real_files(), folder / "a.safetensors", {{"__metadata__", one}});
            }).find("is reserved"),
            std::string::npos);
  EXPECT_FALSE(base::exists(real_files(), folder / "a.safetensors"));
}

TEST(Safetensors, in_shards_are_read_as_one) {
  const TemporaryFolder folder;
  const auto values = [](float value) { return Tensor::of({1}, std::vector<float>{value}); };
  write_safetensors(real_files(), folder / "m-1.safetensors", {{"a", values(1)}, {"c", values(3)}},
                    {{"format", "pt"}});
  write_safetensors(real_files(), folder / "m-2.safetensors", {{"b", values(2)}});
  const std::string index =
      folder.put("m.safetensors.index.json",
                 R"({"metadata":{"total_size":12,"more":[{"x":null}]},"weight_map":)"
                 R"({"a":"m-1.safetensors","b":"m-2.safetensors","c":"m-1.safetensors"}})");
  const Safetensors read = open_safetensors(real_files(), index);
  EXPECT_EQ(read.entries().size(), 3u);
  EXPECT_EQ(read.metadata(), (Metadata{{"format", "pt"}}));
  for (const auto& [name, value] :
       {std::pair("a", 1.0), std::pair("b", 2.0), std::pair("c", 3.0)}) {
    EXPECT_EQ(values_of(read.load(name)), Values{value});
  }
}

TEST(Safetensors, are_left_as_they_were_when_a_write_fails) {
  const TemporaryFolder folder;
  folder.put("a.safetensors", "old");
  test::FaultyFiles files;
  files.fail(6, ENOSPC);  // the numbers, after the length and the header
  const std::string error = error_of(
      [&] {
        write_safetensors(files, folder / "a.safetensors", {{"x", Tensor::zeros(DType::f32, {1})}});
      },
      base::ErrorKind::out_of_memory);
  EXPECT_NE(error.find("No space left on device"), std::string::npos) << error;
  EXPECT_EQ(folder.get("a.safetensors"), "old");
}

// What PyTorch's own writer made is read: the shared golden files.
TEST(Safetensors, of_other_programs_are_read) {
  const std::string path = tests::shared_folder() + "/golden/module-torch-cross.safetensors";
  if (!base::exists(real_files(), path)) GTEST_SKIP() << path << " is absent";
  const Safetensors golden = open_safetensors(real_files(), path);
  EXPECT_FALSE(golden.metadata().empty());
  EXPECT_GT(golden.entries().size(), 5u);
  for (const Safetensors::Entry& entry : golden.entries()) {
    EXPECT_EQ(golden.load(entry).elements(), entry.array.shape.elements());
  }
}

}  // namespace
}  // namespace headlight::io
