// Tokenizers in GGUF files: those of folders, put into lists, give the same ids; and lists that
// make none are refused.
#include <gtest/gtest.h>

#include <cstring>

#include "headlight/io/io.h"
#include "headlight/text/sentence_piece_file.h"
#include "tests/io/gguf_bytes.h"
#include "tests/text/support.h"

namespace headlight::text {
namespace {

using Type = SentencePieceFile::Type;
using Piece = SentencePieceFile::Piece;

constexpr uint32_t kInt32 = 5;

std::string golden(const std::string& name) {
  return tests::source_folder() + "/tests/golden/tokenizers/" + name;
}

// Settings of a tokenizer, each of which may be left out or said otherwise.
class TokenizerFile {
 public:
  explicit TokenizerFile(const std::string& kind) { set_text("model", kind); }

  void set_text(const std::string& key, const std::string& value) {
    set(key, io::kText, io::gguf_string(value));
  }
  void set_flag(const std::string& key, bool value) {
    set(key, io::kBool, std::string(1, value ? '\1' : '\0'));
  }
  void set_id(const std::string& key, int64_t id) {
    set(key, io::kUint32, io::u32(static_cast<uint64_t>(id)));
  }
  void set_texts(const std::string& key, const std::vector<std::string>& texts) {
    std::string all;
    for (const std::string& text : texts) all += io::gguf_string(text);
    set(key, io::kArray, io::gguf_array(io::kText, texts.size(), all));
  }
  void set_types(const std::vector<int>& types) {
    std::string all;
    for (const int type : types) all += io::u32(static_cast<uint64_t>(type));
    set("token_type", io::kArray, io::gguf_array(kInt32, types.size(), all));
  }
  void set_scores(const std::vector<float>& scores) {
    std::string all;
    for (const float score : scores) all += io::little_endian(score);
    set("scores", io::kArray, io::gguf_array(io::kFloat32, scores.size(), all));
  }
  void set(const std::string& key, uint32_t type, const std::string& value) {
    settings_[key] = io::gguf_setting("tokenizer.ggml." + key, type, value);
  }
  void leave_out(const std::string& key) { settings_.erase(key); }
  void set_architecture(const std::string& name) {
    other_ = {io::gguf_setting("general.architecture", io::kText, io::gguf_string(name))};
  }

  void set_pieces(const std::vector<Piece>& pieces) {
    std::vector<std::string> texts;
    std::vector<int> types;
    std::vector<float> scores;
    for (const Piece& piece : pieces) {
      texts.push_back(piece.text);
      types.push_back(static_cast<int>(piece.type));
      scores.push_back(piece.score);
    }
    set_texts("tokens", texts);
    set_types(types);
    set_scores(scores);
  }

  std::string bytes() const {
    io::GgufParts parts;
    parts.settings = other_;
    for (const auto& [key, setting] : settings_) parts.settings.push_back(setting);
    return parts.bytes();
  }

 private:
  std::map<std::string, std::string> settings_;
  std::vector<std::string> other_;
};

Tokenizer loaded(const TokenizerFile& file) {
  const test::TemporaryFolder folder;
  return load_tokenizer(base::real_files(), folder.put("model.gguf", file.bytes()));
}

std::string error_of_file(const TokenizerFile& file) {
  return io::error_of([&] { loaded(file); });
}

// Texts with their ids, as other programs give them, in a folder of tests/golden.
void expect_known_ids(const std::string& kind, const Tokenizer& tokenizer) {
  const io::Json expected = io::read_json(base::real_files(), golden(kind) + "/expected.json");
  const Tokenizer folder = load_tokenizer(base::real_files(), golden(kind));
  const Tokenizer again = reloaded(tokenizer);
  ASSERT_GT(expected.array()->size(), 40u);
  for (const io::Json& one : *expected.array()) {
    const std::string& text = *(*one.array())[0].text();
    for (const bool special : {false, true}) {
      const EncodeOptions options{.special = special, .framed = true};
      EXPECT_EQ(tokenizer.encode(text, options), folder.encode(text, options)) << text;
      EXPECT_EQ(again.encode(text, options), folder.encode(text, options)) << text;
    }
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), folder.decode(folder.encode(text)));
  }
}

