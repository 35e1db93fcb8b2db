// Files of SentencePiece, as they should be and as they should not.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "tests/text/support.h"

namespace headlight::text {
namespace {

// The wire format, written.
std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

std::string number(int field, uint64_t value) {
  return varint(static_cast<uint64_t>(field) << 3) + varint(value);
}

std::string bytes(int field, const std::string& content) {
  return varint(static_cast<uint64_t>(field) << 3 | 2) + varint(content.size()) + content;
}

std::string four(int field, float value) {
  std::string result = varint(static_cast<uint64_t>(field) << 3 | 5);
  const auto bits = std::bit_cast<uint32_t>(value);
  for (int shift = 0; shift < 32; shift += 8) result += static_cast<char>(bits >> shift);
  return result;
}

std::string piece(const std::string& text, float score, int type = 1) {
  return bytes(1, bytes(1, text) + four(2, score) + number(3, static_cast<uint64_t>(type)));
}

const std::string kUnknown = piece("<unk>", 0, 2);
const std::string kUnigram = kUnknown + piece("<s>", 0, 3) + piece("</s>", 0, 3) + piece("▁a", -1) +
                             piece("b", -2) + piece("▁", -3) + piece("ab", -1.5);
// Without a table of replacements.
const std::string kPlain = bytes(3, number(3, 1));

std::string all_bytes() {
  constexpr const char* kDigits = "0123456789ABCDEF";
  std::string result;
  for (int i = 0; i < 256; ++i) {
    result += piece(std::string("<0x") + kDigits[i >> 4] + kDigits[i & 15] + ">", 0, 6);
  }
  return result;
}

Tokenizer loaded(const std::string& content, const std::string& name = "tokenizer.model") {
  const test::TemporaryFolder folder;
  return load_tokenizer(base::real_files(), folder.put(name, content));
}

TEST(SentencePiece, finds_the_best_pieces) {
  const Tokenizer tokenizer = loaded(kUnigram + kPlain);
  EXPECT_EQ(tokenizer.kind(), "unigram");
  EXPECT_EQ(tokens_of(tokenizer, "abab a  "), (std::vector<std::string>{"▁a", "b", "ab", "▁a"}));
  EXPECT_EQ(tokenizer.encode("xy"), (Ids{5, 0}));
  EXPECT_EQ(tokenizer.decode(Ids{3, 4, 3}), "ab a");
  EXPECT_EQ(tokenizer.special().bos, 1);
  EXPECT_EQ(tokenizer.special().eos, 2);
  EXPECT_EQ(tokenizer.special().unk, 0);
}

TEST(SentencePiece, prefers_the_pieces_of_its_user) {
  const Tokenizer tokenizer =
      loaded(kUnknown + piece("d", -5.5F) + piece("a", -5) + piece("b", -2.5F) + piece("da", -6) +
             piece("ab", 0, 4) + piece("▁", -9) + kPlain);
  EXPECT_EQ(tokens_of(tokenizer, "dab"), (std::vector<std::string>{"▁", "d", "ab"}));
}

TEST(SentencePiece, merges_by_scores) {
  const std::string trainer = bytes(2, number(3, 2));
  const Tokenizer tokenizer =
      loaded(kUnknown + piece("<s>", 0, 3) + piece("a", -9) + piece("b", -9) + piece("▁", -9) +
             piece("ab", -2) + piece("ba", -1) + trainer + kPlain);
  EXPECT_EQ(tokenizer.kind(), "bpe");
  EXPECT_EQ(tokens_of(tokenizer, "aba"), (std::vector<std::string>{"▁", "a", "ba"}));
  EXPECT_EQ(tokenizer.encode("", {.framed = true}), (Ids{1}));
}

TEST(SentencePiece, takes_bytes_for_what_it_does_not_know) {
  const std::string trainer = bytes(2, number(3, 2) + number(35, 1));
  const Tokenizer tokenizer = loaded(kUnknown + all_bytes() + piece("▁", -9) + trainer + kPlain);
  const Ids ids = tokenizer.encode("é");
  EXPECT_EQ(ids, (Ids{257, 1 + 0xC3, 1 + 0xA9}));
  EXPECT_EQ(tokenizer.decode(ids), "é");
  EXPECT_EQ(tokenizer.decode(Ids{1 + 0xC3, 257, 1 + 0x41}), "\uFFFD A");
  // A byte is shown one by one where bytes are no text.
  EXPECT_EQ(tokenizer.decode(Ids{1 + 0xE2, 1 + 0x82, 1 + 0x41}), "\uFFFD\uFFFDA");
}

TEST(SentencePiece, has_extra_tokens_for_t5) {
  const Tokenizer tokenizer = loaded(kUnigram + kPlain, "spiece.model");
  EXPECT_EQ(tokenizer.size(), 107);
  EXPECT_EQ(tokenizer.find("<extra_id_0>"), 106);
  EXPECT_EQ(tokenizer.find("<extra_id_99>"), 7);
  EXPECT_EQ(tokenizer.encode("a", {.framed = true}), (Ids{3, 2}));
  EXPECT_EQ(tokenizer.encode("a<extra_id_1>", {.special = true}), (Ids{3, 105}));
}

TEST(SentencePiece, of_marian_is_told_the_language) {
  const test::TemporaryFolder folder;
  folder.put("source.spm", kUnigram + kPlain);
  folder.put("target.spm", kUnknown + piece("▁c", -1) + kPlain);
  folder.put("vocab.json", R"({"</s>":0,"<unk>":1,"▁a":2,"b":3,">>tur<<":4,"▁c":5,"<pad>":6})");
  const Tokenizer source = load_tokenizer(base::real_files(), folder.path());
  EXPECT_EQ(source.encode(">>tur<<ab", {.framed = true}), (Ids{4, 2, 3, 0}));
  EXPECT_EQ(source.encode(">>xyz<<ab"), (Ids{1, 2, 3}));
  EXPECT_EQ(source.encode("c"), (Ids{1, 1}));
  const Tokenizer target = load_target_tokenizer(base::real_files(), folder.path());
  EXPECT_EQ(target.encode("c c"), (Ids{5, 5}));
  EXPECT_EQ(source.decode(Ids{5, 2, 3, 0}, {.special = false}), "c ab");
  EXPECT_EQ(reloaded(source).encode(">>tur<<ab"), (Ids{4, 2, 3}));
}

TEST(SentencePiece, pieces_that_look_like_bytes_in_small_letters_are_text) {
  const std::string trainer = bytes(2, number(3, 2) + number(35, 1));
  const Tokenizer tokenizer =
      loaded(kUnknown + all_bytes() + piece("<0x0a>", -1) + trainer + kPlain);
  EXPECT_EQ(tokenizer.decode(Ids{11, 257}), "\n<0x0a>");
  EXPECT_EQ(tokenizer.bytes(257, false), "<0x0a>");
}

TEST(SentencePiece, long_texts_take_little_more_than_themselves) {
  const std::string trainer = bytes(2, number(3, 2) + number(35, 1));
  const Tokenizer bpe = loaded(kUnknown + all_bytes() + piece("a", -1) + piece("aa", -2) +
                               piece("▁", -9) + trainer + kPlain);
  EXPECT_EQ(bpe.encode(std::string(1'000'000, 'a')).size(), 500'001u);
  const Tokenizer unigram = loaded(kUnigram + kPlain);
  EXPECT_EQ(unigram.encode(std::string(1'000'000, 'b')).size(), 1'000'001u);
  EXPECT_EQ(unigram.encode(std::string(1'000'000, 'x')).size(), 2u);
}

const std::vector<io::BadFile> kBadFiles = {
    {"empty", "", "the vocabulary is empty"},
    {"text", "hello", "field 13 is of the kind 4, which is not read"},
    {"json", R"({"version": "1.0"})", "is of the kind 3, which is not read"},
    {"number_cut_short", "\x08\x80", "a number is cut short"},
    {"key_cut_short", "\x80", "a number is cut short"},
    {"number_of_eleven_bytes", "\x08" + std::string(10, '\xff') + "\x01", "more than 64 bits"},
    {"number_beyond_64_bits", "\x08" + std::string(9, '\xff') + "\x02", "more than 64 bits"},
    {"field_zero", std::string("\x00\x01", 2), "no field has the number 0"},
    {"field_too_high", varint(uint64_t{1} << 33) + "\x01", "no field has the number"},
    {"length_past_the_end",
     "\x0a\x05"
     "a",
     "a field of 5 bytes, 1 are left"},
    {"length_of_64_bits", "\x0a" + varint(UINT64_MAX), "a field of 18446744073709551615 bytes"},
    {"four_bytes_cut_short", bytes(1, bytes(1, "a") + "\x15\x01\x02"), "a field of 4 bytes"},
    {"eight_bytes_cut_short", "\x09\x01\x02", "a field of 8 bytes, 2 are left"},
    {"group", "\x0b\x0c", "is of the kind 3"},
    {"kind_six", "\x0e", "is of the kind 6"},
    {"kind_seven", "\x0f", "is of the kind 7"},
    {"pieces_as_numbers", number(1, 5), "field 1 is not a text or a message"},
    {"trainer_as_a_number", kUnigram + number(2, 5), "field 2 is not a text or a message"},
    {"piece_as_a_number", bytes(1, number(1, 5)), "piece 0, byte 4: field 1 is not a text"},
    {"score_as_a_number", bytes(1, bytes(1, "a") + number(2, 1)), "is not a number of four bytes"},
    {"type_as_a_text", bytes(1, bytes(1, "a") + bytes(3, "a")), "field 3 is not a whole number"},
    {"type_beyond", bytes(1, bytes(1, "a") + number(3, 7)), "piece 0 is of the type 7"},
    {"type_zero", bytes(1, bytes(1, "a") + number(3, 0)), "types are 1 to 6"},
    {"type_negative", bytes(1, bytes(1, "a") + number(3, UINT64_MAX)), "is of the type -1"},
    {"piece_empty", kUnknown + piece("", 0), "piece 1 is empty"},
    {"piece_missing", kUnknown + bytes(1, four(2, 1)), "piece 1 is empty"},
    {"piece_not_utf8", kUnknown + piece("\xff", 0), "piece 1 is not UTF-8"},
    {"piece_with_a_nul", kUnknown + piece(std::string("a\0b", 3), 0), "piece 1 holds a NUL"},
    {"score_nan", kUnknown + piece("a", NAN), "piece 1 has no finite score"},
    {"score_infinite", kUnknown + piece("a", -INFINITY), "piece 1 has no finite score"},
    {"piece_twice", kUnknown + piece("a", 0) + piece("a", 0), R"("a" has two ids, 1 and 2)"},
    {"piece_too_long", kUnknown + piece(std::string(70'000, 'a'), 0), "has 70000 bytes"},
    {"unknown_missing", piece("a", 0), "there is no unknown piece"},
    {"unknown_twice", kUnknown + piece("<u>", 0, 2), "two pieces are unknown, 0 and 1"},
    {"byte_without_fallback", kUnknown + piece("<0x41>", 0, 6), "though byte_fallback is false"},
    {"byte_of_other_letters", kUnknown + piece("<0xZZ>", 0, 6), "is no byte from <0x00>"},
    {"byte_below", kUnknown + piece("<0x-1>", 0, 6), "is no byte from <0x00>"},
    {"byte_in_small_letters", kUnknown + piece("<0xff>", 0, 6), "is no byte from <0x00>"},
    {"bytes_missing", kUnknown + bytes(2, number(35, 1)), "all 256 bytes, 0 are there"},
    {"model_of_words", kUnigram + bytes(2, number(3, 3)), "is of the type 3 (words)"},
    {"model_of_characters", kUnigram + bytes(2, number(3, 4)), "is of the type 4 (characters)"},
    {"model_of_another_type", kUnigram + bytes(2, number(3, 9)), "is of the type 9, read are"},
    {"flag_as_a_text", kUnigram + bytes(2, bytes(35, "yes")), "field 35 is not a whole number"},
    {"name_as_a_number", kUnigram + bytes(2, number(46, 1)), "field 46 is not a text"},
    {"prefix_as_a_text", kUnigram + bytes(3, bytes(3, "yes")), "field 3 is not a whole number"},
    {"charsmap_as_a_number", kUnigram + bytes(3, number(2, 1)), "field 2 is not a text"},
    {"charsmap_too_short", kUnigram + bytes(3, bytes(2, "abc")), "has no length"},
    {"charsmap_cut_short", kUnigram + bytes(3, bytes(2, std::string("\x08\0\0\0abcd", 8))),
     "is cut short"},
    {"charsmap_of_nothing", kUnigram + bytes(3, bytes(2, std::string(5, '\0'))),
     "is not made of units of four bytes"},
    {"charsmap_without_an_end",
     kUnigram + bytes(3, bytes(2, std::string("\x04\0\0\0\0\0\0\0a", 9))), "end with a NUL"},
    {"charsmap_of_long_texts",
     kUnigram +
         bytes(3, bytes(2, std::string("\x04\0\0\0\0\0\0\0", 8) + std::string(300, 'a') + '\0')),
     "a text of more than 256 bytes"},
    {"a_million_empty_pieces",
     [] {
       std::string pieces;
       for (int i = 0; i < 1'000'000; ++i) pieces += std::string("\x0a\0", 2);
       return pieces;
     }(),
     "piece 0 is empty"},
    {"a_piece_a_hundred_thousand_times",
     [] {
       std::string pieces = kUnknown;
       for (int i = 0; i < 100'000; ++i) pieces += piece("a", 0);
       return pieces;
     }(),
     R"("a" has two ids, 1 and 2)"},
    {"denormalizer", kUnigram + bytes(5, bytes(2, "x")), "denormalizer_spec"},
    {"tiktoken", "IQ== 0\nIg== 1\nIw== 2\n", "a list of tiktoken's is not supported"},
};

TEST(BadSentencePiece, is_refused_with_a_reason) {
  for (const io::BadFile& file : kBadFiles) {
    SCOPED_TRACE(file.name);
    const std::string error = io::error_of([&] { loaded(file.bytes); });
    EXPECT_NE(error.find("/tokenizer.model): "), std::string::npos) << error;
    EXPECT_NE(error.find(file.message), std::string::npos) << error;
    EXPECT_LT(error.size(), 400u) << error;
  }
}

// Every beginning and every changed byte of a good file gives a tokenizer or one error.
TEST(BadSentencePiece, of_any_bytes_is_read_or_refused) {
  const std::string whole = kUnigram + bytes(2, number(3, 1) + bytes(46, "<s>")) + kPlain;
  int refused = 0;
  const auto read = [&](const std::string& content) {
    try {
      const Tokenizer tokenizer = loaded(content);
      tokenizer.decode(tokenizer.encode("ab xy"));
    } catch (const base::Error& error) {
      ++refused;
      EXPECT_EQ(error.kind(), base::ErrorKind::bad_input) << error.what();
    }
  };
  for (size_t length = 0; length < whole.size(); ++length) read(whole.substr(0, length));
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const int change : {1, 0x80, 0xFF}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ change);
      read(changed);
    }
  }
  EXPECT_GT(refused, 100);
}

TEST(BadSentencePiece, of_another_model_is_refused_by_name) {
  const auto refusal = [](const std::string& content, const std::string& config) {
    const test::TemporaryFolder folder;
    folder.put("spiece.model", content);
    folder.put("tokenizer_config.json", config);
    return io::error_of([&] { load_tokenizer(base::real_files(), folder.path()); });
  };
  EXPECT_NE(refusal(kUnigram, R"({"tokenizer_class":"AlbertTokenizer"})").find("AlbertTokenizer"),
            std::string::npos);
  EXPECT_NE(refusal(kUnigram + piece("[CLS]", 0, 3) + piece("[SEP]", 0, 3), "{}")
                .find("tokenizer.json is needed"),
            std::string::npos);
  EXPECT_NE(refusal(kUnigram, R"({"extra_ids":-1})").find("\"extra_ids\" is not"),
            std::string::npos);
  EXPECT_NE(refusal(kUnigram, R"({"sp_model_kwargs":{"enable_sampling":true}})")
                .find("\"sp_model_kwargs\" is not supported"),
            std::string::npos);
}

TEST(BadSentencePiece, of_marian_names_the_file_that_is_wrong) {
  const test::TemporaryFolder folder;
  folder.put("source.spm", kUnigram + kPlain);
  const auto refusal = [&](const std::string& vocabulary) {
    folder.put("vocab.json", vocabulary);
    return io::error_of([&] { load_tokenizer(base::real_files(), folder.path()); });
  };
  EXPECT_NE(refusal("[]").find("vocab.json): is not an object"), std::string::npos);
  EXPECT_NE(refusal(R"({"a":0})").find("is missing"), std::string::npos);
  EXPECT_NE(refusal(R"({"</s>":0,"<unk>":1,"<pad>":3})").find("no token has the id 2"),
            std::string::npos);
  folder.put("source.spm", "x");
  EXPECT_NE(refusal(R"({"</s>":0,"<unk>":1,"<pad>":2})").find("source.spm"), std::string::npos);
}

}  // namespace
}  // namespace headlight::text
