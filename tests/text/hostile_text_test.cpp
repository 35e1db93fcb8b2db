// Texts that break tokenizers: every kind gives ids or one sentence, and what comes back is UTF-8.
#include <gtest/gtest.h>

#include "tests/text/support.h"

namespace headlight::text {
namespace {

std::vector<Tokenizer> all_kinds() {
  const std::string text = "the cat, the dog; çay ve kahve. 한글 그리고 영어 the the cat";
  return {make_char(text, {"<unk>"}), make_word(text), make_bpe(text, 300), make_word_pieces()};
}

std::string repeated(std::string_view part, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += part;
  return text;
}

TEST(HostileText, that_is_not_utf8_is_refused_by_every_kind) {
  for (const Tokenizer& tokenizer : all_kinds()) {
    for (const char* bytes :
         {"ab\x80", "ab\xc0\x80", "ab\xe0\x80\x80", "ab\xed\xa0\x80", "ab\xf4\x90\x80\x80",
          "ab\xf5\x80\x80\x80", "ab\xe2\x82", "ab\xff\xfe"}) {
      EXPECT_EQ(io::error_of([&] { tokenizer.encode(bytes); }), "text (byte 2): is not UTF-8");
    }
  }
}

TEST(HostileText, gives_ids_in_every_kind) {
  const std::vector<std::string> texts = {
      "",
      " ",
      "\n",
      "\xef\xbb\xbf"
      "after a mark",
      std::string("a\0b", 3),
      "a\r\nb\r\n",
      "line\u2028line\u2029line",
      "مرحبا\u200f\u202eabc\u202c שלום",
      "👨\u200d👩\u200d👧\u200d👦 e\ufe0f",
      "\U0010ffff\ufffe\ue000",
      repeated("\u0301\u0323", 5'000),
      "a" + repeated("\u0301", 10'000),
      repeated("\n", 1'000'000),
      repeated("\u1112\u1161\u11ab", 1'000),
      repeated("😊", 10'000),
      std::string(300'000, 'x'),
  };
  for (const Tokenizer& tokenizer : all_kinds()) {
    for (const std::string& text : texts) {
      SCOPED_TRACE(std::string(tokenizer.kind()) + ": " + text.substr(0, 20));
      const Ids ids = tokenizer.encode(text, {.special = true, .framed = true});
      for (const int64_t id : ids) ASSERT_TRUE(id >= 0 && id < tokenizer.size());
      const std::string decoded = tokenizer.decode(ids);
      EXPECT_EQ(io::valid_utf8_length(decoded), decoded.size());
      EXPECT_TRUE(tokenizer.kind() != "bpe" || decoded == text);
    }
  }
}

TEST(HostileText, of_ten_megabytes_without_a_space_ends_in_every_kind) {
  const std::string letters(10'000'000, 't');
  for (const Tokenizer& tokenizer : all_kinds()) {
    const Ids ids = tokenizer.encode(letters);
    EXPECT_FALSE(ids.empty()) << tokenizer.kind();
  }
}

// Code points of all lengths and classes, drawn by a counter.
std::string random_text(const base::Random& random, uint64_t& index) {
  constexpr char32_t kStarts[] = {0,      ' ',    'a',    0x80,   0x300,   0x400,   0x1100,
                                  0x2000, 0x4E00, 0xAC00, 0xFFF0, 0x1F600, 0x10FFC0};
  std::string text;
  const uint64_t length = random.below(index++, 40);
  for (uint64_t i = 0; i < length; ++i) {
    const char32_t start = kStarts[random.below(index++, std::size(kStarts))];
    append(text, start + static_cast<char32_t>(random.below(index++, 64)));
  }
  return text;
}

TEST(ByteLevelBpe, gives_ten_thousand_random_texts_back) {
  const Tokenizer tokenizer = make_bpe(repeated("the cat ve çay 한글 😊 12, ", 3), 320, {"<end>"});
  const base::Random random(7);
  uint64_t index = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::string text = random_text(random, index);
    ASSERT_EQ(io::valid_utf8_length(text), text.size());
    const Ids ids = tokenizer.encode(text);
    ASSERT_EQ(tokenizer.decode(ids), text);
    StreamDecoder stream(tokenizer);
    std::string joined;
    for (const int64_t id : ids) joined += stream.add(id);
    ASSERT_EQ(joined + stream.finish(), text);
  }
}

TEST(ByteLevelBpe, of_random_ids_is_utf8_and_the_same_when_streamed) {
  const Tokenizer tokenizer = make_bpe("the cat 한글", 256);
  const base::Random random(11);
  uint64_t index = 0;
  for (int i = 0; i < 10'000; ++i) {
    Ids ids(random.below(index++, 20));
    for (int64_t& id : ids) id = static_cast<int64_t>(random.below(index++, 256));
    const std::string whole = tokenizer.decode(ids);
    ASSERT_EQ(io::valid_utf8_length(whole), whole.size());
    StreamDecoder stream(tokenizer);
    std::string joined;
    for (const int64_t id : ids) {
      const std::string part = stream.add(id);
      ASSERT_EQ(io::valid_utf8_length(part), part.size());
      joined += part;
    }
    ASSERT_EQ(joined + stream.finish(), whole);
  }
}

TEST(HalfCodePoints, become_one_replacement_for_each_longest_beginning) {
  const Tokenizer tokenizer = make_bpe("", 256);
  // GPT-2's order of bytes: 0x21 … 0x7e, 0xa1 … 0xac, 0xae … 0xff, then the others.
  const auto id_of = [](unsigned char byte) -> int64_t {
    if (byte >= 0xae) return byte - 0xae + 106;
    if (byte >= 0xa1 && byte <= 0xac) return byte - 0xa1 + 94;
    if (byte >= 0x21 && byte <= 0x7e) return byte - 0x21;
    if (byte <= 0x20) return 188 + byte;
    if (byte <= 0xa0) return 188 + 33 + byte - 0x7f;
    return 255;
  };
  const auto decoded = [&](std::string_view bytes) {
    Ids ids;
    for (const char byte : bytes) ids.push_back(id_of(static_cast<unsigned char>(byte)));
    return tokenizer.decode(ids);
  };
  EXPECT_EQ(tokenizer.encode("a z"), (Ids{id_of('a'), id_of(' '), id_of('z')}));
  EXPECT_EQ(decoded("한"), "한");
  EXPECT_EQ(decoded("\xe2\x82"), "\uFFFD");
  EXPECT_EQ(decoded("\xe2\x82"
                    "a"),
            "\uFFFDa");
  EXPECT_EQ(decoded("\xf0\x9f\x98"
                    "x"),
            "\uFFFDx");
  EXPECT_EQ(decoded("\xc0\x80"), "\uFFFD\uFFFD");
  EXPECT_EQ(decoded("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(decoded("\xf4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(decoded("\xf0\x9f\x98\x8a\xf0\x9f"), "😊\uFFFD");
  EXPECT_EQ(decoded("\x80"), "\uFFFD");
  EXPECT_EQ(decoded("\xe0\xa0"), "\uFFFD");
  EXPECT_EQ(decoded("\xf0\x90"), "\uFFFD");
}

}  // namespace
}  // namespace headlight::text
