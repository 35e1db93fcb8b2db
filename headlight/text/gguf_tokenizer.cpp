// Lists of tokens, scores, types and merges as a tokenizer.
#include "headlight/text/gguf_tokenizer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "headlight/text/gguf_splitting.h"
#include "headlight/text/sentence_piece_read.h"
#include "headlight/text/sentence_piece_text.h"
#include "headlight/text/tokenizer_parts.h"
#include "headlight/text/tokenizer_read.h"
#include "headlight/text/tokenizer_settings.h"
#include "headlight/text/vocabulary_files.h"

namespace headlight::text {
namespace {

using Object = io::Json::Object;
using Type = SentencePieceFile::Type;

constexpr std::string_view kTokens = "tokenizer.ggml.";
constexpr std::array<std::string_view, 4> kKinds = {"gpt2", "llama", "bert", "t5"};

class GgufTokenizerReader {
 public:
  explicit GgufTokenizerReader(const io::Gguf& file) : file_(file), name_(file.path()) {}

  Tokenizer read() const {
    const std::string kind = text("model");
    if (kind.empty()) refuse("model", "is missing: the file holds no tokenizer");
    if (kind == "gpt2") return byte_level();
    if (kind == "bert") return word_pieces();
    if (kind == "llama" || kind == "t5") return sentence_piece(kind == "llama");
    std::string known;
    for (const std::string_view one : kKinds) known.append(known.empty() ? "" : ", ").append(one);
    refuse("model", "is " + io::in_quotes(kind) + "; read are " + known);
  }

 private:
  [[noreturn]] void refuse(std::string_view key, const std::string& why) const {
    refuse_tokenizer(name_, std::string(kTokens).append(key) + " " + why);
  }

  const io::Json* find(std::string_view key) const {
    return file_.setting(std::string(kTokens).append(key));
  }

  std::string text(std::string_view key) const {
    const io::Json* value = find(key);
    if (value == nullptr) return "";
    if (value->text() == nullptr) refuse(key, "is no text");
    return *value->text();
  }

  std::optional<bool> flag(std::string_view key) const {
    const io::Json* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->boolean()) refuse(key, "is not true or false");
    return value->boolean();
  }

  // A list with something for each token; empty where there is none.
  const io::Json::Array& list(std::string_view key, size_t count) const {
    static const io::Json::Array kNone;
    const io::Json* value = find(key);
    if (value == nullptr) return kNone;
    if (value->array() == nullptr) refuse(key, "is no list");
    if (count > 0 && value->array()->size() != count) {
      refuse(key, "has " + std::to_string(value->array()->size()) + " elements for " +
                      std::to_string(count) + " tokens");
    }
    return *value->array();
  }

  std::vector<SentencePieceFile::Piece> pieces() const {
    const io::Json::Array& tokens = list("tokens", 0);
    if (tokens.empty()) refuse("tokens", "is missing or empty");
    const io::Json::Array& types = list("token_type", tokens.size());
    const io::Json::Array& scores = list("scores", tokens.size());
    std::vector<SentencePieceFile::Piece> result(tokens.size());
    for (size_t i = 0; i < tokens.size(); ++i) {
      const std::string* content = tokens[i].text();
      if (content == nullptr) refuse("tokens", "holds something that is no text");
      if (io::valid_utf8_length(*content) != content->size()) {
        refuse("tokens", "holds something that is not UTF-8 at " + std::to_string(i));
      }
      result[i].text = *content;
      if (!types.empty()) result[i].type = type_of(types[i]);
      if (!scores.empty()) result[i].score = score_of(scores[i]);
    }
    return result;
  }

  Type type_of(const io::Json& value) const {
    const auto number = value.integer();
    if (!number || *number < 0 || *number > 6) refuse("token_type", "holds no number from 0 to 6");
    return *number == 0 ? Type::normal : static_cast<Type>(*number);
  }

  float score_of(const io::Json& value) const {
    if (!value.number()) refuse("scores", "holds something that is no number");
    return static_cast<float>(*value.number());
  }

  // The token of a role; empty where there is none. Ids outside the list mean that too.
  std::string token(std::string_view role, const std::vector<SentencePieceFile::Piece>& pieces,
                    int64_t usual = -1) const {
    const io::Json* value = find(std::string(role) + "_token_id");
    if (value != nullptr && !value->integer()) {
      refuse(std::string(role) + "_token_id", "is no whole number");
    }
    const int64_t id = value == nullptr ? usual : *value->integer();
    if (id < 0 || id >= std::ssize(pieces)) return "";
    return pieces[static_cast<size_t>(id)].text;
  }

