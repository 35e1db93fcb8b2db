// GPT-2's byte-level BPE, by its own files and cases.
#include <gtest/gtest.h>

#include "headlight/text/splitter.h"
#include "tests/text/support.h"

namespace headlight::text {
namespace {

class Gpt2 : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = shared_data("gpt2-tokenizer");
    if (folder_.empty()) GTEST_SKIP() << "GPT-2's tokenizer files are absent";
  }

  // Loaded once for all tests.
  const Tokenizer& gpt2() const {
    static const Tokenizer tokenizer = load_tokenizer(base::real_files(), folder_);
    return tokenizer;
  }

  void expect_cases(const Tokenizer& tokenizer) const {
    const io::Json cases = io::read_json(base::real_files(), folder_ + "/cases.json");
    ASSERT_EQ(cases.array()->size(), 36u);
    for (const io::Json& entry : *cases.array()) {
      const std::string& text = *entry.find("text")->text();
      Ids expected;
      for (const io::Json& id : *entry.find("ids")->array()) expected.push_back(*id.integer());
      EXPECT_EQ(tokenizer.encode(text), expected) << text;
      EXPECT_EQ(tokenizer.decode(expected), text);
    }
  }

  std::string folder_;
};

TEST_F(Gpt2, encodes_its_cases) {
  expect_cases(gpt2());
  EXPECT_EQ(gpt2().size(), 50257);
  EXPECT_EQ(gpt2().kind(), "bpe");
  EXPECT_EQ(gpt2().token(262), "Ġthe");
}

TEST_F(Gpt2, is_the_same_under_either_pair_of_names) {
  const test::TemporaryFolder folder;
  for (const auto& [from, to] :
       {std::pair("encoder.json", "vocab.json"), {"vocab.bpe", "merges.txt"}}) {
    std::filesystem::copy_file(folder_ + "/" + from, folder / to);
  }
  expect_cases(load_tokenizer(base::real_files(), folder.path()));
  expect_cases(load_tokenizer(base::real_files(), folder / "vocab.json"));
  expect_cases(load_tokenizer(base::real_files(), folder / "merges.txt"));
}

TEST_F(Gpt2, is_the_same_as_tokenizer_json) {
  const Tokenizer again = reloaded(gpt2());
  expect_cases(again);
  EXPECT_EQ(again.json(), gpt2().json());
  EXPECT_EQ(again.special().eos, 50256);
}

TEST_F(Gpt2, makes_its_special_token_only_when_asked) {
  const std::string text = "a<|endoftext|>b";
  EXPECT_EQ(gpt2().encode(text, {.special = true}), (Ids{64, 50256, 65}));
  const Ids plain = gpt2().encode(text);
  EXPECT_EQ(std::ranges::count(plain, 50256), 0);
  EXPECT_EQ(gpt2().decode(plain), text);
  EXPECT_EQ(gpt2().decode(Ids{64, 50256, 65}), text);
  EXPECT_EQ(gpt2().decode(Ids{64, 50256, 65}, {.special = false}), "ab");
  EXPECT_TRUE(gpt2().is_special(50256));
  EXPECT_EQ(gpt2().special().eos, 50256);
  EXPECT_FALSE(gpt2().special().pad.has_value());
}

TEST_F(Gpt2, tokenizes_ten_megabytes_without_a_space) {
  const std::string letters(10'000'000, 'a');
  const Ids ids = gpt2().encode(letters);
  EXPECT_EQ(ids.size(), 2'500'000u);
  EXPECT_EQ(gpt2().decode(ids), letters);
  const std::string newlines(1'000'000, '\n');
  EXPECT_EQ(gpt2().decode(gpt2().encode(newlines)), newlines);
}

TEST_F(Gpt2, gives_whole_code_points_as_they_come) {
  const std::string text = "😊 ปี 한글 naïve";
  StreamDecoder stream(gpt2());
  std::string joined;
  for (const int64_t id : gpt2().encode(text)) {
    const std::string part = stream.add(id);
    EXPECT_EQ(io::valid_utf8_length(part), part.size());
    EXPECT_EQ(part.find("\uFFFD"), std::string::npos);
    joined += part;
  }
  EXPECT_EQ(joined, text);
  EXPECT_EQ(stream.finish(), "");
}

std::vector<std::string> pieces_of(std::string_view text) {
  std::vector<std::string> pieces;
  split_as_gpt2(text, [&](std::string_view piece) { pieces.emplace_back(piece); });
  return pieces;
}

TEST(Gpt2Pieces, are_those_of_its_expression) {
  using Strings = std::vector<std::string>;
  EXPECT_EQ(pieces_of("Hello world"), (Strings{"Hello", " world"}));
  EXPECT_EQ(pieces_of("  two   three"), (Strings{" ", " two", "  ", " three"}));
  EXPECT_EQ(pieces_of("end  "), (Strings{"end", "  "}));
  EXPECT_EQ(pieces_of("a\n\nb"), (Strings{"a", "\n", "\n", "b"}));
  EXPECT_EQ(pieces_of("a\n b"), (Strings{"a", "\n", " b"}));
  EXPECT_EQ(pieces_of("it's we'll I'M 's"),
            (Strings{"it", "'s", " we", "'ll", " I", "'", "M", " '", "s"}));
  EXPECT_EQ(pieces_of("x1½y"), (Strings{"x", "1½", "y"}));
  EXPECT_EQ(pieces_of("a--b !?"), (Strings{"a", "--", "b", " !?"}));
  EXPECT_EQ(pieces_of("a\u00a0b"), (Strings{"a", "\u00a0", "b"}));
  EXPECT_EQ(pieces_of("\u3000 한"), (Strings{"\u3000", " 한"}));
  EXPECT_EQ(pieces_of("e\u0301"), (Strings{"e", "\u0301"}));
  EXPECT_EQ(pieces_of("''s"), (Strings{"''", "s"}));
  EXPECT_EQ(pieces_of(" "), (Strings{" "}));
  EXPECT_TRUE(pieces_of("").empty());
}

}  // namespace
}  // namespace headlight::text
