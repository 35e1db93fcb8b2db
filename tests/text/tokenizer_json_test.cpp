// What tokenizer.json may hold, read and written.
#include <gtest/gtest.h>

#include "tests/base/faulty_files.h"
#include "tests/text/support.h"

namespace headlight::text {
namespace {

using Strings = std::vector<std::string>;

Tokenizer parsed(const std::string& json) { return parse_tokenizer(json, "the file"); }

std::string words_with(const std::string& members,
                       const std::string& splitter = "WhitespaceSplit") {
  return R"({"pre_tokenizer":{"type":")" + splitter + R"("},)" + members +
         R"("model":{"type":"WordLevel","unk_token":"?","vocab":{"?":0,"a":1,"b":2,"é":3,"ab":4}}})";
}

std::string bpe_with(const std::string& merges, const std::string& settings = "") {
  return R"({"pre_tokenizer":{"type":"ByteLevel")" + settings +
         R"(},"decoder":{"type":"ByteLevel"},"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2,"Ġ":3,"Ġab":4,"<0x-1>":5,"<0xZZ>":6},"merges":)" +
         merges + "}}";
}

TEST(TokenizerJson, reads_merges_as_texts_and_as_pairs) {
  for (const char* merges : {R"(["a b","Ġ ab"])", R"([["a","b"],["Ġ","ab"]])"}) {
    const Tokenizer tokenizer = parsed(bpe_with(merges, R"(,"add_prefix_space":false)"));
    EXPECT_EQ(tokenizer.encode("ab ab ba"), (Ids{2, 4, 3, 1, 0}));
    EXPECT_EQ(tokenizer.decode(Ids{2, 4, 3, 1, 0}), "ab ab ba");
  }
}

TEST(TokenizerJson, puts_a_space_first_where_it_says_so) {
  const Tokenizer tokenizer = parsed(bpe_with(R"(["a b","Ġ ab"])", R"(,"add_prefix_space":true)"));
  EXPECT_EQ(tokenizer.encode("ab"), (Ids{4}));
  EXPECT_EQ(tokenizer.encode(" ab"), (Ids{4}));
  EXPECT_TRUE(tokenizer.encode("").empty());
}

TEST(TokenizerJson, takes_tokens_that_look_like_bytes_for_text) {
  const Tokenizer tokenizer = parsed(bpe_with("[]"));
  EXPECT_EQ(tokenizer.decode(Ids{5, 6}), "<0x-1><0xZZ>");
}

// As `tokenizers` does: published tokenizers lack bytes that nobody writes.
TEST(TokenizerJson, leaves_out_bytes_without_a_token) {
  const Tokenizer tokenizer = parsed(bpe_with(R"(["a b","Ġ ab"])", R"(,"add_prefix_space":false)"));
  EXPECT_EQ(tokenizer.encode("acb"), (Ids{2}));
  EXPECT_EQ(tokenizer.encode("c"), (Ids{}));
}

// The text of a special token is that token only where it is asked for.
TEST(TokenizerJson, never_merges_to_a_special_token) {
  const Tokenizer tokenizer =
      parsed(R"({"added_tokens":[{"content":"ab","id":2,"special":true}],)" +
             bpe_with(R"(["a b","Ġ ab"])", R"(,"add_prefix_space":false)").substr(1));
  EXPECT_EQ(tokenizer.encode("ab"), (Ids{0, 1}));
  EXPECT_EQ(tokenizer.encode("ab", {.special = true}), (Ids{2}));
  EXPECT_EQ(reloaded(tokenizer).json(), tokenizer.json());
}

// `tokenizers` rounds scores twice as it reads them, and the last bit decides which of two orders
// of the same pieces is taken; classes of transformers are given them as they are.
TEST(TokenizerJson, chooses_among_equal_pieces_by_scores_as_others_read_them) {
  const std::string json =
      R"({"model":{"type":"Unigram","unk_id":0,"vocab":[["?",0.0],["bbbbbbbb",-9.121744988329139]]}})";
  const std::string text(25, 'b');
  EXPECT_EQ(parsed(json).encode(text), (Ids{0, 1, 1, 1}));
  EXPECT_EQ(reloaded(parsed(json)).encode(text), (Ids{0, 1, 1, 1}));
  EXPECT_EQ(reloaded(parsed(json)).json(), parsed(json).json());
  const test::TemporaryFolder folder;
  folder.put("tokenizer.json", json);
  folder.put("tokenizer_config.json", R"({"tokenizer_class":"T5Tokenizer"})");
  EXPECT_EQ(load_tokenizer(base::real_files(), folder.path()).encode(text), (Ids{1, 1, 1, 0}));
}

TEST(TokenizerJson, may_have_a_nul_in_a_token) {
  const Tokenizer tokenizer = parsed(
      R"({"pre_tokenizer":{"type":"WhitespaceSplit"},"model":{"type":"WordLevel","vocab":{"a\u0000b":0}}})");
  EXPECT_EQ(tokenizer.encode(std::string_view("a\0b", 3)), (Ids{0}));
  EXPECT_EQ(tokenizer.token(0), std::string("a\0b", 3));
  EXPECT_EQ(reloaded(tokenizer).token(0), std::string("a\0b", 3));
}