// A tokenizer.json in lists, as llama.cpp's converter makes them.
TokenizerFile byte_level_file(const std::string& kind, const std::string& splitting) {
  const io::Json document = io::read_json(base::real_files(), golden(kind) + "/tokenizer.json");
  const io::Json& model = *document.find("model");
  std::map<int64_t, Piece> pieces;
  for (const auto& [token, id] : *model.find("vocab")->object()) {
    pieces[*id.integer()] = {.text = token};
  }
  for (const io::Json& added : *document.find("added_tokens")->array()) {
    pieces[*added.find("id")->integer()] = {
        .text = *added.find("content")->text(),
        .type = *added.find("special")->boolean() ? Type::control : Type::user_defined};
  }
  std::vector<Piece> list;
  for (const auto& [id, piece] : pieces) list.push_back(piece);
  std::vector<std::string> merges;
  for (const io::Json& merge : *model.find("merges")->array()) {
    merges.push_back(*(*merge.array())[0].text() + " " + *(*merge.array())[1].text());
  }
  TokenizerFile file("gpt2");
  file.set_text("pre", splitting);
  file.set_pieces(list);
  file.leave_out("scores");
  file.set_texts("merges", merges);
  file.set_id("bos_token_id", 0);
  return file;
}

TEST(GgufTokenizer, of_bytes_gives_the_ids_of_its_folder) {
  expect_known_ids("smollm2", loaded(byte_level_file("smollm2", "smollm")));
  expect_known_ids("qwen2", loaded(byte_level_file("qwen2", "qwen2")));
  expect_known_ids("llama3", loaded(byte_level_file("llama3", "llama-bpe")));
}

TEST(GgufTokenizer, puts_tokens_around_texts_as_its_flags_say) {
  TokenizerFile file = byte_level_file("roberta", "roberta-bpe");
  file.set_id("eos_token_id", 2);
  file.set_flag("add_bos_token", true);
  file.set_flag("add_eos_token", true);
  file.set_flag("add_space_prefix", true);
  expect_known_ids("roberta", loaded(file));
  file.set_flag("add_bos_token", false);
  file.set_flag("add_eos_token", false);
  const Tokenizer bare = loaded(file);
  EXPECT_EQ(bare.encode("the", {.framed = true}), bare.encode("the"));
}

TEST(GgufTokenizer, of_word_pieces_gives_the_ids_of_its_folder) {
  const io::Json document = io::read_json(base::real_files(), golden("bert") + "/tokenizer.json");
  std::vector<Piece> pieces(document.find("model")->find("vocab")->object()->size());
  for (const auto& [token, id] : *document.find("model")->find("vocab")->object()) {
    const bool special = token.starts_with('[') && token.ends_with(']');
    pieces[static_cast<size_t>(*id.integer())] = {.text = special ? token
                                                          : token.starts_with("##")
                                                              ? token.substr(2)
                                                              : "\u2581" + token,
                                                  .type = special ? Type::control : Type::normal};
  }
  TokenizerFile file("bert");
  file.set_pieces(pieces);
  file.set_id("unknown_token_id", 1);
  file.set_id("cls_token_id", 2);
  file.set_id("seperator_token_id", 3);
  file.set_id("padding_token_id", 0);
  expect_known_ids("bert", loaded(file));
}

TEST(GgufTokenizer, of_sentence_piece_gives_the_ids_of_its_folder) {
  for (const std::string kind : {"llama-model", "gemma-model"}) {
    SCOPED_TRACE(kind);
    const std::string bytes =
        base::read_all(*base::open_input(base::real_files(), golden(kind) + "/tokenizer.model"),
                       uint64_t{1} << 24);
    const SentencePieceFile model = parse_sentence_piece(bytes, kind);
    TokenizerFile file("llama");
    file.set_pieces(model.pieces);
    file.set_id("bos_token_id", model.id_of("<s>") < 0 ? model.id_of("<bos>") : model.id_of("<s>"));
    file.set_id("eos_token_id",
                model.id_of("</s>") < 0 ? model.id_of("<eos>") : model.id_of("</s>"));
    file.set_flag("add_space_prefix", model.adds_prefix);
    file.set_flag("remove_extra_whitespaces", model.removes_spaces);
    file.set_flag("add_eos_token", kind == "gemma-model");
    expect_known_ids(kind, loaded(file));
  }
}

TEST(GgufTokenizer, of_unigrams_gives_the_ids_of_its_folder) {
  const std::string bytes =
      base::read_all(*base::open_input(base::real_files(), golden("t5-model") + "/spiece.model"),
                     uint64_t{1} << 24);
  SentencePieceFile model = parse_sentence_piece(bytes, "t5");
  const Tokenizer folder = load_tokenizer(base::real_files(), golden("t5-model"));
  for (int64_t id = std::ssize(model.pieces); id < folder.size(); ++id) {
    model.pieces.push_back({.text = folder.token(id), .type = Type::control});
  }
  std::string charsmap;
  for (const char byte : model.charsmap) charsmap += byte;
  TokenizerFile file("t5");
  file.set_pieces(model.pieces);
  file.set_id("eos_token_id", model.id_of("</s>"));
  file.set_id("padding_token_id", model.id_of("<pad>"));
  file.set_flag("add_space_prefix", model.adds_prefix);
  file.set_flag("remove_extra_whitespaces", model.removes_spaces);
  file.set("precompiled_charsmap", io::kArray,
           io::gguf_array(io::kUint8, charsmap.size(), charsmap));
  expect_known_ids("t5-model", loaded(file));
}

