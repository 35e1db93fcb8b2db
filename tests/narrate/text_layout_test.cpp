// Lines of text, matrices and heads as they are drawn, for any width.
#include <gtest/gtest.h>

#include <limits>

#include "headlight/narrate/narrate.h"
#include "headlight/text/text.h"

namespace headlight::narrate {
namespace {

using tensor::Tensor;

int64_t widest(const std::string& text) {
  int64_t width = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    width = std::max(width, text::columns(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return width;
}

TEST(TextLayout, wraps_at_the_width_and_keeps_shapes_and_products_whole) {
  EXPECT_EQ(wrapped("one two three", 8), "one two\nthree\n");
  EXPECT_EQ(wrapped("the shape is (2, 4, 100) here", 18), "the shape is\n(2, 4, 100) here\n");
  EXPECT_EQ(wrapped("that makes 8 · 64 = 512 columns", 20), "that makes\n8 · 64 = 512 columns\n");
  EXPECT_EQ(wrapped("the angle is pos / 10000 here", 18), "the angle is\npos / 10000 here\n");
  EXPECT_EQ(wrapped("the number is cos 0 = 1 here", 18), "the number is\ncos 0 = 1 here\n");
  EXPECT_EQ(wrapped("로짓의 오차는 p − y입니다", 18), "로짓의 오차는\np − y입니다\n");
  EXPECT_EQ(wrapped("값은 오차입니다 − 여기에서는", 18), "값은 오차입니다 −\n여기에서는\n");
  EXPECT_EQ(wrapped("all is told: Loss: -3,9 here", 20), "all is told:\nLoss: -3,9 here\n");
  EXPECT_EQ(wrapped("side by side: 8 · 64 = 512", 24), "side by\nside: 8 · 64 = 512\n");
  EXPECT_EQ(wrapped("a\nb", 10, "  "), "  a b\n");
  EXPECT_EQ(wrapped("", 10), "");
}

TEST(TextLayout, counts_columns_of_wide_letters) {
  EXPECT_EQ(padded("가", 4), "가  ");
  EXPECT_EQ(padded_before("가", 4), "  가");
  EXPECT_EQ(cut_to("가나다라", 5), "가나…");
  EXPECT_EQ(visible("a\n\t\x1b"), "a⏎→\\x1b");
}

TEST(TextLayout, aligns_tables_and_cuts_no_number_off_where_they_are_too_wide) {
  EXPECT_EQ(table_text({{"Word", "Id"}, {"a", "12"}}, 80), "  Word  Id\n  a     12\n");
  EXPECT_LE(widest(table_text({{"Word", "a rather long text"}}, 12)), 12);
  const std::vector<std::vector<std::string>> lines = {{"Head", "Loss", "Change"},
                                                       {"decoder.0.self.0", "1.2345", "0.6789"}};
  EXPECT_EQ(table_text(lines, 34),
            "  Head              Loss    Change\n"
            "  decoder.0.self.0  1.2345  0.6789\n");
  EXPECT_EQ(table_text(lines, 33),
            "Head                Loss  Change\n"
            "decoder.0.self.0  1.2345  0.6789\n");
  for (int64_t width = 12; width <= 40; ++width) {
    const std::string table = table_text(lines, width);
    EXPECT_LE(widest(table), width) << table;
    EXPECT_NE(table.find("1.2345"), std::string::npos) << table;
    EXPECT_NE(table.find("0.6789"), std::string::npos) << table;
  }
}

std::string without_blanks(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
  return text;
}

TEST(ATableOfNumbers, fits_every_width_and_loses_nothing) {
  const std::vector<std::vector<std::string>> lines = {
      {"work", "median ms", "best ms", "GFLOP/s", "of limit"},
      {"matmul-1x2x3", "1.234", "1.200", "345.6", "93.1 %"},
      {"attention-forward-backward-causal-8x1024x768x12", "1234.567", "1200.001", "89.0", "7.5 %"},
      {"decode-gpt2", "45.678", "45.001", "", "88.8 % read"}};
  for (int64_t width = 20; width <= 120; ++width) {
    const std::string table = table_of_numbers(lines, width);
    EXPECT_LE(widest(table), width) << table;
    for (const std::vector<std::string>& line : lines) {
      if (&line == lines.data()) continue;
      for (const std::string& cell : line) {
        EXPECT_NE(without_blanks(table).find(without_blanks(cell)), std::string::npos) << table;
      }
    }
  }
  EXPECT_EQ(table_of_numbers({{"a", "x"}, {"bbb", "12"}}, 80), "a     x\nbbb  12\n");
  EXPECT_EQ(table_of_numbers({{"a", "x"}, {"bbbbbb", "12"}}, 8), "a      x\nbbbbbb\n      12\n");
  EXPECT_EQ(table_of_numbers({{"a", "xx", "yy"}, {"b", "12", "34"}}, 7), "a xx yy\nb 12 34\n");
  EXPECT_EQ(table_of_numbers({{"", "one"}, {"bb", "123456"}}, 6), "bb\n  one:\n  123456\n");
}

TEST(DrawMatrix, takes_fewer_digits_then_fewer_columns) {
  const Tensor matrix = Tensor::of({2, 3}, {0.12345F, -1, 2, 3, 4, 5});
  EXPECT_NE(draw_matrix({.width = 80}, matrix, {}).text.find("0.1235"), std::string::npos);
  const MatrixDrawing narrow = draw_matrix({.width = 24}, matrix, {});
  EXPECT_NE(narrow.text.find("0.12"), std::string::npos) << narrow.text;
  EXPECT_TRUE(narrow.left_out.nothing());
  const Tensor wide = Tensor::of({1, 64}, std::vector<float>(64, 0.5F));
  const MatrixDrawing cut = draw_matrix({.width = 40}, wide, {});
  EXPECT_GT(cut.left_out.columns, 0);
  EXPECT_EQ(cut.left_out.all_columns, 64);
  EXPECT_LE(widest(cut.text), 40);
}

TEST(DrawMatrix, has_the_decimal_sign_of_its_style) {
  const Tensor matrix = Tensor::of({1, 2}, {0.5F, -0.00001F});
  const std::string text = draw_matrix({.decimal = ","}, matrix, {}).text;
  EXPECT_NE(text.find("0,5000"), std::string::npos) << text;
  EXPECT_NE(text.find(" 0,0000"), std::string::npos) << text;
  EXPECT_EQ(text.find('.'), std::string::npos) << text;
}

TEST(DrawMatrix, writes_what_the_mask_hides_and_colours_only_when_asked) {
  const Tensor matrix = Tensor::of({1, 2}, {-std::numeric_limits<float>::infinity(), 1.5F});
  EXPECT_NE(draw_matrix({}, matrix, {}).text.find("−∞"), std::string::npos);
  EXPECT_EQ(draw_matrix({}, matrix, {}).text.find('\033'), std::string::npos);
  EXPECT_NE(draw_matrix({.colors = true}, matrix, {}).text.find("\033["), std::string::npos);
}

TEST(DrawHeads, stand_side_by_side_as_far_as_they_fit) {
  const HeadDrawing head{"Head",
                         Tensor::of({2, 2}, {1, 0, 0.5F, 0.5F}),
                         {.rows = {"you", "win"}, .columns = {"you", "win"}}};
  const std::string wide = draw_heads({.width = 80}, {head, head});
  const std::string narrow = draw_heads({.width = 20}, {head, head});
  EXPECT_EQ(std::count(wide.begin(), wide.end(), '\n'), 5);
  EXPECT_EQ(std::count(narrow.begin(), narrow.end(), '\n'), 10);
  EXPECT_NE(wide.find("█"), std::string::npos);
}

TEST(ShownIndices, are_both_ends_with_a_gap_between) {
  EXPECT_EQ(shown_indices(3, 4, 2, 1), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(shown_indices(9, 4, 2, 1), (std::vector<int64_t>{0, 1, kGap, 8}));
}

}  // namespace
}  // namespace headlight::narrate
