// Models that were split into several GGUF files are read as one; parts that are missing or not
// what they should be are named.
#include <gtest/gtest.h>

#include "headlight/io/gguf.h"
#include "tests/base/temporary_folder.h"
#include "tests/io/bad_files.h"
#include "tests/io/gguf_bytes.h"

namespace headlight::io {
namespace {

constexpr uint32_t kUint16 = 2;

struct Part {
  std::string tensor = "x";  // empty: there is none
  int number = 0;
  int count = 3;
  int tensors = 3;

  std::string bytes() const {
    GgufParts parts;
    parts.settings.push_back(gguf_setting("split.no", kUint16, u16(number)));
    parts.settings.push_back(gguf_setting("split.count", kUint16, u16(count)));
    parts.settings.push_back(gguf_setting("split.tensors.count", kUint32, u32(tensors)));
    parts.tensors.clear();
    parts.data.clear();
    if (!tensor.empty()) {
      parts.tensors = {GgufTensor{.name = gguf_string(tensor)}.bytes()};
      parts.data = six_floats();
    }
    return parts.bytes();
  }
};

class SplitGguf : public testing::Test {
 protected:
  void put(const std::string& name, const Part& part) { folder_.put(name, part.bytes()); }
  void put_all() {
    put("m-00001-of-00003.gguf", {.tensor = "x"});
    put("m-00002-of-00003.gguf", {.tensor = "z", .number = 1});
    put("m-00003-of-00003.gguf", {.tensor = "y", .number = 2});
  }
  std::string error(const std::string& name = "m-00001-of-00003.gguf") const {
    return error_of([&] { open_gguf(base::real_files(), folder_ / name); });
  }
  void expect_error(const std::string& why, const std::string& name = "m-00001-of-00003.gguf") {
    const std::string found = error(name);
    EXPECT_NE(found.find(why), std::string::npos) << found;
    EXPECT_EQ(found.rfind("gguf (", 0), 0u) << found;
    EXPECT_EQ(found.find('\n'), std::string::npos) << found;
  }

  test::TemporaryFolder folder_;
};

TEST_F(SplitGguf, is_one_file_with_the_tensors_of_all_parts) {
  put_all();
  const Gguf file = open_gguf(base::real_files(), folder_ / "m-00001-of-00003.gguf");
  ASSERT_EQ(file.entries().size(), 3u);
  EXPECT_EQ(file.path_of(*file.find("y")), folder_ / "m-00003-of-00003.gguf");
  for (const Gguf::Entry& entry : file.entries()) {
    EXPECT_EQ(values_of(file.load(entry)), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  }
  EXPECT_EQ(*file.setting("general.architecture")->text(), "llama");
}

TEST_F(SplitGguf, may_have_settings_alone_in_its_first_part) {
  put("m-00001-of-00002.gguf", {.tensor = "", .count = 2, .tensors = 1});
  put("m-00002-of-00002.gguf", {.tensor = "x", .number = 1, .count = 2, .tensors = 1});
  EXPECT_EQ(open_gguf(base::real_files(), folder_ / "m-00001-of-00002.gguf").entries().size(), 1u);
}

TEST_F(SplitGguf, without_all_parts_names_the_first_that_is_missing) {
  put("m-00001-of-00003.gguf", {.tensor = "x"});
  expect_error("2 of its 3 parts are missing, the first is \"" +
               (folder_ / "m-00002-of-00003.gguf") + "\"");
  put("m-00002-of-00003.gguf", {.tensor = "z", .number = 1});
  expect_error("1 of its 3 parts are missing, the first is \"" +
               (folder_ / "m-00003-of-00003.gguf") + "\"");
}

TEST_F(SplitGguf, is_opened_by_its_first_part) {
  put_all();
  expect_error("it is part 2 of 3; name the first, " + (folder_ / "m-00001-of-00003.gguf"),
               "m-00002-of-00003.gguf");
}

TEST_F(SplitGguf, under_another_name_is_refused) {
  put("model.gguf", {});
  expect_error("it is part 1 of 3, so that its name must end with -00001-of-00003.gguf",
               "model.gguf");
}

TEST_F(SplitGguf, whose_parts_disagree_is_refused) {
  put_all();
  put("m-00002-of-00003.gguf", {.tensor = "z", .number = 2});
  expect_error("it says that it is part 3 of 3, by its name it is part 2 of 3");
  put("m-00002-of-00003.gguf", {.tensor = "z", .number = 1, .count = 4});
  expect_error("it says that it is part 2 of 4, by its name it is part 2 of 3");
  folder_.put("m-00002-of-00003.gguf", GgufParts{}.bytes());
  expect_error("m-00002-of-00003.gguf): split.count is missing");
  put("m-00002-of-00003.gguf", {.tensor = "y", .number = 1});
  expect_error("tensor \"y\" is in ");
  put("m-00002-of-00003.gguf", {.tensor = "", .number = 1});
  expect_error("its parts hold 2 tensors, split.tensors.count is 3");
  folder_.put("m-00002-of-00003.gguf", "GGUF");
  expect_error("m-00002-of-00003.gguf): 4 bytes, the header needs 24");
}

TEST_F(SplitGguf, with_wrong_numbers_is_refused) {
  const auto refused = [&](const std::string& setting, const std::string& why) {
    GgufParts parts;
    parts.settings.push_back(setting);
    folder_.put("m.gguf", parts.bytes());
    expect_error(why, "m.gguf");
  };
  refused(gguf_setting("split.count", kUint16, u16(0)),
          "split.count is 0, it must be from 1 to 65535");
  refused(gguf_setting("split.count", kUint32, u32(65'536)), "split.count is 65536");
  refused(gguf_setting("split.count", kText, gguf_string("3")), "split.count is \"3\"");
  refused(gguf_setting("split.count", kUint16, u16(3)), "split.no is missing");
  put("m-00004-of-00003.gguf", {.number = 3});
  expect_error("split.no is 3, it must be from 0 to 2", "m-00004-of-00003.gguf");
}

TEST(GgufFile, is_no_folder) {
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder / "model.gguf");
  folder.put("model.gguf/config.json", "{}");
  folder.put("other.gguf", "");
  EXPECT_FALSE(is_gguf_file(base::real_files(), folder / "model.gguf"));
  EXPECT_TRUE(is_gguf_file(base::real_files(), folder / "other.gguf"));
  EXPECT_FALSE(is_gguf_file(base::real_files(), folder / "model.gguf/config.json"));
}

}  // namespace
}  // namespace headlight::io
