// Labels of ids, and words that a vocabulary does not have.
#include "headlight/text/text.h"
#include "tests/text/support.h"

namespace headlight::text {
namespace {

TEST(Words, that_are_not_in_the_vocabulary_are_listed_once_and_in_order) {
  const std::string_view texts[] = {"the boats come home"};
  const Tokenizer tokenizer = word_tokenizer(texts);
  EXPECT_EQ(unknown_words(tokenizer, "the cats come\thome with cats"),
            (std::vector<std::string>{"cats", "with"}));
  EXPECT_TRUE(unknown_words(tokenizer, "boats").empty());
  EXPECT_EQ(unknown_text({"cats", "with"}),
            "2 words are not in the vocabulary: \"cats\", \"with\"");
  EXPECT_EQ(unknown_text({"a", "b", "c", "d", "e", "f"}),
            "6 words are not in the vocabulary: \"a\", \"b\", \"c\", \"d\", \"e\", ...");
}

TEST(Words, are_called_by_their_text_and_ids_beyond_by_their_number) {
  const std::string_view texts[] = {"the boats come home"};
  const Tokenizer tokenizer = word_tokenizer(texts);
  EXPECT_EQ(label_of(tokenizer, *tokenizer.find("boats")), "boats");
  EXPECT_EQ(label_of(tokenizer, tokenizer.size()), std::to_string(tokenizer.size()));
  EXPECT_EQ(label_of(tokenizer, -1), "-1");
}

TEST(Words, may_be_hidden_by_a_mask_that_the_tokenizer_knows) {
  EXPECT_EQ(make_word_pieces().special().mask, 4);
  EXPECT_EQ(reloaded(make_word_pieces()).special().mask, 4);
  EXPECT_FALSE(make_word("a b").special().mask);
}

}  // namespace
}  // namespace headlight::text