  void add_roles(const std::vector<SentencePieceFile::Piece>& pieces, TokenRoles& roles) const {
    constexpr std::array<std::pair<const char*, const char*>, 7> kRoles = {
        {{"bos", "bos_token"},
         {"eos", "eos_token"},
         {"unknown", "unk_token"},
         {"padding", "pad_token"},
         {"mask", "mask_token"},
         {"cls", "cls_token"},
         {"seperator", "sep_token"}}};
    for (const auto& [role, key] : kRoles) {
      if (std::string content = token(role, pieces); !content.empty()) {
        roles[key] = std::move(content);
      }
    }
  }

  // Tokens with ids of their own: such as stand for no text, and such as are found before all.
  static void add_tokens(const std::vector<SentencePieceFile::Piece>& pieces, TokenizerPlan& plan) {
    for (size_t i = 0; i < pieces.size(); ++i) {
      const auto id = static_cast<int64_t>(i);
      const Type type = pieces[i].type;
      plan.entries.emplace_back(pieces[i].text, id);
      if (type == Type::control || type == Type::unknown || type == Type::user_defined) {
        plan.added.push_back(
            {.id = id, .content = pieces[i].text, .is_special = type != Type::user_defined});
      }
    }
  }

  // Where a file does not say how texts are split, GPT-2 and GPT-NeoX have but one way.
  std::string splitting() const {
    const std::string name = text("pre");
    const io::Json* architecture = file_.setting("general.architecture");
    const std::string* model = architecture == nullptr ? nullptr : architecture->text();
    const bool is_open = name.empty() || name == "default";
    if (!is_open || model == nullptr) return name;
    return *model == "gpt2" ? "gpt-2" : *model == "gptneox" ? "olmo" : name;
  }

  Tokenizer byte_level() const {
    const GgufSplitting splits =
        gguf_splitting(splitting(), flag("add_space_prefix").value_or(false), name_);
    const std::vector<SentencePieceFile::Piece> tokens = pieces();
    Bpe::Merges merges;
    for (const io::Json& merge : list("merges", 0)) {
      if (merge.text() == nullptr) refuse("merges", "holds something that is no text");
      merges.push_back(split_merge(*merge.text(), name_));
    }
    TokenizerPlan plan = byte_level_plan(name_, {}, {}, {});
    plan.normalizer = splits.normalizer;
    plan.pre_tokenizer = splits.pre_tokenizer;
    add_tokens(tokens, plan);
    add_roles(tokens, plan.roles);
    for (AddedToken& added : plan.added) {
      const bool hides = added.content == "<mask>" || added.content == "[MASK]";
      added.takes_left = splits.hides_words && hides;
    }
    const bool ignores_merges = splits.ignores_merges;
    plan.model = [this, &merges, ignores_merges](const Vocabulary& vocabulary, bool) {
      return std::make_unique<Bpe>(vocabulary, merges,
                                   Bpe::Settings{.ignores_merges = ignores_merges}, name_);
    };
    const bool adds_begin = flag("add_bos_token").value_or(splits.adds_begin);
    const bool adds_end = flag("add_eos_token").value_or(false);
    check_frame(plan.roles, adds_begin, adds_end);
    plan.post_processor =
        begin_and_end({}, plan, adds_begin, adds_end, token("bos", tokens), token("eos", tokens));
    return Tokenizer(TokenizerParts(std::move(plan)));
  }

  void check_frame(const TokenRoles& roles, bool adds_begin, bool adds_end) const {
    if (adds_begin && !roles.contains("bos_token")) {
      refuse("add_bos_token", "is true, and bos_token_id names no token");
    }
    if (adds_end && !roles.contains("eos_token")) {
      refuse("add_eos_token", "is true, and eos_token_id names no token");
    }
  }

  // Words begin with the sign of a space, and other pieces have none, where BERT's have "##".
  static std::string word_piece(const SentencePieceFile::Piece& piece) {
    const bool is_bracketed =
        piece.text.size() > 2 && piece.text.front() == '[' && piece.text.back() == ']';
    if (piece.type == Type::control || piece.type == Type::unknown || is_bracketed) {
      return piece.text;
    }
    if (piece.text.starts_with(kSpaceSymbol)) return piece.text.substr(kSpaceSymbol.size());
    return "##" + piece.text;
  }

