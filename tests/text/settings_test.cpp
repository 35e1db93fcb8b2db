// What stands beside a tokenizer and inside its file beyond the tokens: added tokens and how they
// are found, cuts and fillings, names of special tokens, spaces before a text.
#include <gtest/gtest.h>

#include <chrono>

#include "tests/text/support.h"

namespace headlight::text {
namespace {

Tokenizer from_json(const std::string& json) { return parse_tokenizer(json, "the file"); }

// Words in lower case with these added tokens and members.
std::string lower_words(const std::string& added, const std::string& members = "") {
  return R"({"normalizer":{"type":"Lowercase"},"pre_tokenizer":{"type":"Whitespace"},)" + members +
         R"("added_tokens":[)" + added +
         R"(],"model":{"type":"WordLevel","unk_token":"?","vocab":{"?":0,"a":1,"b":2,"c":3}}})";
}

std::string added(const std::string& content, const std::string& flags) {
  return R"({"id":4,"content":")" + content + R"(",)" + flags + R"(,"special":false})";
}

TEST(AddedTokens, that_are_normalized_are_found_in_the_normalised_text) {
  const Tokenizer normalized = from_json(lower_words(added("NeW", R"("normalized":true)")));
  EXPECT_EQ(normalized.encode("a new NEW b"), (Ids{1, 4, 4, 2}));
  const Tokenizer raw = from_json(lower_words(added("NeW", R"("normalized":false)")));
  EXPECT_EQ(raw.encode("a new NEW b"), (Ids{1, 0, 0, 2}));
  EXPECT_EQ(raw.encode("a NeW b"), (Ids{1, 4, 2}));
  // Without a word of it, special tokens are raw and others are not.
  EXPECT_EQ(from_json(lower_words(R"({"id":4,"content":"NEW","special":false})")).encode("new"),
            (Ids{4}));
  EXPECT_EQ(from_json(lower_words(R"({"id":4,"content":"NEW","special":true})"))
                .encode("new NEW", {.special = true}),
            (Ids{0, 4}));
}

TEST(AddedTokens, that_are_single_words_are_not_found_inside_of_others) {
  const Tokenizer tokenizer =
      from_json(lower_words(added("ab", R"("normalized":false,"single_word":true)")));
  EXPECT_EQ(tokenizer.encode("ab a-ab. cab abc _ab ab"), (Ids{4, 1, 0, 4, 0, 0, 0, 0, 4}));
  EXPECT_EQ(tokenizer.encode("éab"), (Ids{0}));
}

TEST(AddedTokens, take_the_white_space_that_they_say) {
  const auto tokens = [](const std::string& flags) {
    return from_json(R"({"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},"decoder":)"
                     R"({"type":"ByteLevel"},"added_tokens":[)" +
                     added("<x>", R"("normalized":false,)" + flags) +
                     R"(],"model":{"type":"BPE","merges":[],"vocab":{"a":0,"Ġ":1,"b":2,"Ċ":3}}})")
        .encode("a <x> \nb");
  };
  EXPECT_EQ(tokens(R"("lstrip":false)"), (Ids{0, 1, 4, 1, 3, 2}));
  EXPECT_EQ(tokens(R"("lstrip":true)"), (Ids{0, 4, 1, 3, 2}));
  EXPECT_EQ(tokens(R"("rstrip":true)"), (Ids{0, 1, 4, 2}));
}

TEST(AddedTokens, keep_their_flags_when_they_are_written) {
  const Tokenizer tokenizer = from_json(lower_words(
      added("NeW", R"("normalized":true,"single_word":true,"lstrip":true,"rstrip":true)")));
  EXPECT_EQ(from_json(tokenizer.json()).json(), tokenizer.json());
  EXPECT_EQ(reloaded(tokenizer).encode("a new newa"), (Ids{1, 4, 0}));
}

