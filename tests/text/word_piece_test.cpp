// BERT's WordPiece, by the rules and by the ids that Hugging Face's BertTokenizer gives.
#include <gtest/gtest.h>

#include "tests/text/support.h"
#include "tests/text/word_piece_cases.h"

namespace headlight::text {
namespace {

using Strings = std::vector<std::string>;

TEST(WordPiece, is_what_bert_gives) {
  const std::string folder = shared_data("bert-tokenizer");
  if (folder.empty()) GTEST_SKIP() << "BERT's vocabulary is absent";
  const Tokenizer tokenizer = load_tokenizer(base::real_files(), folder);
  EXPECT_EQ(tokenizer.kind(), "wordpiece");
  EXPECT_EQ(tokenizer.size(), 30522);
  const Tokenizer again = reloaded(tokenizer);
  for (const WordPieceCase& entry : kWordPieceCases) {
    EXPECT_EQ(tokenizer.encode(entry.text, {.special = true, .framed = true}), entry.ids)
        << entry.text;
    EXPECT_EQ(again.encode(entry.text, {.special = true, .framed = true}), entry.ids) << entry.text;
  }
}

TEST(WordPiece, takes_the_longest_pieces) {
  const Tokenizer tokenizer = make_word_pieces();
  EXPECT_EQ(tokens_of(tokenizer, "unaffable"), (Strings{"un", "##aff", "##able"}));
  EXPECT_EQ(tokens_of(tokenizer, "Hello, WORLDS!"), (Strings{"hello", ",", "world", "##s", "!"}));
  EXPECT_EQ(tokens_of(tokenizer, "CAFÉ unx"), (Strings{"cafe", "[UNK]"}));
  EXPECT_EQ(tokens_of(tokenizer, "中中$"), (Strings{"中", "中", "$"}));
  EXPECT_TRUE(tokenizer.encode("").empty());
}

TEST(WordPiece, decomposes_hangul_with_accents) {
  // As BERT's own: what strips accents decomposes syllables, so a composed one is not found.
  EXPECT_EQ(tokens_of(make_word_pieces(), "한"), (Strings{"[UNK]"}));
}

TEST(WordPiece, puts_its_tokens_around_when_asked) {
  const Tokenizer tokenizer = make_word_pieces();
  EXPECT_EQ(tokenizer.encode("hello", {.framed = true}), (Ids{2, 8, 3}));
  EXPECT_EQ(tokenizer.encode("", {.framed = true}), (Ids{2, 3}));
  EXPECT_EQ(tokenizer.encode("hello [SEP]", {.special = true}), (Ids{8, 3}));
  EXPECT_EQ(std::ranges::count(tokenizer.encode("hello [SEP]"), 3), 0);
  EXPECT_EQ(tokenizer.special().pad, 0);
  EXPECT_EQ(tokenizer.special().unk, 1);
  EXPECT_EQ(tokenizer.special().bos, 2);
  EXPECT_EQ(tokenizer.special().eos, 3);
}

TEST(WordPiece, joins_pieces_and_marks) {
  const Tokenizer tokenizer = make_word_pieces();
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("Hello, worlds!")), "hello, worlds!");
  EXPECT_EQ(tokenizer.decode(Ids{2, 8, 3}), "[CLS] hello [SEP]");
  EXPECT_EQ(tokenizer.decode(Ids{2, 8, 3}, {.special = false}), "hello");
  EXPECT_EQ(tokenizer.decode(Ids{7}), "##able");
}

TEST(WordPiece, keeps_case_where_its_settings_say_so) {
  const test::TemporaryFolder folder;
  folder.put("vocab.txt", std::string(kWordPieces) + "Café\n");
  folder.put("tokenizer_config.json", R"({"do_lower_case": false})");
  const Tokenizer tokenizer = load_tokenizer(base::real_files(), folder.path());
  EXPECT_EQ(tokens_of(tokenizer, "Café Hello hello 한"), (Strings{"Café", "[UNK]", "hello", "한"}));
}

TEST(WordPiece, of_more_than_a_hundred_code_points_is_unknown) {
  const Tokenizer tokenizer = make_word_pieces(std::string(kWordPieces) + "s\n");
  EXPECT_EQ(tokenizer.encode(std::string(100, 's')).size(), 100u);
  EXPECT_EQ(tokenizer.encode(std::string(101, 's')), (Ids{1}));
}

// The words "a", "##a" and those given, of any length.
Tokenizer long_word_pieces(const std::string& tokens) {
  const test::TemporaryFolder folder;
  folder.put("tokenizer.json", R"({"model": {"type": "WordPiece", "unk_token": "[UNK]",
      "max_input_chars_per_word": 1000000000, "vocab": {"[UNK]": 0, "a": 1, "##a": 2, )" +
                                   tokens + "}}}");
  return load_tokenizer(base::real_files(), folder.path());
}

TEST(WordPiece, of_long_tokens_that_nearly_fit_takes_few_steps) {
  const std::string a(7'000, 'a');
  const Tokenizer tokenizer = long_word_pieces("\"" + a + "b\": 3, \"##" + a + "b\": 4");
  EXPECT_EQ(tokenizer.encode(std::string(20'000, 'a')).size(), 20'000u);
  EXPECT_EQ(tokenizer.encode(a + "ba" + a + "b"), (Ids{3, 2, 4}));
}

TEST(WordPiece, has_tokens_of_8000_bytes_at_most) {
  EXPECT_TRUE(io::error_of([] {
                long_word_pieces("\"" + std::string(8'001, 'b') + "\": 3");
              }).ends_with("a token has 8001 bytes, at most 8000 are read"));
}

}  // namespace
}  // namespace headlight::text