TEST(GgufTokenizer, of_gpt_neox_needs_no_word_on_how_texts_are_split) {
  TokenizerFile file = byte_level_file("neox", "");
  file.leave_out("pre");
  file.set_architecture("gptneox");
  const Tokenizer tokenizer = loaded(file);
  EXPECT_EQ(tokenizer.encode("hello 12"),
            load_tokenizer(base::real_files(), golden("neox")).encode("hello 12"));
}

TEST(GgufTokenizer, is_found_in_files_that_have_one) {
  const test::TemporaryFolder folder;
  folder.put("with.gguf", byte_level_file("smollm2", "smollm").bytes());
  folder.put("without.gguf", io::GgufParts{}.bytes());
  EXPECT_TRUE(has_tokenizer(base::real_files(), folder / "with.gguf"));
  EXPECT_FALSE(has_tokenizer(base::real_files(), folder / "without.gguf"));
  EXPECT_EQ(gguf_chat_template(io::open_gguf(base::real_files(), folder / "with.gguf")), "");
  io::GgufParts parts;
  parts.settings.push_back(
      io::gguf_setting("tokenizer.chat_template", io::kText, io::gguf_string("{{ x }}")));
  folder.put("chat.gguf", parts.bytes());
  EXPECT_EQ(gguf_chat_template(io::open_gguf(base::real_files(), folder / "chat.gguf")), "{{ x }}");
}

struct BadTokenizer {
  const char* name;
  std::function<void(TokenizerFile&)> change;
  const char* message;
};

class BadGgufTokenizer : public testing::TestWithParam<BadTokenizer> {};

TEST_P(BadGgufTokenizer, is_refused) {
  TokenizerFile file("gpt2");
  file.set_text("pre", "gpt-2");
  file.set_pieces(
      {{.text = "a"}, {.text = "b"}, {.text = "ab"}, {.text = "<s>", .type = Type::control}});
  file.set_texts("merges", {"a b"});
  file.set_id("bos_token_id", 3);
  GetParam().change(file);
  const std::string error = error_of_file(file);
  EXPECT_NE(error.find(GetParam().message), std::string::npos) << error;
  EXPECT_EQ(error.find('\n'), std::string::npos) << error;
}