TEST(Sizes, of_a_file_cut_and_fill_where_it_is_asked_for) {
  const std::string frame =
      R"("post_processor":{"type":"BertProcessing","sep":["c",3],"cls":["?",0]},)";
  const auto sized = [&](const std::string& members, const EncodeOptions& options) {
    return from_json(lower_words("", frame + members)).encode("a b a b a b", options);
  };
  const EncodeOptions cut{.sizing = Sizing::cut};
  const EncodeOptions framed{.framed = true, .sizing = Sizing::cut};
  const EncodeOptions filled{.framed = true, .sizing = Sizing::cut_and_filled};
  const std::string right =
      R"("truncation":{"direction":"Right","max_length":4,"strategy":"LongestFirst","stride":0},)";
  const std::string left =
      R"("truncation":{"direction":"Left","max_length":4,"strategy":"LongestFirst","stride":0},)";
  const std::string ten =
      R"("padding":{"strategy":{"Fixed":10},"direction":"Right","pad_to_multiple_of":null,"pad_id":2,"pad_type_id":0,"pad_token":"b"},)";
  const std::string three =
      R"("padding":{"strategy":"BatchLongest","direction":"Left","pad_to_multiple_of":3,"pad_id":2,"pad_type_id":0,"pad_token":"b"},)";
  EXPECT_EQ(sized(right, {}), (Ids{1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(sized(right, cut), (Ids{1, 2, 1, 2}));
  EXPECT_EQ(sized(right, framed), (Ids{0, 1, 2, 3}));
  EXPECT_EQ(sized(left, cut), (Ids{1, 2, 1, 2}));
  EXPECT_EQ(sized(left, framed), (Ids{0, 1, 2, 3}));
  EXPECT_EQ(sized(right + ten, filled), (Ids{0, 1, 2, 3, 2, 2, 2, 2, 2, 2}));
  EXPECT_EQ(sized(right + ten, framed), (Ids{0, 1, 2, 3}));
  EXPECT_EQ(sized(three, filled), (Ids{2, 0, 1, 2, 1, 2, 1, 2, 3}));
  const Tokenizer tokenizer = from_json(lower_words("", frame + right + ten));
  EXPECT_EQ(from_json(tokenizer.json()).json(), tokenizer.json());
  Ids streamed;
  tokenizer.encode("a b a b a b", filled, [&](std::span<const int64_t> ids) {
    streamed.insert(streamed.end(), ids.begin(), ids.end());
  });
  EXPECT_EQ(streamed, tokenizer.encode("a b a b a b", filled));
}

TEST(Sizes, that_are_asked_for_weigh_more_than_those_of_the_file) {
  const std::string members =
      R"("post_processor":{"type":"BertProcessing","sep":["c",3],"cls":["?",0]},)"
      R"("truncation":{"direction":"Left","max_length":4,"strategy":"LongestFirst","stride":0},)";
  const Tokenizer cut = from_json(lower_words("", members));
  const Tokenizer whole = from_json(lower_words(""));
  const EncodeOptions three{.sizing = Sizing::cut, .longest = 3};
  EXPECT_EQ(whole.encode("a b a b", three), (Ids{1, 2, 1}));
  EXPECT_EQ(cut.encode("b a a b", three), (Ids{1, 1, 2})) << "from the side that the file says";
  EXPECT_EQ(cut.encode("a b a b a", {.framed = true, .sizing = Sizing::cut, .longest = 5}),
            (Ids{0, 1, 2, 1, 3}));
  EXPECT_EQ(whole.encode("a b a b", {.longest = 3}), (Ids{1, 2, 1, 2})) << "nothing is to be cut";
  Ids streamed;
  whole.encode("a b a b", three, [&](std::span<const int64_t> ids) {
    streamed.insert(streamed.end(), ids.begin(), ids.end());
  });
  EXPECT_EQ(streamed, (Ids{1, 2, 1}));
}

TEST(Sizes, that_no_text_can_have_are_refused) {
  const std::pair<const char*, const char*> cases[] = {
      {R"("truncation":{"strategy":"LongestFirst"},)", "\"max_length\" is missing"},
      {R"("truncation":{"max_length":-1},)",
       "\"max_length\" is -1, a whole number from 0 on is needed"},
      {R"("truncation":{"max_length":4,"strategy":"OnlySecond"},)", "OnlySecond"},
      {R"("truncation":{"max_length":4,"direction":"Up"},)", "\"direction\""},
      {R"("truncation":7,)", "truncation: is not an object"},
      {R"("padding":{"strategy":"Longest"},)", "\"strategy\" is neither"},
      {R"("padding":{"strategy":{"Fixed":-3}},)", "\"strategy\" is neither"},
      {R"("padding":{"strategy":{"Fixed":8},"pad_id":99},)", "\"pad_id\" is 99"},
  };
  for (const auto& [members, message] : cases) {
    const std::string error = io::error_of([&] { from_json(lower_words("", members)); });
    EXPECT_NE(error.find(message), std::string::npos) << error;
  }
}

class BesideTokenizer : public testing::Test {
 protected:
  BesideTokenizer() {
    folder_.put(
        "tokenizer.json",
        R"({"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},"decoder":{"type":"ByteLevel"},
        "added_tokens":[{"id":5,"content":"<|im_end|>","special":true,"normalized":false}],
        "model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2,"Ġ":3,"Ġab":4},"merges":["a b","Ġ ab"]}})");
  }
  Tokenizer load() const { return load_tokenizer(base::real_files(), folder_.path()); }
  std::string error() const {
    return io::error_of([&] { load(); });
  }
  void config(const std::string& json) const { folder_.put("tokenizer_config.json", json); }

  test::TemporaryFolder folder_;
};

TEST_F(BesideTokenizer, a_configuration_decides_of_the_space_before_a_text) {
  EXPECT_EQ(load().encode("ab"), (Ids{2}));
  config(R"({"add_prefix_space":true})");
  EXPECT_EQ(load().encode("ab"), (Ids{4}));
  EXPECT_EQ(reloaded(load()).encode("ab"), (Ids{4}));
  config(R"({"add_prefix_space":false})");
  EXPECT_EQ(load().encode("ab"), (Ids{2}));
  config(R"({"add_prefix_space":1})");
  EXPECT_NE(error().find("\"add_prefix_space\" is not true or false"), std::string::npos);
  config("[]");
  EXPECT_NE(error().find("is not an object"), std::string::npos);
}

TEST_F(BesideTokenizer, a_configuration_names_the_special_tokens) {
  EXPECT_EQ(load().special().eos, std::nullopt);
  config(R"({"eos_token":"<|im_end|>","bos_token":{"content":"<|im_end|>"},"pad_token":"a",)"
         R"("unk_token":null,"cls_token":"<none>"})");
  const Tokenizer tokenizer = load();
  EXPECT_EQ(tokenizer.special().eos, 5);
  EXPECT_EQ(tokenizer.special().bos, 5);
  EXPECT_EQ(tokenizer.special().pad, 0);
  // A letter stays one.
  EXPECT_EQ(tokenizer.encode("ab a"), (Ids{2, 3, 0}));
  EXPECT_EQ(reloaded(tokenizer).special().eos, 5);
  // The older file for it.
  config("{}");
  folder_.put("special_tokens_map.json", R"({"eos_token":"<|im_end|>"})");
  EXPECT_EQ(load().special().eos, 5);
}

TEST_F(BesideTokenizer, a_configuration_adds_tokens) {
  config(R"({"added_tokens_decoder":{"6":{"content":"<pad>","special":true,"normalized":false}},)"
         R"("pad_token":"<pad>"})");
  EXPECT_EQ(load().size(), 7);
  EXPECT_EQ(load().special().pad, 6);
  EXPECT_EQ(load().encode("ab<pad>", {.special = true}), (Ids{2, 6}));
  config("{}");
  folder_.put("added_tokens.json", R"({"<pad>":6})");
  EXPECT_EQ(load().size(), 7);
  folder_.put("added_tokens.json", R"({"<pad>":9})");
  EXPECT_NE(error().find("no token has the id 6"), std::string::npos) << error();
}

TEST(VocabularyFiles, take_their_special_tokens_and_settings_from_the_files_beside_them) {
  const test::TemporaryFolder folder;
  folder.put("vocab.txt", "<p>\n<u>\n<c>\n<s>\n<m>\na\nb\nA\n");
  folder.put("tokenizer_config.json",
             R"({"pad_token":"<p>","unk_token":"<u>","cls_token":"<c>","sep_token":"<s>",)"
             R"("mask_token":"<m>","do_lower_case":false})");
  const Tokenizer tokenizer = load_tokenizer(base::real_files(), folder.path());
  EXPECT_EQ(tokenizer.encode("a A x", {.framed = true}), (Ids{2, 5, 7, 1, 3}));
  EXPECT_EQ(tokenizer.encode("a<m>", {.special = true}), (Ids{5, 4}));
  EXPECT_EQ(tokenizer.special().pad, 0);
  EXPECT_EQ(reloaded(tokenizer).encode("a A x", {.framed = true}), (Ids{2, 5, 7, 1, 3}));

  folder.put("vocab.json", R"({"a":0,"b":1,"ab":2,"Ġ":3,"Ġab":4,"<|endoftext|>":5})");
  folder.put("merges.txt", "#version: 0.2\na b\nĠ ab\n");
  folder.put("tokenizer_config.json", R"({"add_prefix_space":true,"add_bos_token":true})");
  const Tokenizer bytes = load_tokenizer(base::real_files(), folder.path());
  EXPECT_EQ(bytes.encode("ab"), (Ids{4}));
  EXPECT_EQ(bytes.encode("ab", {.framed = true}), (Ids{5, 4}));
}

TEST(BertNormalizer, follows_the_configuration_of_a_bert_tokenizer) {
  const test::TemporaryFolder folder;
  make_word_pieces().save(base::real_files(), folder.path());
  const auto ids = [&](const std::string& config) {
    folder.put("tokenizer_config.json", config);
    return load_tokenizer(base::real_files(), folder.path()).encode("Hello");
  };
  EXPECT_NE(ids(R"({"tokenizer_class":"BertTokenizer"})"),
            ids(R"({"tokenizer_class":"BertTokenizer","do_lower_case":false})"));
  EXPECT_EQ(ids(R"({"tokenizer_class":"BertTokenizer"})"),
            ids(R"({"tokenizer_class":"PreTrainedTokenizerFast","do_lower_case":false})"));
}

// As `tokenizers` does; U+0378 is assigned to nothing, U+E000 is private, U+200B has no width.
TEST(BertNormalizer, keeps_what_is_unassigned_and_drops_what_cannot_be_seen) {
  const Tokenizer tokenizer = from_json(
      R"({"normalizer":{"type":"BertNormalizer"},"pre_tokenizer":{"type":"BertPreTokenizer"},)"
      R"("model":{"type":"WordLevel","unk_token":"?","vocab":{"?":0,"ab":1,"a\u0378b":2}}})");
  EXPECT_EQ(tokenizer.encode("a\u0378b"), (Ids{2}));
  EXPECT_EQ(tokenizer.encode("a\u200bb a\ue000b a\u0001b"), (Ids{1, 1, 1}));
}

TEST(Normalizer, gives_the_same_in_one_piece_and_in_many) {
  std::string text;
  while (text.size() < 3'000'000) text += "Éa e\u0301\u0323 한글 \u1112\u1161\u11ab ab 中文\n";
  const std::string json =
      R"({"normalizer":{"type":"BertNormalizer"},"pre_tokenizer":{"type":"BertPreTokenizer"},"model":{"type":"WordLevel","unk_token":"?","vocab":{"?":0,"ea":1,"e":2,"ab":3}}})";
  const Tokenizer tokenizer = from_json(json);
  const Ids line = tokenizer.encode(text.substr(0, text.find('\n') + 1));
  const Ids all = tokenizer.encode(text);
  ASSERT_EQ(all.size() % line.size(), 0u);
  for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], line[i % line.size()]) << i;
}

