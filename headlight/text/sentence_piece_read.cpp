// Llama's, T5's and Marian's ways to use SentencePiece.
#include "headlight/text/sentence_piece_read.h"

#include <algorithm>

#include "headlight/text/sentence_piece_model.h"
#include "headlight/text/sentence_piece_write.h"
#include "headlight/text/tokenizer_parts.h"
#include "headlight/text/tokenizer_settings.h"
#include "headlight/text/vocabulary_files.h"

namespace headlight::text {
namespace {

using Type = SentencePieceFile::Type;
using SavedFile = std::pair<std::string, std::string>;

constexpr std::string_view kT5Name = "spiece.model";
constexpr int64_t kT5ExtraIds = 100;

std::string bytes_of_file(base::FileSystem& files, const std::string& path) {
  return base::read_all(*base::open_input(files, path), kTokenizerFileLimit);
}

SentencePieceFile parse_file(const std::string& bytes, const std::string& path) {
  // Llama 3's first file has this name too: lines of base64 and ranks.
  const size_t space = bytes.find(' ');
  const bool is_tiktoken = space != bytes.npos && space % 4 == 0 && space > 0 && space < 200 &&
                           bytes.find('\n') < 400 && io::valid_utf8_length(bytes) == bytes.size();
  if (is_tiktoken) {
    refuse_tokenizer(path, "a list of tiktoken's is not supported; tokenizer.json is needed");
  }
  return parse_sentence_piece(bytes, path);
}

TokenizerSettings settings_beside(base::FileSystem& files, const std::string& directory) {
  TokenizerSettings settings = read_tokenizer_settings(files, directory);
  if (settings.has_options) {
    refuse_tokenizer(directory + "/tokenizer_config.json",
                     "\"sp_model_kwargs\" is not supported: texts would be split otherwise");
  }
  return settings;
}

// ALBERT and XLNet name their files as T5 does, and do more to texts.
void check_t5(const SentencePieceFile& file, const TokenizerSettings& settings,
              const std::string& path) {
  const std::string& name = settings.class_name;
  const bool is_named_otherwise =
      !name.empty() && name.find("T5") == name.npos && !settings.is_generic;
  if (is_named_otherwise || (file.has("[CLS]") && file.has("[SEP]"))) {
    refuse_tokenizer(path, "spiece.model is read for T5, this one is of " +
                               (name.empty() ? "another model" : name) +
                               "; tokenizer.json is needed");
  }
}

// Tokens that stand for no text: what a model is told apart by.
void add_special(const SentencePieceFile& file, TokenizerPlan& plan) {
  for (size_t i = 0; i < file.pieces.size(); ++i) {
    const SentencePieceFile::Piece& piece = file.pieces[i];
    plan.entries.emplace_back(piece.text, static_cast<int64_t>(i));
    if (piece.type == Type::control || piece.type == Type::unknown) {
      plan.added.push_back({.id = static_cast<int64_t>(i), .content = piece.text});
    }
  }
  const auto give_role = [&](const char* role, const std::string& token) {
    if (std::ranges::find(plan.added, token, &AddedToken::content) != plan.added.end()) {
      plan.roles[role] = token;
    }
  };
  give_role("bos_token", file.begin);
  give_role("eos_token", file.end);
  give_role("pad_token", file.pad);
}

// <extra_id_99> … <extra_id_0>, in this order.
void add_extra_ids(int64_t count, TokenizerPlan& plan) {
  const auto size = static_cast<int64_t>(plan.entries.size());
  for (int64_t i = 0; i < count; ++i) {
    plan.added.push_back(
        {.id = size + i, .content = "<extra_id_" + std::to_string(count - 1 - i) + ">"});
  }
}

TokenizerPlan plan_of(const SentencePieceFile& file, const std::string& path) {
  TokenizerPlan plan{.name = path, .normalizer = file.normalizer(), .decoder = file.decoder(false)};
  add_special(file, plan);
  plan.model = [file, path](const Vocabulary& vocabulary, bool) {
    return std::make_unique<SentencePieceModel>(vocabulary, file, false, file.unknown, path);
  };
  return plan;
}

void keep_config(base::FileSystem& files, const std::string& directory, TokenizerPlan& plan) {
  const std::string path = directory + "/tokenizer_config.json";
  if (base::exists(files, path)) {
    plan.files.emplace_back("tokenizer_config.json", bytes_of_file(files, path));
  }
}

}  // namespace

Tokenizer read_sentence_piece(base::FileSystem& files, const std::string& directory,
                              const std::string& name) {
  const std::string path = directory + "/" + name;
  std::string bytes = bytes_of_file(files, path);
  const SentencePieceFile file = parse_file(bytes, path);
  const TokenizerSettings settings = settings_beside(files, directory);
  const bool is_t5 = name == kT5Name;
  TokenizerPlan plan = plan_of(file, path);
  if (is_t5) {
    check_t5(file, settings, path);
    if (!file.has("<extra_id_0>")) add_extra_ids(settings.extra_ids.value_or(kT5ExtraIds), plan);
  }
  apply_settings(settings, plan);
  const bool has_begin = plan.roles.contains("bos_token");
  const bool has_end = plan.roles.contains("eos_token");
  plan.post_processor = begin_and_end(
      settings, plan, settings.adds_begin.value_or(!is_t5 && file.is_bpe && has_begin),
      settings.adds_end.value_or(is_t5 && has_end), file.begin, file.end);
  plan.files.emplace_back(name, std::move(bytes));
  keep_config(files, directory, plan);
  return Tokenizer(TokenizerParts(std::move(plan)));
}

Tokenizer make_sentence_piece(const SentencePieceFile& file, const std::string& name,
                              const TokenizerSettings& settings, const io::Json& config) {
  TokenizerPlan plan = plan_of(file, name);
  apply_settings(settings, plan);
  plan.post_processor = begin_and_end(settings, plan, settings.adds_begin.value_or(false),
                                      settings.adds_end.value_or(false), file.begin, file.end);
  plan.files.emplace_back("tokenizer.model", sentence_piece_bytes(file));
  plan.files.emplace_back("tokenizer_config.json", io::json_text(config) + "\n");
  return Tokenizer(TokenizerParts(std::move(plan)));
}

Tokenizer read_marian(base::FileSystem& files, const std::string& directory, bool is_target) {
  const TokenizerSettings settings = settings_beside(files, directory);
  const std::string spm = is_target ? "target.spm" : "source.spm";
  const std::string vocabulary =
      is_target && settings.has_two_vocabularies ? "target_vocab.json" : "vocab.json";
  const std::string path = directory + "/" + vocabulary;
  const io::Json document = io::read_json(files, path, kTokenizerFileLimit);
  if (!document.object()) refuse_tokenizer(path, "is not an object");
  const SentencePieceFile file =
      parse_file(bytes_of_file(files, directory + "/" + spm), directory + "/" + spm);
  TokenizerPlan plan{.name = path,
                     .normalizer = file.normalizer(),
                     .decoder = file.decoder(true),
                     .entries = vocabulary_entries(*document.object(), path),
                     .takes_language = true};
  int64_t unknown = -1;
  for (const auto& [role, usual] : std::map<std::string, std::string>{
           {"eos_token", "</s>"}, {"unk_token", "<unk>"}, {"pad_token", "<pad>"}}) {
    const std::string token = settings.token(role, usual);
    const auto entry =
        std::ranges::find(plan.entries, token, &Vocabulary::Entries::value_type::first);
    if (entry == plan.entries.end()) {
      refuse_tokenizer(path, "the token " + io::in_quotes(token) + " is missing");
    }
    plan.added.push_back({.id = entry->second, .content = token});
    plan.roles[role] = token;
    if (role == "unk_token") unknown = entry->second;
  }
  plan.model = [file, unknown, path](const Vocabulary& tokens, bool) {
    return std::make_unique<SentencePieceModel>(tokens, file, true, unknown, path);
  };
  apply_settings(settings, plan);
  plan.post_processor = begin_and_end(settings, plan, false, true, "", "</s>");
  for (const char* name : {"source.spm", "target.spm", "vocab.json", "target_vocab.json"}) {
    const std::string from = directory + "/" + name;
    if (base::exists(files, from)) plan.files.emplace_back(name, bytes_of_file(files, from));
  }
  keep_config(files, directory, plan);
  return Tokenizer(TokenizerParts(std::move(plan)));
}

}  // namespace headlight::text