TEST(TokenizerJson, normalises_by_its_steps_in_their_order) {
  const auto encoded = [](const std::string& normalizer, std::string_view text) {
    return parsed(words_with(R"("normalizer":)" + normalizer + ",")).encode(text);
  };
  EXPECT_EQ(encoded("null", "E\u0301"), (Ids{0}));
  EXPECT_EQ(encoded(R"({"type":"NFC"})", "e\u0301"), (Ids{3}));
  EXPECT_EQ(encoded(R"({"type":"NFKC"})", "ａｂ"), (Ids{4}));
  EXPECT_EQ(encoded(R"({"type":"NFKD"})", "é"), (Ids{0}));
  EXPECT_EQ(encoded(R"({"type":"Lowercase"})", "AB É"), (Ids{4, 3}));
  EXPECT_EQ(
      encoded(
          R"({"type":"Sequence","normalizers":[{"type":"NFD"},{"type":"StripAccents"},{"type":"Lowercase"}]})",
          "Á B\u0323"),
      (Ids{1, 2}));
  EXPECT_EQ(encoded(R"({"type":"BertNormalizer","lowercase":false,"strip_accents":false})", "É é"),
            (Ids{0, 3}));
}

TEST(TokenizerJson, replaces_texts_and_white_space_and_strips) {
  const auto normalised = [](const std::string& steps, std::string_view text) {
    const Tokenizer tokenizer = parsed(
        R"({"normalizer":{"type":"Sequence","normalizers":[)" + steps +
        R"(]},"pre_tokenizer":{"type":"Split","pattern":{"Regex":"[\\s\\S]"},"behavior":"Isolated","invert":false},
        "decoder":{"type":"Fuse"},"model":{"type":"WordLevel","vocab":{"a":0,"b":1," ":2,"\u3000":3}}})");
    return tokenizer.decode(tokenizer.encode(text));
  };
  const std::string aa_to_b = R"({"type":"Replace","pattern":{"String":"aa"},"content":"b"})";
  EXPECT_EQ(normalised(aa_to_b, "aaaa aaa"), "bb ba") << "from left to right, once";
  EXPECT_EQ(normalised(aa_to_b, ""), "");
  EXPECT_EQ(normalised(aa_to_b + R"(,{"type":"Replace","pattern":{"String":"bb"},"content":""})",
                       "aaaaa"),
            "a");
  EXPECT_EQ(normalised(R"({"type":"Replace","pattern":{"Regex":"\\s+"},"content":" "})",
                       " a \t\n b\u00a0\u3000"),
            " a b ");
  EXPECT_EQ(normalised(R"({"type":"Strip","strip_left":true,"strip_right":true})", "\u3000 a b \n"),
            "a b");
  EXPECT_EQ(normalised(R"({"type":"Strip","strip_left":true,"strip_right":false})", " a "), "a ");
  EXPECT_EQ(normalised(R"({"type":"Strip","strip_left":false,"strip_right":true})", " a "), " a");
  EXPECT_EQ(normalised(R"({"type":"Strip"})", "\t "), "");
}

TEST(TokenizerJson, splits_words_from_marks) {
  const Tokenizer tokenizer = parsed(words_with("", "Whitespace"));
  EXPECT_EQ(tokens_of(tokenizer, "a,b  ab!?é"), (Strings{"a", "?", "b", "ab", "?", "é"}));
}

TEST(TokenizerJson, finds_added_tokens_before_splitting) {
  const Tokenizer tokenizer = parsed(words_with(
      R"("added_tokens":[{"content":"<x>","id":5,"special":true},{"content":"@@","id":6,"special":false},
      {"content":"<x>>","id":7,"special":true},{"content":"<m>","id":8,"special":true,"lstrip":true,"rstrip":true}],)"));
  EXPECT_EQ(tokenizer.encode("a@@b"), (Ids{1, 6, 2}));
  EXPECT_EQ(tokenizer.encode("a<x>b"), (Ids{0}));
  EXPECT_EQ(tokenizer.encode("a<x>b<x>>@@", {.special = true}), (Ids{1, 5, 2, 7, 6}));
  EXPECT_EQ(tokenizer.encode("a  <m>\t b", {.special = true}), (Ids{1, 8, 2}));
  EXPECT_EQ(tokenizer.encode("\u3000<m>\u3000", {.special = true}), (Ids{8}));
  EXPECT_TRUE(tokenizer.is_special(5));
  EXPECT_FALSE(tokenizer.is_special(6));
}