  Tokenizer word_pieces() const {
    std::vector<SentencePieceFile::Piece> tokens = pieces();
    for (SentencePieceFile::Piece& piece : tokens) piece.text = word_piece(piece);
    TokenizerPlan plan{.name = name_};
    add_tokens(tokens, plan);
    add_roles(tokens, plan.roles);
    const bool is_lower = flag("normalizer.lowercase").value_or(true);
    plan.normalizer = Object{{"type", "BertNormalizer"},
                             {"clean_text", true},
                             {"handle_chinese_chars", true},
                             {"strip_accents", flag("normalizer.strip_accents").value_or(is_lower)},
                             {"lowercase", is_lower}};
    plan.pre_tokenizer = Object{{"type", "BertPreTokenizer"}};
    plan.decoder = Object{{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}};
    plan.post_processor = bert_frame(tokens, plan.roles);
    const auto unknown = plan.roles.find("unk_token");
    const WordPiece::Settings settings{.unknown =
                                           unknown == plan.roles.end() ? "[UNK]" : unknown->second};
    plan.model = [this, &settings](const Vocabulary& vocabulary, bool) {
      return std::make_unique<WordPiece>(vocabulary, settings, name_);
    };
    return Tokenizer(TokenizerParts(std::move(plan)));
  }

  io::Json bert_frame(const std::vector<SentencePieceFile::Piece>& pieces,
                      const TokenRoles& roles) const {
    const auto pair_of = [&](const char* role, const char* other, const char* usual) {
      const auto found = roles.contains(role) ? roles.find(role) : roles.find(other);
      const std::string content = found == roles.end() ? usual : found->second;
      const auto place = std::ranges::find(pieces, content, &SentencePieceFile::Piece::text);
      if (place == pieces.end()) {
        refuse("tokens", "has no token " + io::in_quotes(content) + " to put around texts");
      }
      return io::Json::Array{content, place - pieces.begin()};
    };
    return Object{{"type", "BertProcessing"},
                  {"sep", pair_of("sep_token", "eos_token", "[SEP]")},
                  {"cls", pair_of("cls_token", "bos_token", "[CLS]")}};
  }

  Tokenizer sentence_piece(bool is_bpe) const {
    constexpr int64_t kBegin = 1;  // as Llama's first files have it
    constexpr int64_t kEnd = 2;
    SentencePieceFile file{.pieces = pieces(),
                           .is_bpe = is_bpe,
                           .adds_prefix = flag("add_space_prefix").value_or(true),
                           .removes_spaces = flag("remove_extra_whitespaces").value_or(false)};
    file.falls_back_to_bytes = std::ranges::any_of(
        file.pieces, [](const auto& piece) { return piece.type == Type::byte; });
    file.charsmap = charsmap();
    file.begin = token("bos", file.pieces, is_bpe ? kBegin : -1);
    file.end = token("eos", file.pieces, is_bpe ? kEnd : 1);
    file.pad = token("padding", file.pieces);
    check_pieces(file, name_);
    TokenizerSettings settings;
    settings.adds_begin = flag("add_bos_token").value_or(is_bpe) && !file.begin.empty();
    settings.adds_end = flag("add_eos_token").value_or(!is_bpe) && !file.end.empty();
    Object config = {{"add_bos_token", *settings.adds_begin},
                     {"add_eos_token", *settings.adds_end},
                     {"clean_up_tokenization_spaces", false}};
    TokenRoles roles;
    add_roles(file.pieces, roles);
    for (const auto& [role, content] : roles) {
      config.emplace_back(role, content);
      settings.roles[role] = {.content = content};
    }
    return make_sentence_piece(file, name_, settings, config);
  }

  std::string charsmap() const {
    constexpr std::string_view kKey = "precompiled_charsmap";
    std::string bytes;
    for (const io::Json& value : list(kKey, 0)) {
      const auto byte = value.integer();
      if (!byte || *byte < -128 || *byte > 255) refuse(kKey, "holds something that is no byte");
      bytes += static_cast<char>(*byte);
    }
    return bytes;
  }

  const io::Gguf& file_;
  std::string name_;
};

}  // namespace

Tokenizer read_gguf_tokenizer(const io::Gguf& file) { return GgufTokenizerReader(file).read(); }

std::string gguf_chat_template(const io::Gguf& file) {
  const io::Json* value = file.setting("tokenizer.chat_template");
  return value != nullptr && value->text() != nullptr ? *value->text() : "";
}

}  // namespace headlight::text
