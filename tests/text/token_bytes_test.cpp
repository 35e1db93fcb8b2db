// The bytes that single tokens add to a text.
#include <gtest/gtest.h>

#include "tests/text/support.h"

namespace headlight::text {
namespace {

std::string joined_bytes(const Tokenizer& tokenizer, const std::vector<int64_t>& ids) {
  std::string bytes;
  for (size_t i = 0; i < ids.size(); ++i) bytes += tokenizer.bytes(ids[i], i == 0);
  return bytes;
}

TEST(TokenBytes, bytes_of_all_tokens_joined_are_the_text) {
  const std::string_view text = "the cat é the 한글 <|endoftext|> hat 😊";
  const Tokenizer bytes = train_bpe({&text, 1}, {.vocabulary_size = 270});
  const Tokenizer letters = char_tokenizer({&text, 1});
  const Tokenizer words = word_tokenizer({&text, 1});
  for (const Tokenizer* tokenizer : {&bytes, &letters, &words}) {
    const std::vector<int64_t> ids = tokenizer->encode(text);
    EXPECT_EQ(joined_bytes(*tokenizer, ids), text) << tokenizer->kind();
    EXPECT_EQ(tokenizer->decode(ids), text) << tokenizer->kind();
  }
}

TEST(TokenBytes, a_token_may_be_part_of_a_letter) {
  const std::string_view text = "abc";
  const Tokenizer tokenizer = train_bpe({&text, 1}, {.vocabulary_size = 256});
  const std::vector<int64_t> ids = tokenizer.encode("é");
  ASSERT_EQ(ids.size(), 2u);
  EXPECT_EQ(tokenizer.bytes(ids[0], true), "\xc3");
  EXPECT_EQ(tokenizer.bytes(ids[1], false), "\xa9");
  EXPECT_THROW(tokenizer.bytes(-1, true), base::Error);
  EXPECT_THROW(tokenizer.bytes(tokenizer.size(), true), base::Error);
}

TEST(TokenBytes, a_space_stands_before_a_later_word_and_not_before_the_first) {
  const std::string_view text = "a b";
  const Tokenizer tokenizer = word_tokenizer({&text, 1});
  EXPECT_EQ(tokenizer.bytes(*tokenizer.find("b"), true), "b");
  EXPECT_EQ(tokenizer.bytes(*tokenizer.find("b"), false), " b");
}

}  // namespace
}  // namespace headlight::text
