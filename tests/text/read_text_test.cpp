// Text files in UTF-8 and in other encodings.
#include <gtest/gtest.h>

#include "tests/base/faulty_files.h"
#include "tests/text/support.h"

namespace headlight::text {
namespace {

using base::ErrorKind;

std::string refusal(const std::string& bytes, const std::string& encoding = "") {
  return io::error_of([&] { to_utf8(bytes, "the file", encoding); });
}

TEST(Text, of_utf8_is_itself_without_its_mark) {
  EXPECT_EQ(to_utf8("çay 차\r\n", "the file"), "çay 차\r\n");
  EXPECT_EQ(to_utf8("\xef\xbb\xbfone", "the file"), "one");
  EXPECT_EQ(to_utf8("a\xef\xbb\xbf", "the file"), "a\xef\xbb\xbf");
  EXPECT_EQ(to_utf8("", "the file"), "");
  EXPECT_EQ(to_utf8("çay", "the file", "UTF-8"), "çay");
  EXPECT_EQ(to_utf8(std::string("a\0b", 3), "the file"), std::string("a\0b", 3));
}

TEST(Text, that_is_not_utf8_is_refused_with_the_byte) {
  for (const char* bytes : {"ab\x80", "ab\xc0\x80", "ab\xed\xa0\x80", "ab\xf4\x90\x80\x80",
                            "ab\xe2\x82", "ab\xf0\x82\x82\xac", "ab\xff", "ab\xc3"}) {
    EXPECT_NE(refusal(bytes).find("not UTF-8 at byte 2"), std::string::npos) << refusal(bytes);
  }
}

TEST(Text, of_other_encodings_is_named) {
  // "Bugün hava çok güzel, ışık ve gölge değişiyor." and the like, in their encodings.
  const std::string turkish =
      "Bug\xfcn hava \xe7ok g\xfczel, \xfd\xfe\xfdk ve g\xf6lge de\xf0i\xfeiyor.";
  const std::string korean = "\xbf\xc0\xb4\xc3\xc0\xba \xb3\xaf\xbe\xbe\xb0\xa1 \xc1\xc1\xb4\xd9.";
  const std::string western =
      "D\xe9j\xe0 vu \x96 \x93Stra\xdf"
      "e\x94, \xe0 la mani\xe8re fran\xe7"
      "aise";
  const std::string russian = "\xcf\xf0\xe8\xe2\xe5\xf2, \xec\xe8\xf0!";
  EXPECT_EQ(refusal(turkish),
            "text (the file): not UTF-8 at byte 3; it looks like cp1254; read it with --encoding "
            "cp1254");
  EXPECT_EQ(likely_encoding(korean), "cp949");
  EXPECT_EQ(likely_encoding(western), "cp1252");
  EXPECT_EQ(likely_encoding(russian), "cp1251");
  EXPECT_EQ(likely_encoding(std::string("\xff\xfe"
                                        "a\0b\0",
                                        6)),
            "utf-16");
  EXPECT_EQ(likely_encoding(std::string("a\0b\0\x31\x01", 6)), "utf-16le");
  EXPECT_EQ(likely_encoding(std::string("\0a\0b\x01\x31", 6)), "utf-16be");
  EXPECT_EQ(likely_encoding("\x81\x8d\x8f\x90\x9d\xff\xfe\xfd\x01"), "");
  EXPECT_NE(refusal("\x81\x8d\x8f\x90\x9d\xff\xfe\xfd\x01").find("--encoding NAME"),
            std::string::npos);
  EXPECT_EQ(to_utf8(turkish, "the file", "cp1254"),
            "Bugün hava çok güzel, ışık ve gölge değişiyor.");
  EXPECT_EQ(to_utf8(korean, "the file", "cp949"), "오늘은 날씨가 좋다.");
}

TEST(Text, far_into_a_file_names_its_encoding_too) {
  const std::string bytes = std::string(200'000, 'a') + "\ng\xfczel \xfd\xfe\xfdk de\xf0il\n";
  EXPECT_EQ(likely_encoding(bytes), "cp1254");
}

TEST(Text, is_read_in_other_encodings) {
  EXPECT_EQ(to_utf8("\xe9", "the file", "latin1"), "é");
  EXPECT_EQ(to_utf8(std::string("\xff\xfe"
                                "a\0\x31\x01",
                                6),
                    "the file", "utf-16"),
            "aı");
  EXPECT_EQ(to_utf8(std::string("\0a\x01\x31", 4), "the file", "utf-16be"), "aı");
  EXPECT_EQ(to_utf8("", "the file", "cp949"), "");
  EXPECT_EQ(to_utf8(std::string(100'000, '\xfd'), "the file", "cp1254").size(), 200'000u);
}

TEST(Text, that_is_not_of_the_named_encoding_is_refused) {
  EXPECT_EQ(refusal("abc\xff", "cp949"), "text (the file): not cp949 at byte 3");
  EXPECT_EQ(refusal("ab\xb0", "cp949"), "text (the file): not cp949 at byte 2");
  EXPECT_EQ(refusal(std::string("\0\xd8", 2), "utf-16le"),
            "text (the file): not utf-16le at byte 0");
}

TEST(Text, of_an_unknown_encoding_is_wrong_usage) {
  for (const char* name : {"cp12540", "utf-8//IGNORE", "cp1254//TRANSLIT", "a b", "\xff"}) {
    const std::string error =
        io::error_of([&] { to_utf8("a", "the file", name); }, ErrorKind::usage);
    EXPECT_NE(error.find("is unknown; utf-8"), std::string::npos) << error;
  }
}

TEST(Text, is_read_from_files) {
  const test::TemporaryFolder folder;
  const std::string path = folder.put("a.txt", "\xef\xbb\xbfsatır\n");
  EXPECT_EQ(read_text(base::real_files(), path), "satır\n");
  const std::string error = io::error_of([&] { read_text(base::real_files(), folder.path()); });
  EXPECT_NE(error.find("it is a directory"), std::string::npos) << error;
}

TEST(Text, says_so_when_a_file_cannot_be_read) {
  const test::TemporaryFolder folder;
  const std::string path = folder.put("a.txt", "some text");
  test::FaultyFiles counting;
  read_text(counting, path);
  for (int operation = 0; operation < counting.operations(); ++operation) {
    test::FaultyFiles files;
    files.fail(operation, EIO);
    const bool is_close = counting.log()[static_cast<size_t>(operation)].starts_with("close");
    if (is_close) continue;
    EXPECT_NE(io::error_of([&] { read_text(files, path); }), "no error") << operation;
  }
}

}  // namespace
}  // namespace headlight::text
