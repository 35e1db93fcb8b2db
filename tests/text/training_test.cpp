// Tokenizers made from texts: characters, words, byte-level BPE.
#include <gtest/gtest.h>

#include "headlight/text/byte_alphabet.h"
#include "tests/text/support.h"

namespace headlight::text {
namespace {

using Strings = std::vector<std::string>;

TEST(Characters, are_numbered_as_nanogpt_numbers_them) {
  const Tokenizer tokenizer = make_char("hello world\n");
  EXPECT_EQ(tokenizer.kind(), "char");
  EXPECT_EQ(tokenizer.size(), 9);
  EXPECT_EQ(tokenizer.encode("hello\n"), (Ids{4, 3, 5, 5, 6, 0}));
  EXPECT_EQ(tokenizer.decode(Ids{4, 3, 5, 5, 6, 0}), "hello\n");
  EXPECT_EQ(tokenizer.token(1), " ");
}

TEST(Characters, are_code_points) {
  const Tokenizer tokenizer = make_char("ığ한😊e\u0301");
  EXPECT_EQ(tokenizer.size(), 6);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("😊한ğ")), "😊한ğ");
}

TEST(Characters, that_are_unknown_are_named_or_become_the_unknown_token) {
  const Tokenizer plain = make_char("abc");
  EXPECT_EQ(io::error_of([&] { plain.encode("abçd"); }),
            "text (\"ç\"): is not in the vocabulary, which has no unknown token; leave it out");
  const Tokenizer with_unknown = make_char("abc", {"<unk>"});
  EXPECT_EQ(with_unknown.encode("açc"), (Ids{1, 0, 3}));
  EXPECT_EQ(with_unknown.special().unk, 0);
  EXPECT_EQ(with_unknown.decode(Ids{1, 0, 3}), "a<unk>c");
}

TEST(Characters, keep_special_tokens_apart) {
  const Tokenizer tokenizer = make_char("<start>", sequence_tokens());
  EXPECT_EQ(tokenizer.encode("<start>", {.special = true}), (Ids{1}));
  EXPECT_EQ(tokenizer.encode("<start>").size(), 7u);
  EXPECT_EQ(tokenizer.special().pad, 0);
  EXPECT_EQ(tokenizer.special().bos, 1);
  EXPECT_EQ(tokenizer.special().eos, 2);
  EXPECT_EQ(tokenizer.special().unk, 3);
}

TEST(Words, are_numbered_as_they_first_stand) {
  const Tokenizer tokenizer = make_word("the cat saw the dog");
  EXPECT_EQ(tokenizer.kind(), "word");
  EXPECT_EQ(tokenizer.size(), 4 + 4);
  EXPECT_EQ(tokenizer.encode("the dog saw a cat"), (Ids{4, 7, 6, 3, 5}));
  EXPECT_EQ(tokenizer.decode(Ids{1, 4, 5, 2}), "<start> the cat <end>");
  EXPECT_EQ(tokenizer.decode(Ids{1, 4, 5, 2}, {.special = false}), "the cat");
  EXPECT_EQ(make_word("the cat saw the dog", {}).size(), 4);
}

TEST(Words, of_decomposed_hangul_are_found) {
  const Tokenizer tokenizer = make_word("한글 과 영어");
  EXPECT_EQ(tokenizer.encode("\u1112\u1161\u11ab\u1100\u1173\u11af"), (Ids{4}));
  EXPECT_EQ(make_word("\u1112\u1161\u11ab\u1100\u1173\u11af").encode("한글"), (Ids{4}));
}

TEST(Words, that_look_special_are_unknown_unless_asked_for) {
  const Tokenizer tokenizer = make_word("a <end> b");
  EXPECT_EQ(tokenizer.size(), 6);
  EXPECT_EQ(tokenizer.encode("a <end> b"), (Ids{4, 3, 5}));
  EXPECT_EQ(tokenizer.encode("a <end> b", {.special = true}), (Ids{4, 2, 5}));
}

TEST(BpeTraining, merges_the_most_frequent_pair_first) {
  const Tokenizer tokenizer = make_bpe("abab\nabab\nabc", 258);
  EXPECT_EQ(tokenizer.size(), 258);
  EXPECT_EQ(tokenizer.token(256), "ab");
  EXPECT_EQ(tokenizer.token(257), "abab");
  EXPECT_EQ(tokens_of(tokenizer, "abab abc"), (Strings{"abab", "Ġ", "ab", "c"}));
}

TEST(BpeTraining, takes_the_lower_ids_of_equals) {
  // "xy" and "ab" stand twice each.
  EXPECT_EQ(make_bpe("xy\nab\nab\nxy", 257).token(256), "ab");
}

