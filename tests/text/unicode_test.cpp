// Classes of code points, normal forms, lower case, words.
#include <gtest/gtest.h>

#include "tests/text/support.h"

namespace headlight::text {
namespace {

TEST(CodePoints, are_read_and_written_in_every_length) {
  for (const char32_t value : {U'\0', U'a', U'\x7f', U'\x80', U'\u07ff', U'\u0800', U'\ud7ff',
                               U'\ue000', U'\uffff', U'\U00010000', U'\U0010ffff'}) {
    std::string text;
    append(text, value);
    EXPECT_EQ(io::valid_utf8_length(text), text.size());
    EXPECT_EQ(code_point_at(text, 0).value, value);
    EXPECT_EQ(code_point_at(text, 0).length, text.size());
  }
}

TEST(CodePoints, belong_to_their_classes) {
  EXPECT_TRUE(is_letter(U'ı') && is_letter(U'한') && is_letter(U'中') && !is_letter(U'1'));
  EXPECT_TRUE(is_number(U'7') && is_number(U'½') && is_number(U'Ⅷ') && !is_number(U'x'));
  EXPECT_TRUE(is_punctuation(U'!') && is_punctuation(U'…') && !is_punctuation(U'$'));
  EXPECT_TRUE(is_mark(U'\u0301') && is_nonspacing_mark(U'\u0301') && !is_mark(U'a'));
  EXPECT_TRUE(is_mark(U'\u0903') && !is_nonspacing_mark(U'\u0903'));
  EXPECT_TRUE(is_control_or_private(U'\u200d') && is_control_or_private(U'\x07'));
  EXPECT_TRUE(is_control_or_private(U'\ue000') && !is_control_or_private(U' '));
  EXPECT_FALSE(is_control_or_private(U'\u0378'));  // unassigned
  EXPECT_TRUE(is_word(U'_') && is_word(U'é') && is_word(U'Ⓐ') && is_word(U'\u200d'));
  EXPECT_FALSE(is_word(U'-') || is_word(U'½') || is_word(U'€'));
}

TEST(CodePoints, of_white_space_are_those_of_the_property) {
  int count = 0;
  for (char32_t c = 0; c <= 0x10FFFF; ++c) count += is_white_space(c) ? 1 : 0;
  EXPECT_EQ(count, 25);
  EXPECT_TRUE(is_white_space(U'\u0085') && is_white_space(U'\u00a0') && is_white_space(U'\u3000'));
  EXPECT_FALSE(is_white_space(U'\u200b') || is_white_space(U'\x1c') || is_white_space(U'\u180e'));
}

TEST(NormalForms, compose_and_decompose) {
  EXPECT_EQ(normalized("e\u0301", NormalForm::nfc), "é");
  EXPECT_EQ(normalized("é", NormalForm::nfd), "e\u0301");
  EXPECT_EQ(normalized("한글", NormalForm::nfd), "\u1112\u1161\u11ab\u1100\u1173\u11af");
  EXPECT_EQ(normalized("\u1112\u1161\u11ab\u1100\u1173\u11af", NormalForm::nfc), "한글");
  EXPECT_EQ(normalized("\u1100\u1161\u11a7가\u11a7\u11a7각", NormalForm::nfc),
            "가\u11a7가\u11a7\u11a7각");
  EXPECT_EQ(normalized("\u11a7\u0301e\u0301", NormalForm::nfkc), "\u11a7\u0301é");
  EXPECT_EQ(normalized("ﬁ²", NormalForm::nfc), "ﬁ²");
  EXPECT_EQ(normalized("ﬁ²ＡＢ", NormalForm::nfkc), "fi2AB");
  EXPECT_EQ(normalized("Ａ\u0301", NormalForm::nfkd), "A\u0301");
  EXPECT_EQ(normalized("", NormalForm::nfc), "");
}

TEST(NormalForms, order_marks_by_their_class) {
  EXPECT_EQ(normalized("a\u0301\u0323", NormalForm::nfd), "a\u0323\u0301");
  EXPECT_EQ(normalized("q\u0307\u0323", NormalForm::nfc), "q\u0323\u0307");
  EXPECT_EQ(normalized("a\u0301\u0302", NormalForm::nfd), "a\u0301\u0302");
}

TEST(NormalForms, of_a_million_unordered_marks_take_no_hours) {
  std::string marks = "a";
  for (int i = 0; i < 500'000; ++i) marks += "\u0301\u0323";
  const std::string ordered = normalized(marks, NormalForm::nfd);
  EXPECT_EQ(ordered.size(), marks.size());
  EXPECT_EQ(ordered.substr(0, 5), "a\u0323\u0323");
  EXPECT_TRUE(ordered.ends_with("\u0301\u0301"));
}

TEST(LowerCase, follows_the_language) {
  EXPECT_EQ(lower("IĞDIR İZMİR ışık"), "iğdir i\u0307zmi\u0307r ışık");
  EXPECT_EQ(lower("IĞDIR İZMİR ışık", "tr"), "ığdır izmir ışık");
  EXPECT_EQ(lower("İşıq QIZIL Ə", "az"), "işıq qızıl ə");
  EXPECT_EQ(lower("I\u0307stanbul", "tr"), "istanbul");
  EXPECT_EQ(lower("I\u0307", "en"), "i\u0307");
  EXPECT_EQ(lower("ÄÖÜ ΣΊΣΥΦΟΣ ПРИВЕТ 한글"), "äöü σίσυφοσ привет 한글");
}

TEST(Words, stand_between_white_space_of_any_kind) {
  EXPECT_EQ(words(" a\tbc\u00a0d\u3000\u2028e\n"),
            (std::vector<std::string_view>{"a", "bc", "d", "e"}));
  EXPECT_TRUE(words("").empty());
  EXPECT_TRUE(words(" \n ").empty());
  EXPECT_EQ(words("one").size(), 1u);
}

TEST(Columns, are_two_for_hangul_however_it_is_composed) {
  EXPECT_EQ(columns("abc ğış"), 7);
  EXPECT_EQ(columns("헤드"), 4);
  EXPECT_EQ(columns(normalized("헤드", NormalForm::nfd)), 4);
  EXPECT_EQ(columns(normalized("ğ", NormalForm::nfd)), 1);
  EXPECT_EQ(columns("−∞ √ █"), 6);
  EXPECT_EQ(columns(""), 0);
}

TEST(Unicode, is_asked_for_utf8_only) {
  const char* expected = "text (byte 1): is not UTF-8";
  EXPECT_EQ(io::error_of([] { check_utf8("a\xc0\x80"); }), expected);
  EXPECT_EQ(io::error_of([] { normalized("a\xed\xa0\x80", NormalForm::nfc); }), expected);
  EXPECT_EQ(io::error_of([] { lower("a\x80"); }), expected);
  EXPECT_EQ(io::error_of([] { words("a\xf4\x90\x80\x80"); }), expected);
}

}  // namespace
}  // namespace headlight::text
