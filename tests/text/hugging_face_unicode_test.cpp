// Characters of newer Unicode in tokenizers as Hugging Face's `tokenizers` 0.23 has them, whose
// tables are older: what it gives for each text is written here.
#include <gtest/gtest.h>

#include "tests/text/support.h"

namespace headlight::text {
namespace {

using io::Json;

// Each byte is a token, so that all of a text can be read from its ids.
Tokenizer bytes_after(const Json& normalizer, const Json& pre_tokenizer) {
  Json::Object vocabulary = {{"▁", 256}, {"<unk>", 257}};
  for (int64_t byte = 0; byte < 256; ++byte) {
    constexpr char kDigits[] = "0123456789ABCDEF";
    vocabulary.emplace_back(std::string("<0x") + kDigits[byte >> 4] + kDigits[byte & 15] + ">",
                            byte);
  }
  const Json::Array decoders = {Json::Object{{"type", "ByteFallback"}},
                                Json::Object{{"type", "Fuse"}}};
  const Json::Object document = {
      {"normalizer", normalizer},
      {"pre_tokenizer", pre_tokenizer},
      {"decoder", Json::Object{{"type", "Sequence"}, {"decoders", decoders}}},
      {"model", Json::Object{{"type", "BPE"},
                             {"vocab", vocabulary},
                             {"merges", Json::Array{}},
                             {"unk_token", "<unk>"},
                             {"byte_fallback", true}}}};
  const test::TemporaryFolder folder;
  return load_tokenizer(base::real_files(), folder.put("tokenizer.json", io::json_text(document)));
}

std::string after_normalizer(const char* type, std::string_view text) {
  const Tokenizer tokenizer = bytes_after(Json::Object{{"type", type}}, Json());
  return tokenizer.decode(tokenizer.encode(text));
}

// Each piece behind a ▁.
std::string after_pre_tokenizer(const char* type, std::string_view text) {
  const Json::Object mark = {
      {"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", "always"}, {"split", false}};
  const Json::Array steps = {Json::Object{{"type", type}}, mark};
  const Tokenizer tokenizer =
      bytes_after(Json(), Json::Object{{"type", "Sequence"}, {"pretokenizers", steps}});
  return tokenizer.decode(tokenizer.encode(text));
}

void expect_unchanged(const char* normalizer, std::initializer_list<const char*> texts) {
  for (const char* text : texts) EXPECT_EQ(after_normalizer(normalizer, text), text) << normalizer;
}

TEST(HuggingFaceUnicode, has_no_decompositions_of_later_characters) {
  for (const char* form : {"NFC", "NFD", "NFKC", "NFKD"}) {
    expect_unchanged(
        form, {"\u32ff", "\ua7f2\ua7f4", "\uab69", "\U00010781\U000107ba", "\U0001e030\U0001e06d",
               "\U0001f16c", "\U0001fbf0\U0001fbf9", "\U00011938", "\U00011935\U00011930"});
  }
  EXPECT_EQ(after_normalizer("NFKC", "\u32fe\u32ffﬁ"), "ヲ\u32fffi");
}

TEST(HuggingFaceUnicode, has_later_marks_stand_between_marks_as_letters_do) {
  for (const char* form : {"NFD", "NFKD"}) {
    expect_unchanged(
        form, {"a\u0301\u089c\u0323", "a\u0301\u0c3c\u0323", "a\u0301\u1abf\u0323",
               "a\u0301\u1dfa\u0323", "a\u0301\U00010d24\u0323", "a\u0301\U00010f46\u0323",
               "a\u0301\U0001193e\u0323", "a\u0301\U0001e130\u0323", "a\u0301\U0001e4ec\u0323"});
    EXPECT_EQ(after_normalizer(form, "á\u08ca\u0301\u0323"), "a\u0301\u08ca\u0323\u0301");
  }
  expect_unchanged("NFC", {"a\u1abf\u0301", "a\u1dfa\u0323\u0301", "a\u0c3c\u0301"});
  EXPECT_EQ(after_normalizer("NFC", "a\u0301\U00010d24\u0323"), "á\U00010d24\u0323");
}

TEST(HuggingFaceUnicode, has_accents_that_are_stripped_of_unicode_9) {
  expect_unchanged("StripAccents", {"x\u07fd", "x\u0afa", "x\u1abf", "x\ua82c", "x\U00010d24",
                                    "x\U00011d31", "x\U000111c9", "x\U0001cf00", "x\U0001e4ec"});
  EXPECT_EQ(after_normalizer("StripAccents", "x\u0301\u08d4\u1885\u1cf2\U0001e944y"), "xy");
}

TEST(HuggingFaceUnicode, has_accents_and_formats_of_bert_of_unicode_8) {
  expect_unchanged("BertNormalizer",
                   {"x\u07fd", "x\u08d4", "x\u1885", "x\u1abf", "x\ua8c5", "x\ua9bd", "x\U000111c9",
                    "x\U00011438", "x\U00011938", "x\U0001e000", "x\U0001e944", "x\u0890",
                    "x\u08e2", "x\U000110cd", "x\U00013430"});
  EXPECT_EQ(after_normalizer("BertNormalizer", "x\u0301\u1734\u08e3\u200d\ue000y"), "xy");
}

TEST(HuggingFaceUnicode, has_punctuation_of_unicode_8) {
  for (const char* type : {"Punctuation", "BertPreTokenizer"}) {
    for (const char* text : {"x\u061d", "x\u09fd", "x\u0c77", "x\u1b7d", "x\u2e43", "x\u2e52",
                             "x\U00010ead", "x\U00010f55", "x\U0001144b", "x\U00011660",
                             "x\U00011b00", "x\U00016e97", "x\U0001e95e"}) {
      EXPECT_EQ(after_pre_tokenizer(type, text), std::string("▁") + text) << type;
    }
    EXPECT_EQ(after_pre_tokenizer(type, "x\u166dy\U000111c9\u2e42$"),
              "▁x▁\u166d▁y▁\U000111c9▁\u2e42▁$");
  }
}

// The words that it finds in a text are those of the text when it is read.
TEST(HuggingFaceUnicode, is_that_of_new_vocabularies_of_words) {
  const Tokenizer tokenizer = make_word("a\u0301\U00010d24\u0323 b");
  EXPECT_EQ(tokens_of(tokenizer, "a\u0301\U00010d24\u0323")[0], "á\U00010d24\u0323");
}

}  // namespace
}  // namespace headlight::text
