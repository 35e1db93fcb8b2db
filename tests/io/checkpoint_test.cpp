// Checkpoints of PyTorch: both forms, kinds of numbers, views of storages, what is a state dict.
#include "headlight/io/checkpoint.h"

#include <algorithm>

#include "tests/base/temporary_folder.h"
#include "tests/io/bad_files.h"
#include "tests/io/checkpoint_bytes.h"
#include "tests/io/same_tensors.h"
#include "tests/places.h"

namespace headlight::io {
namespace {

using base::real_files;
using pickled::dictionary;
using pickled::global;
using pickled::integer;
using pickled::integers;
using pickled::Storage;
using pickled::TensorParts;
using pickled::text;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;
using test::TemporaryFolder;

using Values = std::vector<double>;

// The bytes must outlive it.
StoredTensors opened(const std::string& bytes) {
  return open_checkpoint(std::make_shared<base::MemoryInput>(input_of(bytes)));
}

std::string golden(const std::string& name) {
  return tests::source_folder() + "/tests/golden/files/" + name;
}

TEST(Checkpoint, of_torch_holds_the_numbers_that_torch_wrote) {
  const StoredTensors expected = open_tensors(real_files(), golden("checkpoint.safetensors"));
  for (const char* name : {"archive.pt", "nested.pt", "legacy.pt"}) {
    SCOPED_TRACE(name);
    const StoredTensors got = open_tensors(real_files(), golden(name));
    expect_same_tensors(got, expected);
    EXPECT_TRUE(got.same_numbers(*got.find("weight"), *got.find("tied")));
    EXPECT_FALSE(got.same_numbers(*got.find("weight"), *got.find("transposed")));
  }
}

TEST(Checkpoint, reads_each_kind_of_numbers) {
  const std::tuple<const char*, std::string, DType, Values> cases[] = {
      {"DoubleStorage", little_endian(1.5) + little_endian(-2.0), DType::f32, {1.5, -2}},
      {"FloatStorage", little_endian(1.5F) + little_endian(-2.0F), DType::f32, {1.5, -2}},
      {"HalfStorage", u16(0x3C00) + u16(0xC000), DType::f16, {0x3C00, 0xC000}},
      {"BFloat16Storage", u16(0x3F80) + u16(0xC000), DType::bf16, {0x3F80, 0xC000}},
      {"LongStorage", u64(7) + u64(~uint64_t{0}), DType::i64, {7, -1}},
      {"IntStorage", u32(7) + u32(~uint64_t{0}), DType::i64, {7, -1}},
      {"ShortStorage", u16(7) + u16(~uint64_t{0}), DType::i64, {7, -1}},
      {"CharStorage", "\x07\xff", DType::i64, {7, -1}},
      {"ByteStorage", "\x07\xff", DType::i64, {7, 255}},
      {"BoolStorage", std::string("\x01\x00", 2), DType::boolean, {1, 0}}};
  for (const auto& [name, data, dtype, values] : cases) {
    SCOPED_TRACE(name);
    const std::string storage =
        Storage{.type = global("torch", name), .elements = integer(2)}.bytes();
    const TensorParts parts{.storage = storage, .sizes = integers({2}), .strides = integers({1})};
    auto records = checkpoint_records(pickled::whole(dictionary({{"x", parts.bytes()}})));
    records[2].bytes = data;
    const Tensor x = opened(archive_bytes({.records = records})).load("x");
    EXPECT_EQ(x.dtype(), dtype);
    EXPECT_EQ(values_of(x), values);
  }
}

TEST(Checkpoint, makes_views_of_a_storage_contiguous) {
  const std::tuple<int64_t, std::vector<int64_t>, std::vector<int64_t>, Values> cases[] = {
      {0, {2, 3}, {3, 1}, {1, 2, 3, 4, 5, 6}},
      {0, {3, 2}, {1, 3}, {1, 4, 2, 5, 3, 6}},
      {1, {2}, {3}, {2, 5}},
      {2, {2, 2}, {0, 1}, {3, 4, 3, 4}},
      {5, {}, {}, {6}},
      {0, {2, 1, 3}, {3, 77, 1}, {1, 2, 3, 4, 5, 6}},
      {6, {0, 4}, {9, 9}, {}},
      {0, {2, 2, 2}, {2, 1, 2}, {1, 3, 2, 4, 3, 5, 4, 6}}};
  for (const auto& [offset, sizes, strides, values] : cases) {
    const std::string bytes = one_tensor(
        {.offset = integer(offset), .sizes = integers(sizes), .strides = integers(strides)});
    const StoredTensors file = opened(bytes);
    const Tensor x = file.load("x");
    EXPECT_EQ(x.shape(), Shape(std::span<const int64_t>(sizes)));
    EXPECT_EQ(values_of(x), values) << x.shape().text();
    EXPECT_TRUE(file.same_numbers(*file.find("x"), *file.find("x")));
  }
}

TEST(Checkpoint, larger_than_a_window_is_read_in_any_order_of_its_axes) {
  constexpr int64_t kRows = 300;
  constexpr int64_t kColumns = 700;
  std::string data;
  for (int64_t i = 0; i < kRows * kColumns; ++i) data += little_endian(static_cast<float>(i));
  const std::string storage = Storage{.elements = integer(kRows * kColumns)}.bytes();
  const TensorParts parts{
      .storage = storage, .sizes = integers({kColumns, kRows}), .strides = integers({1, kColumns})};
  auto records = checkpoint_records(pickled::whole(dictionary({{"x", parts.bytes()}})));
  records[2].bytes = data;
  const std::string bytes = archive_bytes({.records = records});
  const Tensor x = opened(bytes).load("x");
  for (int64_t column = 0; column < kColumns; ++column) {
    for (int64_t row = 0; row < kRows; ++row) {
      ASSERT_EQ(x.data<float>()[column * kRows + row], static_cast<float>(row * kColumns + column));
    }
  }
}

TEST(Checkpoint, big_endian_ones_are_read_too) {
  auto records = checkpoint_records(pickled::whole(dictionary({{"x", pickled::tensor()}})));
  records[1].bytes = "big\n";
  for (size_t i = 0; i < records[2].bytes.size(); i += 4) {
    std::reverse(records[2].bytes.begin() + static_cast<ptrdiff_t>(i),
                 records[2].bytes.begin() + static_cast<ptrdiff_t>(i + 4));
  }
  EXPECT_EQ(values_of(opened(archive_bytes({.records = records})).load("x")),
            (Values{1, 2, 3, 4, 5, 6}));
}

TEST(Checkpoint, may_be_an_archive_of_any_make) {
  ArchiveParts parts{
      .records = checkpoint_records(pickled::whole(dictionary({{"x", pickled::tensor()}})))};
  const Values values = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(values_of(opened(archive_bytes(parts)).load("x")), values);
  parts.comment = "PK\x05\x06 is in the comment";
  EXPECT_EQ(values_of(opened(archive_bytes(parts)).load("x")), values);
  parts.zip64 = true;
  EXPECT_EQ(values_of(opened(archive_bytes(parts)).load("x")), values);
  parts.records[3].name = "archive/.data/version";
  parts.records.erase(parts.records.begin() + 1);  // no byte order: little
  EXPECT_EQ(values_of(opened(archive_bytes(parts)).load("x")), values);
}

TEST(Checkpoint, of_before_the_archive_is_read) {
  EXPECT_EQ(values_of(opened(LegacyParts{}.bytes()).load("x")), (Values{1, 2, 3, 4, 5, 6}));
  // As Python 2 wrote it: short strings of bytes, an ordered dictionary made of pairs.
  const std::string pairs =
      global("collections", "OrderedDict") + "(](](U\x01x" + pickled::tensor() + "eetR";
  EXPECT_EQ(values_of(opened(LegacyParts{.value = pairs}.bytes()).load("x")),
            (Values{1, 2, 3, 4, 5, 6}));
}

TEST(Checkpoint, takes_the_one_dictionary_of_tensors) {
  const std::string state = dictionary({{"x", pickled::tensor()}});
  const std::string optimizer =
      dictionary({{"state", "}K\x01" + dictionary({{"step", pickled::tensor()}}) + "s"}});
  for (const char* key : {"state_dict", "model", "model_state_dict"}) {
    const StoredTensors file = opened(
        checkpoint_bytes(dictionary({{"epoch", "K\x03"}, {key, state}, {"optimizer", optimizer}})));
    ASSERT_EQ(file.entries().size(), 1u);
    EXPECT_EQ(file.entries().front().name, "x");
  }
}

TEST(Checkpoint, passes_over_attributes_of_dictionaries) {
  const std::string ordered = global("collections", "OrderedDict") + ")R(" + text("x") +
                              pickled::tensor() + "u" +
                              dictionary({{"_metadata", dictionary({{"version", "K\x01"}})}}) + "b";
  EXPECT_EQ(opened(checkpoint_bytes(ordered)).entries().size(), 1u);
}

TEST(Checkpoint, with_values_that_hold_themselves_is_no_trouble) {
  // A list in itself, and a tower of dictionaries 100,000 high.
  std::string tower = "}";
  for (int i = 0; i < 100'000; ++i) tower += "}" + text("a");
  tower += "N";
  for (int i = 0; i < 100'000; ++i) tower += "s";
  const std::string value = dictionary({{"model", dictionary({{"x", pickled::tensor()}})},
                                        {"loop", std::string("]q\x05h\x05") + "a"},
                                        {"tower", tower.substr(1)}});
  EXPECT_EQ(opened(checkpoint_bytes(value)).entries().size(), 1u);
}

TEST(Checkpoint, in_shards_is_opened_by_their_index) {
  const TemporaryFolder folder;
  folder.put("pytorch_model-00001-of-00002.bin",
             checkpoint_bytes(dictionary({{"a", pickled::tensor()}})));
  folder.put("pytorch_model-00002-of-00002.bin", LegacyParts{}.bytes());
  const auto index = [&](const std::string& map) {
    return folder.put("pytorch_model.bin.index.json",
                      R"({"metadata":{},"weight_map":{)" + map + "}}");
  };
  const std::string path = index(R"("a":"pytorch_model-00001-of-00002.bin",)"
                                 R"("x":"pytorch_model-00002-of-00002.bin")");
  const StoredTensors tensors = open_tensors(real_files(), path);
  EXPECT_EQ(values_of(tensors.load("a")), values_of(tensors.load("x")));
  const auto error = [&] { return error_of([&] { open_tensors(real_files(), path); }); };
  index(R"("a":"../other.bin")");
  EXPECT_NE(error().find("checkpoint index"), std::string::npos) << error();
  EXPECT_NE(error().find("no plain file name that ends with .bin"), std::string::npos);
  index(R"("a":"model.safetensors")");
  EXPECT_NE(error().find("no plain file name that ends with .bin"), std::string::npos);
  index(R"("a":"pytorch_model-00002-of-00002.bin")");
  EXPECT_NE(error().find("tensor \"a\" is in none of the shards"), std::string::npos);
}

}  // namespace
}  // namespace headlight::io