TEST(TokenizerJson, puts_its_tokens_around_a_text) {
  const Tokenizer tokenizer = parsed(words_with(
      R"("post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"S","type_id":0}},
      {"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"E","type_id":0}}],
      "special_tokens":{"S":{"id":"S","ids":[1],"tokens":["a"]},"E":{"id":"E","ids":[2,3],"tokens":["b","é"]}}},)"));
  EXPECT_EQ(tokenizer.encode("ab", {.framed = true}), (Ids{1, 4, 2, 3}));
  EXPECT_EQ(tokenizer.encode("ab"), (Ids{4}));
}

TEST(TokenizerJson, comes_back_as_it_was) {
  const std::string text = "Bir, iki; üç! 한글 one\ttwo\n three <pad> 12.5";
  for (const Tokenizer& tokenizer : {make_char(text, sequence_tokens()), make_word(text),
                                     make_bpe(text + text, 300, {"<pad>"}), make_word_pieces()}) {
    const Tokenizer again = reloaded(tokenizer);
    EXPECT_EQ(again.json(), tokenizer.json());
    EXPECT_EQ(again.config_json(), tokenizer.config_json());
    EXPECT_EQ(again.kind(), tokenizer.kind());
    EXPECT_EQ(again.encode(text), tokenizer.encode(text));
    EXPECT_EQ(again.encode(text, {.special = true}), tokenizer.encode(text, {.special = true}));
    EXPECT_EQ(again.special().pad, tokenizer.special().pad);
  }
}

TEST(TokenizerJson, is_whole_or_not_there_when_writing_fails) {
  const test::TemporaryFolder folder;
  const Tokenizer tokenizer = make_char("abc");
  test::FaultyFiles counting;
  tokenizer.save(counting, folder.path());
  ASSERT_GT(counting.operations(), 10);
  for (int operation = 0; operation < counting.operations(); ++operation) {
    const test::TemporaryFolder place;
    test::FaultyFiles files;
    files.fail(operation, ENOSPC);
    try {
      tokenizer.save(files, place.path());
    } catch (const base::Error&) {
    }
    const std::string written = place.get("tokenizer.json");
    EXPECT_TRUE(written.empty() || written == tokenizer.json()) << operation;
  }
}

TEST(TokenizerFolder, takes_tokenizer_json_before_others) {
  const test::TemporaryFolder folder;
  folder.put("vocab.txt", kWordPieces);
  EXPECT_EQ(load_tokenizer(base::real_files(), folder.path()).kind(), "wordpiece");
  folder.put("encoder.json", R"({"a":0,"b":1,"ab":2})");
  folder.put("vocab.bpe", "#version: 0.2\na b\n");
  EXPECT_EQ(load_tokenizer(base::real_files(), folder.path()).kind(), "bpe");
  make_char("abc").save(base::real_files(), folder.path());
  EXPECT_EQ(load_tokenizer(base::real_files(), folder.path()).kind(), "char");
  EXPECT_EQ(load_tokenizer(base::real_files(), folder / "vocab.txt").kind(), "wordpiece");
}

TEST(TokenizerFolder, may_have_lines_that_end_as_on_windows) {
  std::string lines = kWordPieces;
  for (size_t at = lines.find('\n'); at != std::string::npos; at = lines.find('\n', at + 2)) {
    lines.replace(at, 1, "\r\n");
  }
  EXPECT_EQ(make_word_pieces(lines).encode("hello"), make_word_pieces().encode("hello"));
}

TEST(TokenIds, outside_the_vocabulary_are_refused) {
  const Tokenizer tokenizer = make_char("abc");
  for (const int64_t id : {int64_t{-1}, int64_t{3}, INT64_MAX, INT64_MIN}) {
    const std::string expected =
        "token id (" + std::to_string(id) + "): the tokenizer has ids from 0 to 2";
    EXPECT_EQ(io::error_of([&] { tokenizer.decode(Ids{0, id}); }), expected);
    EXPECT_EQ(io::error_of([&] { tokenizer.token(id); }), expected);
  }
  EXPECT_EQ(tokenizer.find("b"), 1);
  EXPECT_FALSE(tokenizer.find("d").has_value());
}

TEST(Prompts, begin_with_what_the_tokenizer_puts_before_a_text) {
  const Tokenizer tokenizer = parse_tokenizer(
      R"({"pre_tokenizer":{"type":"WhitespaceSplit"},"added_tokens":[{"id":2,"content":"<s>"},)"
      R"({"id":3,"content":"</s>","special":true}],)"
      R"("post_processor":{"type":"BertProcessing","sep":["</s>",3],"cls":["<s>",2]},)"
      R"("model":{"type":"WordLevel","vocab":{"a":0,"b":1}}})",
      "the file");
  using Ids = std::vector<int64_t>;
  EXPECT_EQ(tokenizer.encode_prompt("a b"), (Ids{2, 0, 1}));
  EXPECT_EQ(tokenizer.encode_prompt(""), (Ids{2}));
  EXPECT_EQ(tokenizer.encode_prompt("<s> a", true), (Ids{2, 0})) << "it is there already";
}

}  // namespace
}  // namespace headlight::text
