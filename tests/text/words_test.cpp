// Labels of ids, and words that a vocabulary does not have.
#include <set>

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

// A byte-level tokenizer of single bytes, as one that is trained on nothing gives.
Tokenizer byte_tokenizer() {
  const std::string_view texts[] = {"to the"};
  return train_bpe(texts, {.vocabulary_size = 256});
}

TEST(Words, whose_bytes_are_no_text_are_told_apart) {
  const Tokenizer tokenizer = byte_tokenizer();
  const std::vector<int64_t> ids = tokenizer.encode("€a");
  ASSERT_EQ(ids.size(), 4u);
  EXPECT_EQ(label_of(tokenizer, ids[0]), "⟨E2⟩");
  EXPECT_EQ(label_of(tokenizer, ids[1]), "⟨82⟩");
  EXPECT_EQ(label_of(tokenizer, ids[2]), "⟨AC⟩");
  EXPECT_EQ(label_of(tokenizer, ids[3]), "a");
  std::set<std::string> labels;
  for (int64_t id = 0; id < tokenizer.size(); ++id) {
    labels.insert(label_of(tokenizer, id));
    EXPECT_EQ(label_of(tokenizer, id).find("\uFFFD"), std::string::npos) << id;
  }
  EXPECT_EQ(labels.size(), static_cast<size_t>(tokenizer.size()));
}

TEST(Words, of_several_tokens_have_one_number) {
  const Tokenizer bytes = byte_tokenizer();
  const std::vector<int64_t> ids = bytes.encode("ab, ç d");
  ASSERT_EQ(ids.size(), 8u);  // ç has two bytes
  EXPECT_EQ(word_numbers(bytes, ids), (std::vector<int64_t>{0, 0, 1, 2, 3, 3, 4, 5}));
  const Tokenizer pieces = make_word_pieces();
  const auto id = [&](const char* token) { return *pieces.find(token); };
  EXPECT_EQ(word_numbers(pieces, std::vector<int64_t>{id("[CLS]"), id("un"), id("##aff"),
                                                      id("##able"), id("[SEP]")}),
            (std::vector<int64_t>{0, 1, 1, 1, 2}));
  const std::string_view texts[] = {"the boats"};
  const Tokenizer words = word_tokenizer(texts);
  EXPECT_EQ(word_numbers(words, words.encode("the the boats")), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_TRUE(word_numbers(words, {}).empty());
  EXPECT_EQ(word_numbers(words, std::vector<int64_t>{-1, 99}), (std::vector<int64_t>{0, 1}));
}

TEST(Words, may_be_hidden_by_a_mask_that_the_tokenizer_knows) {
  EXPECT_EQ(make_word_pieces().special().mask, 4);
  EXPECT_EQ(reloaded(make_word_pieces()).special().mask, 4);
  EXPECT_FALSE(make_word("a b").special().mask);
}

}  // namespace
}  // namespace headlight::text
