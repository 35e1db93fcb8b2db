// GGUF files: settings of every type, tensors of every type, alignment, versions.
#include "headlight/io/gguf.h"

#include "tests/io/bad_files.h"
#include "tests/io/gguf_bytes.h"
#include "tests/io/same_tensors.h"
#include "tests/places.h"

namespace headlight::io {
namespace {

using Values = std::vector<double>;

// The bytes must outlive it.
Gguf opened_gguf(const std::string& bytes) {
  return Gguf(std::make_shared<base::MemoryInput>(input_of(bytes)));
}

TEST(GgufFile, holds_the_numbers_that_the_package_gguf_gives) {
  const std::string folder = tests::source_folder() + "/tests/golden/files/";
  const Gguf file = open_gguf(base::real_files(), folder + "types.gguf");
  expect_same_tensors(file, open_tensors(base::real_files(), folder + "types.safetensors"));
  EXPECT_EQ(file.version(), 3);
  EXPECT_EQ(*file.setting("general.architecture")->text(), "llama");
  EXPECT_EQ(*file.setting("llama.context_length")->integer(), 64);
  EXPECT_EQ(*file.setting("test.text")->text(), "söz");
  EXPECT_EQ(json_text(*file.setting("test.numbers")), "[1,2,3]");
  EXPECT_EQ(json_text(*file.setting("test.texts")), R"(["a","","c"])");
  EXPECT_EQ(*file.setting("test.float")->number(), 0.5);
  EXPECT_EQ(*file.setting("test.flag")->boolean(), true);
  EXPECT_EQ(file.setting("test.none"), nullptr);
}

TEST(GgufFile, has_settings_of_every_type) {
  GgufParts parts;
  const std::string minus(8, '\xff');
  parts.settings = {
      gguf_setting("u8", 0, "\xff"),
      gguf_setting("i8", 1, "\xff"),
      gguf_setting("u16", 2, minus.substr(0, 2)),
      gguf_setting("i16", 3, minus.substr(0, 2)),
      gguf_setting("u32", 4, minus.substr(0, 4)),
      gguf_setting("i32", 5, minus.substr(0, 4)),
      gguf_setting("f32", 6, little_endian(0.25F)),
      gguf_setting("bool", 7, "\x01"),
      gguf_setting("text", 8, gguf_string("a\n")),
      gguf_setting("nested", 9,
                   gguf_array(9, 2, gguf_array(4, 1, u32(7)) + gguf_array(8, 1, gguf_string("b")))),
      gguf_setting("u64", 10, u64(INT64_MAX)),
      gguf_setting("i64", 11, minus),
      gguf_setting("f64", 12, little_endian(1e300)),
      gguf_setting("empty", 9, gguf_array(0, 0, "")),
  };
  const std::string bytes = parts.bytes();
  const Gguf file = opened_gguf(bytes);
  const std::pair<const char*, const char*> expected[] = {
      {"u8", "255"},         {"i8", "-1"},
      {"u16", "65535"},      {"i16", "-1"},
      {"u32", "4294967295"}, {"i32", "-1"},
      {"f32", "0.25"},       {"bool", "true"},
      {"text", R"("a\n")"},  {"i64", "-1"},
      {"f64", "1e+300"},     {"u64", "9223372036854775807"},
      {"empty", "[]"},       {"nested", R"([[7],["b"]])"}};
  EXPECT_EQ(file.settings().size(), std::size(expected));
  for (const auto& [key, text] : expected) {
    ASSERT_NE(file.setting(key), nullptr) << key;
    EXPECT_EQ(json_text(*file.setting(key)), text) << key;
  }
}

TEST(GgufFile, of_versions_2_and_3_has_shapes_as_others_write_them) {
  for (const uint32_t version : {2, 3}) {
    const std::string bytes = GgufParts{.version = version}.bytes();
    const tensor::Tensor x = opened_gguf(bytes).load("x");
    EXPECT_EQ(x.shape(), (tensor::Shape{2, 3}));
    EXPECT_EQ(values_of(x), (Values{1, 2, 3, 4, 5, 6}));
  }
}

TEST(GgufFile, may_set_its_alignment) {
  GgufParts parts;
  for (const size_t alignment : {8, 64, 4096}) {
    parts.settings = {gguf_setting("general.alignment", kUint32, u32(alignment))};
    parts.alignment = alignment;
    parts.tensors = {
        GgufTensor{}.bytes(),
        GgufTensor{.name = gguf_string("y"), .sizes = {}, .offset = alignment}.bytes()};
    if (alignment == 8)
      parts.tensors[1] = GgufTensor{.name = gguf_string("y"), .sizes = {}, .offset = 24}.bytes();
    parts.data = six_floats();
    parts.data.resize(alignment == 8 ? 24 : alignment);
    parts.data += little_endian(7.0F);
    for (const bool padded : {false, true}) {
      if (padded) parts.data.resize((parts.data.size() + alignment - 1) / alignment * alignment);
      const std::string bytes = parts.bytes();
      const Gguf file = opened_gguf(bytes);
      EXPECT_EQ(values_of(file.load("x")), (Values{1, 2, 3, 4, 5, 6}));
      EXPECT_EQ(values_of(file.load("y")), (Values{7}));
    }
  }
}

TEST(GgufFile, without_tensors_has_settings) {
  GgufParts parts;
  parts.tensors = {};
  parts.data = "";
  const std::string bytes = parts.bytes();
  EXPECT_TRUE(opened_gguf(bytes).entries().empty());
}

TEST(GgufFile, larger_than_a_piece_is_dequantised_block_by_block) {
  constexpr uint64_t kRows = 300;
  std::string data;
  for (uint64_t row = 0; row < kRows; ++row) {
    for (int block = 0; block < 8; ++block) {  // Q8_0: 1.0, then 32 signed bytes
      data += u16(0x3C00);
      for (uint64_t i = 0; i < 32; ++i) data += static_cast<char>((row + i) % 100);
    }
  }
  GgufParts parts;
  parts.tensors = {GgufTensor{.sizes = {256, kRows}, .type = 8}.bytes()};
  parts.data = data;
  const std::string bytes = parts.bytes();
  const Gguf file = opened_gguf(bytes);
  const tensor::Tensor x = file.load("x");
  for (uint64_t row = 0; row < kRows; ++row) {
    for (uint64_t i = 0; i < 256; ++i) {
      ASSERT_EQ(x.data<float>()[row * 256 + i], static_cast<float>((row + i % 32) % 100));
    }
  }
  EXPECT_TRUE(file.same_numbers(*file.find("x"), *file.find("x")));
}

}  // namespace
}  // namespace headlight::io