TEST(BpeTraining, stops_where_no_pair_repeats) {
  EXPECT_EQ(make_bpe("abc", 1000).size(), 256);
  EXPECT_EQ(make_bpe("", 1000).size(), 256);
}

TEST(BpeTraining, begins_with_special_tokens_and_all_bytes) {
  const Tokenizer tokenizer = make_bpe("aa aa", 1000, {"<pad>", "<end>"});
  EXPECT_EQ(tokenizer.special().pad, 0);
  EXPECT_EQ(tokenizer.special().eos, 1);
  EXPECT_EQ(tokenizer.token(2), "!");
  EXPECT_EQ(tokenizer.encode("a<end>", {.special = true}), (Ids{2 + 'a' - '!', 1}));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("unseen: 한글 😊")), "unseen: 한글 😊");
}

TEST(BpeTraining, of_overlapping_pairs_goes_from_left_to_right) {
  const Tokenizer tokenizer = make_bpe("aaaa\naaaa", 258);
  EXPECT_EQ(tokens_of(tokenizer, "aaaaa"), (Strings{"aaaa", "a"}));
  EXPECT_EQ(tokens_of(tokenizer, "aaa"), (Strings{"aa", "a"}));
}

TEST(BpeTraining, never_merges_into_a_special_token) {
  const Tokenizer tokenizer = make_bpe("abab abab", 1000, {"ab"});
  EXPECT_EQ(std::ranges::count(tokenizer.encode("abab"), 0), 0);
  EXPECT_EQ(tokenizer.encode("abab", {.special = true}), (Ids{0, 0}));
  EXPECT_EQ(reloaded(tokenizer).encode("abab abab"), tokenizer.encode("abab abab"));
}

TEST(BpeTraining, gives_the_same_tokenizer_every_time) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "kelime" + std::to_string(i * 7919 % 1000) + " ";
  const std::string first = make_bpe(text, 600).json();
  EXPECT_EQ(first, make_bpe(text, 600).json());
  // Where texts are cut does not matter as long as pieces stay whole.
  const size_t half = text.find(" kelime", text.size() / 2);
  const std::string_view parts[] = {std::string_view(text).substr(0, half),
                                    std::string_view(text).substr(half)};
  EXPECT_EQ(first, train_bpe(parts, {.vocabulary_size = 600}).json());
}

TEST(BpeTraining, of_one_long_piece_ends) {
  const std::string letters(1'000'000, 'a');
  const Tokenizer tokenizer = make_bpe(letters, 5000);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(letters)), letters);
  std::string mixed;
  for (uint32_t i = 0; i < 300'000; ++i) mixed += static_cast<char>('a' + i * i * 31 % 101 % 26);
  EXPECT_EQ(make_bpe(mixed, 2000).decode(make_bpe(mixed, 2000).encode(mixed)), mixed);
}

TEST(BpeTraining, refuses_sizes_that_cannot_be) {
  for (const int64_t size : {int64_t{-1}, int64_t{0}, int64_t{255}, int64_t{257}, INT64_MAX}) {
    const std::string error = io::error_of(
        [&] {
          make_bpe("a", size, {"<pad>", "<end>"});
        },
        base::ErrorKind::usage);
    EXPECT_NE(error.find("must be from 258 (256 bytes and the special tokens)"), std::string::npos)
        << error;
  }
}

TEST(SpecialTokens, that_make_no_sense_are_refused) {
  const auto refusal = [](const Strings& special) {
    return io::error_of([&] { make_bpe("a", 1000, special); });
  };
  EXPECT_NE(refusal({"<a>", "<a>"}).find("\"<a>\" stands twice"), std::string::npos);
  EXPECT_NE(refusal({""}).find("is empty"), std::string::npos);
  EXPECT_NE(refusal({"a"}).find("\"a\" is a byte's name"), std::string::npos);
  EXPECT_NE(refusal({"\xff"}).find("is not UTF-8"), std::string::npos);
  EXPECT_EQ(io::error_of([] { make_char(""); }), "tokenizer (new): the vocabulary is empty");
}

TEST(Bytes, have_one_visible_character_each) {
  EXPECT_EQ(byte_character('a'), "a");
  EXPECT_EQ(byte_character(' '), "Ġ");
  EXPECT_EQ(byte_character('\n'), "Ċ");
  EXPECT_EQ(byte_character(0), "Ā");
  EXPECT_EQ(byte_character(0xAD), "Ń");
  for (int byte = 0; byte < 256; ++byte) {
    const auto one = static_cast<unsigned char>(byte);
    EXPECT_EQ(bytes_of_token(byte_character(one)), std::string(1, static_cast<char>(byte)));
  }
  EXPECT_FALSE(bytes_of_token("a b").has_value());
  EXPECT_FALSE(bytes_of_token("한").has_value());
}

}  // namespace
}  // namespace headlight::text