TEST(TokenizerSettings, of_very_many_tokens_take_little_time) {
  constexpr int kTokens = 100'000;
  const test::TemporaryFolder folder;
  io::Json::Object vocabulary;
  io::Json::Object added;
  io::Json::Array special;
  for (int i = 0; i < kTokens; ++i) {
    vocabulary.emplace_back("<w" + std::to_string(i) + ">", i);
    added.emplace_back("<" + std::to_string(i) + ">", kTokens + i);
    special.emplace_back("<w" + std::to_string(i) + ">");
  }
  folder.put("tokenizer.json",
             R"({"pre_tokenizer":{"type":"WhitespaceSplit"},"model":{"type":"WordLevel","vocab":)" +
                 io::json_text(vocabulary) + "}}");
  folder.put("added_tokens.json", io::json_text(added));
  folder.put("special_tokens_map.json",
             io::json_text(io::Json::Object{{"additional_special_tokens", special}}));
  const auto start = std::chrono::steady_clock::now();
  const Tokenizer tokenizer = load_tokenizer(base::real_files(), folder.path());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  EXPECT_EQ(tokenizer.size(), 2 * kTokens);
  EXPECT_EQ(tokenizer.encode("<w5> <99999>", {.special = true}),
            (std::vector<int64_t>{5, 2 * kTokens - 1}));
}

}  // namespace
}  // namespace headlight::text
