// JSON documents: values, texts, malformed ones, the locale.
#include "headlight/io/json.h"

#include <clocale>
#include <cmath>
#include <limits>

#include "tests/base/temporary_folder.h"
#include "tests/io/bad_files.h"

namespace headlight::io {
namespace {

Json parse(std::string_view text) { return parse_json(text, "the file"); }

TEST(Json, gives_its_values) {
  const Json json = parse(R"( {"a": [1, -2.5, true, null, "x"], "b": {}} )");
  const Json::Array& list = *json.find("a")->array();
  EXPECT_EQ(list[0].integer(), 1);
  EXPECT_EQ(list[0].number(), 1.0);
  EXPECT_EQ(list[1].integer(), std::nullopt);
  EXPECT_EQ(list[1].number(), -2.5);
  EXPECT_EQ(list[2].boolean(), true);
  EXPECT_EQ(list[2].number(), std::nullopt);
  EXPECT_TRUE(list[3].is_null());
  EXPECT_EQ(*list[4].text(), "x");
  EXPECT_EQ(list[4].find("x"), nullptr);
  EXPECT_TRUE(json.find("b")->object()->empty());
  EXPECT_EQ(json.find("c"), nullptr);
  EXPECT_EQ(json.array(), nullptr);
}

TEST(Json, comes_back_as_it_was_written) {
  for (const char* text :
       {R"({"b":[1,2.5,[]],"a":{"x":{}},"c":""})", R"("\"\\\n\r\t\u0001/é한😀")",
        "-9223372036854775808", "9223372036854775807", "true", "null", "1e+300", "5e-324", "0.1"}) {
    EXPECT_EQ(json_text(parse(text)), text);
  }
}

TEST(Json, reads_integers_beyond_64_bits_as_doubles) {
  EXPECT_EQ(parse("9223372036854775808").integer(), std::nullopt);
  EXPECT_EQ(parse("9223372036854775808").number(), 0x1p63);
  EXPECT_EQ(parse("123456789012345678901234567890").number(), 123456789012345678901234567890.0);
}

TEST(Json, reads_numbers_too_small_for_a_double_as_zero) {
  EXPECT_EQ(parse("1e-999").number(), 0.0);
}

TEST(Json, writes_numbers_that_are_not_finite_as_null) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(json_text(Json(Json::Array{Json(infinity), Json(-infinity), Json(std::nan(""))})),
            "[null,null,null]");
}

TEST(Json, never_writes_half_a_code_point) { EXPECT_EQ(json_text(Json("a\xc3")), "\"a\uFFFD\""); }

TEST(Json, keeps_numbers_in_a_locale_with_commas) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  bool found = false;
  for (const char* name : {"tr_TR.UTF-8", "de_DE.UTF-8", "az_AZ.UTF-8", "fr_FR.UTF-8"}) {
    found = found || std::setlocale(LC_ALL, name);
  }
  if (!found) GTEST_SKIP() << "no locale with commas is installed";
  EXPECT_EQ(parse("[1.5]").array()->front().number(), 1.5);
  EXPECT_EQ(json_text(Json(1.5)), "1.5");
  std::setlocale(LC_ALL, before.c_str());
}

TEST(Json, is_read_from_files_up_to_a_limit) {
  const test::TemporaryFolder folder;
  const std::string path = folder.put("config.json", R"({"n_head":12})");
  EXPECT_EQ(read_json(base::real_files(), path).find("n_head")->integer(), 12);
  EXPECT_NE(error_of([&] {
              read_json(base::real_files(), path, 12);
            }).find("13 bytes, at most 12 are read"),
            std::string::npos);
}

TEST(Json, may_be_nested_64_levels_deep) {
  EXPECT_EQ(json_text(parse(std::string(64, '[') + std::string(64, ']'))).size(), 128u);
}

class BadJson : public testing::TestWithParam<BadFile> {};
TEST_P(BadJson, is_refused) {
  expect_refused(error_of([] { parse(GetParam().bytes); }), "json", GetParam().message);
}

const BadFile kDocuments[] = {
    {"empty", "", "not JSON at byte 1"},
    {"white_space", "  \n", "not JSON at byte"},
    {"cut_off", R"({"a": [1, 2)", "not JSON at byte 12"},
    {"comma_at_the_end", "[1,]", "not JSON at byte 4"},
    {"single_quotes", "{'a': 1}", "not JSON at byte 2"},
    {"comment", "[1] // one", "not JSON at byte 5"},
    {"nan", "[NaN]", "not JSON at byte 2"},
    {"infinity", "[-Infinity]", "not JSON at byte 3"},
    {"plus_sign", "[+1]", "not JSON at byte 2"},
    {"leading_zero", "[01]", "not JSON at byte 3"},
    {"number_overflow", "[1e999]", "number overflow"},
    {"half_a_surrogate", R"(["\ud800"])", "not JSON at byte"},
    {"line_break_in_a_text", "[\"a\nb\"]", "not JSON at byte 4"},
    {"nul", std::string("[1]\0", 4), "not JSON at byte 3: a NUL"},
    {"not_utf8", "[\"\xfc\"]", "not UTF-8 at byte 2"},
    {"overlong_utf8", "[\"\xc0\xaf\"]", "not UTF-8 at byte 2"},
    {"surrogate_in_utf8", "[\"\xed\xa0\x80\"]", "not UTF-8 at byte 2"},
    {"past_the_last_code_point", "[\"\xf4\x90\x80\x80\"]", "not UTF-8 at byte 2"},
    {"two_documents", "1 2", "not JSON at byte 3"},
    {"repeated_key", R"({"a":{"b":1,"c":2,"b":3}})", R"(the key "b" stands twice)"},
    {"repeated_key_by_escape", R"({"b":1,"\u0062":3})", R"(the key "b" stands twice)"},
    {"depth_65", std::string(65, '['), "nested deeper than 64 levels"},
    {"depth_100000", std::string(100'000, '['), "nested deeper than 64 levels"},
    {"depth_of_objects",
     [] {
       std::string text;
       for (int i = 0; i < 65; ++i) text += "{\"a\":";
       return text;
     }(),
     "nested deeper than 64 levels"},
};
INSTANTIATE_TEST_SUITE_P(Document, BadJson, testing::ValuesIn(kDocuments), name_of_case);

}  // namespace
}  // namespace headlight::io
