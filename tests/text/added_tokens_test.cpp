// How added tokens are found in texts, and what they are to the model and to who decodes them.
#include <gtest/gtest.h>

#include <chrono>

#include "tests/text/support.h"

namespace headlight::text {
namespace {

Tokenizer parsed(const std::string& json) { return parse_tokenizer(json, "the file"); }

std::string lower_case_words(const std::string& added) {
  return R"({"normalizer":{"type":"Lowercase"},"pre_tokenizer":{"type":"Whitespace"},"added_tokens":[)" +
         added +
         R"(],"model":{"type":"WordLevel","unk_token":"?","vocab":{"?":0,"a":1,"b":2,"c":3}}})";
}

// "a", a space and a line's end as bytes, with these added tokens.
Tokenizer bytes_with(const std::string& tokens) {
  return parsed(R"({"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},"decoder":)"
                R"({"type":"ByteLevel"},"added_tokens":[)" +
                tokens +
                R"(],"model":{"type":"BPE","merges":[],"vocab":{"a":0,"Ġ":1,"b":2,"Ċ":3}}})");
}

TEST(AddedTokens, are_found_before_one_takes_the_white_space_beside_it) {
  const Tokenizer tokenizer =
      bytes_with(R"({"id":4,"content":"<x>","special":false,"normalized":false,"rstrip":true},)"
                 R"({"id":5,"content":"\n","special":false,"normalized":false})");
  EXPECT_EQ(tokenizer.encode("a<x>\nb"), (Ids{0, 4, 5, 2}));
  EXPECT_EQ(tokenizer.encode("a<x> \nb"), (Ids{0, 4, 5, 2}));
  EXPECT_EQ(tokenizer.encode("a<x>\n b"), (Ids{0, 4, 5, 1, 2}));
  EXPECT_EQ(tokenizer.encode("<x>  a"), (Ids{4, 0}));
}

TEST(AddedTokens, that_begin_behind_the_white_space_of_another_may_have_nothing_left) {
  const Tokenizer tokenizer =
      bytes_with(R"({"id":4,"content":"<x>","special":false,"normalized":false,"rstrip":true},)"
                 R"({"id":5,"content":"\n\n","special":false,"normalized":false,"lstrip":true,)"
                 R"("rstrip":true})");
  EXPECT_EQ(tokenizer.encode("<x> \n\n b"), (Ids{4, 2}));
  EXPECT_EQ(tokenizer.encode("a\n\n\n\nb"), (Ids{0, 5, 2}));
  EXPECT_EQ(tokenizer.encode("a \n\n"), (Ids{0, 5}));
}

TEST(AddedTokens, that_are_special_hide_shorter_ones_where_they_are_plain_text) {
  const Tokenizer tokenizer =
      bytes_with(R"({"id":4,"content":"<a>","special":true,"normalized":false},)"
                 R"({"id":5,"content":"<a","special":false,"normalized":false})");
  EXPECT_EQ(tokenizer.encode("<a> <a"), (Ids{0, 1, 5}));
  EXPECT_EQ(tokenizer.encode("<a> <a", {.special = true}), (Ids{4, 1, 5}));
  // Nobody takes a template's own token away by what is written behind it.
  MarkedText text;
  text.append("<a").append(">b", true);
  EXPECT_EQ(tokenizer.encode(text), (Ids{5, 2}));
  EXPECT_EQ(tokenizer.encode(MarkedText::all_given("<a>")), (Ids{0}));
}

TEST(AddedTokens, of_many_lengths_take_no_more_time_than_one) {
  io::Json::Array tokens;
  for (int64_t i = 1; i <= 3000; ++i) {
    tokens.emplace_back(
        io::Json::Object{{"id", i + 3},
                         {"content", std::string(static_cast<size_t>(i), 'x') + "z"},
                         {"special", i % 2 == 0},
                         {"normalized", false}});
  }
  const std::string list = io::json_text(tokens);
  const Tokenizer tokenizer = bytes_with(list.substr(1, list.size() - 2));
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(tokenizer.encode(std::string(4'000'000, 'x')), Ids{});
  EXPECT_EQ(tokenizer.encode("a" + std::string(2000, 'x') + "zb", {.special = true}),
            (Ids{0, 2003, 2}));
  MarkedText text;
  for (int i = 0; i < 200; ++i) text.append(std::string(3000, 'x'), true).append("z");
  EXPECT_EQ(tokenizer.encode(text).size(), 200u);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(AddedTokens, are_no_tokens_of_the_model) {
  const std::string word =
      R"("added_tokens":[{"id":3,"content":"ab","special":false,"normalized":false,"single_word":true}],)";
  const Tokenizer pieces =
      parsed(R"({"pre_tokenizer":{"type":"WhitespaceSplit"},)" + word +
             R"("model":{"type":"WordPiece","unk_token":"?","vocab":{"?":0,"a":1,"##b":2}}})");
  EXPECT_EQ(pieces.encode("ab abb"), (Ids{3, 1, 2, 2}));
  EXPECT_EQ(reloaded(pieces).encode("ab abb"), (Ids{3, 1, 2, 2}));
  const Tokenizer words =
      parsed(R"({"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Punctuation"},)"
             R"({"type":"WhitespaceSplit"}]},)" +
             word + R"("model":{"type":"WordLevel","unk_token":"?","vocab":{"?":0,"a":1,"b":2}}})");
  EXPECT_EQ(words.encode("ab ab_ a"), (Ids{3, 0, 0, 1}));
  const Tokenizer characters = parsed(
      R"({"added_tokens":[{"id":2,"content":"c","special":false,"normalized":false,"single_word":true}],)"
      R"("model":{"type":"BPE","unk_token":"?","vocab":{"?":0,"a":1},"merges":[]}})");
  EXPECT_EQ(characters.encode("ca"), (Ids{0, 1}));
}

TEST(AddedTokens, that_are_normalized_are_decoded_so) {
  const Tokenizer tokenizer =
      parsed(lower_case_words(R"({"id":4,"content":"NeW","special":true,"normalized":true})"));
  EXPECT_EQ(tokenizer.decode(Ids{1, 4}), "a new");
  EXPECT_EQ(tokenizer.bytes(4, true), "new");
  EXPECT_EQ(tokenizer.token(4), "NeW");
}

TEST(AddedTokens, are_bytes_where_all_their_letters_stand_for_one) {
  const Tokenizer tokenizer =
      bytes_with(R"({"id":4,"content":"<Ġa>","special":true,"normalized":false},)"
                 R"({"id":5,"content":"<Ġ a>","special":true,"normalized":false})");
  EXPECT_EQ(tokenizer.decode(Ids{4, 5}), "< a><Ġ a>");
}

}  // namespace
}  // namespace headlight::text