const std::vector<BadTokenizer>& bad_tokenizers() {
  using File = TokenizerFile;
  static const std::vector<BadTokenizer> kBad = {
      {"no_kind", [](File& f) { f.leave_out("model"); }, "holds no tokenizer"},
      {"unknown_kind", [](File& f) { f.set_text("model", "rwkv"); },
       "tokenizer.ggml.model is \"rwkv\"; read are gpt2, llama, bert, t5"},
      {"kind_is_no_text", [](File& f) { f.set_id("model", 3); }, "tokenizer.ggml.model is no text"},
      {"no_splitting", [](File& f) { f.leave_out("pre"); }, "tokenizer.ggml.pre is missing"},
      {"unknown_splitting", [](File& f) { f.set_text("pre", "chameleon"); },
       "tokenizer.ggml.pre is \"chameleon\"; known are gpt-2"},
      {"default_splitting", [](File& f) { f.set_text("pre", "default"); }, "is \"default\""},
      {"splitting_is_no_text", [](File& f) { f.set_flag("pre", true); }, "pre is no text"},
      {"no_tokens", [](File& f) { f.leave_out("tokens"); }, "tokens is missing or empty"},
      {"empty_tokens", [](File& f) { f.set_texts("tokens", {}); }, "tokens is missing or empty"},
      {"tokens_are_a_text", [](File& f) { f.set_text("tokens", "a"); }, "tokens is no list"},
      {"tokens_are_numbers",
       [](File& f) { f.set("tokens", io::kArray, io::gguf_array(io::kUint8, 4, "abcd")); },
       "tokens holds something that is no text"},
      {"a_token_is_not_utf8",
       [](File& f) {
         f.set_texts("tokens", {"a", "b", "\xff", "<s>"});
       },
       "not UTF-8 at 2"},
      {"a_merge_without_its_token",
       [](File& f) {
         f.set_texts("tokens", {"a", "b", "c", "<s>"});
       },
       "\"ab\" is not in the vocabulary"},
      {"a_token_twice",
       [](File& f) {
         f.set_texts("tokens", {"a", "b", "a", "<s>"});
       },
       "\"a\""},
      {"fewer_types",
       [](File& f) {
         f.set_types({1, 1});
       },
       "token_type has 2 elements for 4 tokens"},
      {"more_types",
       [](File& f) {
         f.set_types({1, 1, 1, 1, 1});
       },
       "token_type has 5 elements for 4 tokens"},
      {"unknown_type",
       [](File& f) {
         f.set_types({1, 1, 1, 7});
       },
       "token_type holds no number from 0 to 6"},
      {"negative_type",
       [](File& f) {
         f.set_types({1, 1, 1, -1});
       },
       "token_type holds no number"},
      {"fewer_scores", [](File& f) { f.set_scores({1}); }, "scores has 1 elements for 4 tokens"},
      {"scores_are_texts",
       [](File& f) {
         f.set_texts("scores", {"a", "b", "c", "d"});
       },
       "scores holds something that is no number"},
      {"merges_are_a_number", [](File& f) { f.set_id("merges", 1); }, "merges is no list"},
      {"merges_are_numbers",
       [](File& f) { f.set("merges", io::kArray, io::gguf_array(io::kUint8, 1, "a")); },
       "merges holds something that is no text"},
      {"a_merge_of_one", [](File& f) { f.set_texts("merges", {"ab"}); }, "merge \"ab\""},
      {"a_merge_of_three", [](File& f) { f.set_texts("merges", {"a b c"}); }, "merge \"a b c\""},
      {"a_merge_of_no_token", [](File& f) { f.set_texts("merges", {"a z"}); }, "\"a z\""},
      {"a_merge_that_makes_none", [](File& f) { f.set_texts("merges", {"b a"}); }, "\"b a\""},
      {"begins_without_a_token",
       [](File& f) {
         f.set_id("bos_token_id", 9);
         f.set_flag("add_bos_token", true);
       },
       "add_bos_token is true, and bos_token_id names no token"},
      {"ends_without_a_token", [](File& f) { f.set_flag("add_eos_token", true); },
       "add_eos_token is true, and eos_token_id names no token"},
      {"id_is_a_text", [](File& f) { f.set_text("bos_token_id", "x"); },
       "bos_token_id is no whole number"},
      {"flag_is_a_number", [](File& f) { f.set_id("add_bos_token", 1); },
       "add_bos_token is not true or false"},
      {"no_unknown_piece", [](File& f) { f.set_text("model", "llama"); },
       "there is no unknown piece"},
      {"score_is_not_finite",
       [](File& f) {
         f.set_text("model", "llama");
         f.set_scores({0, 0, std::numeric_limits<float>::infinity(), 0});
       },
       "has no finite score"},
      {"two_unknown_pieces",
       [](File& f) {
         f.set_text("model", "t5");
         f.set_types({2, 2, 1, 3});
       },
       "two pieces are unknown"},
      {"not_all_bytes",
       [](File& f) {
         f.set_text("model", "llama");
         f.set_texts("tokens", {"<unk>", "<0x00>", "a", "<s>"});
         f.set_types({2, 6, 1, 3});
       },
       "byte_fallback needs pieces for all 256 bytes"},
      {"no_byte",
       [](File& f) {
         f.set_text("model", "llama");
         f.set_texts("tokens", {"<unk>", "<0xZZ>", "a", "<s>"});
         f.set_types({2, 6, 1, 3});
       },
       "is no byte from <0x00> to <0xFF>"},
      {"charsmap_of_texts",
       [](File& f) {
         f.set_text("model", "t5");
         f.set_types({2, 1, 1, 3});
         f.set_texts("precompiled_charsmap", {"a"});
       },
       "precompiled_charsmap holds something that is no byte"},
      {"charsmap_too_short",
       [](File& f) {
         f.set_text("model", "t5");
         f.set_types({2, 1, 1, 3});
         f.set("precompiled_charsmap", io::kArray, io::gguf_array(io::kUint8, 2, "ab"));
       },
       "the table of replacements (precompiled_charsmap) has no length"},
      {"words_without_frame", [](File& f) { f.set_text("model", "bert"); },
       "has no token \"[SEP]\" to put around texts"},
  };
  return kBad;
}

INSTANTIATE_TEST_SUITE_P(Kinds, BadGgufTokenizer, testing::ValuesIn(bad_tokenizers()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace headlight::text
