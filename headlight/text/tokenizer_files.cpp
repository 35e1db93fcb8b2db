// Which files a folder has, and vocabularies in files of their own.
#include <algorithm>
#include <array>

#include "headlight/text/gguf_tokenizer.h"
#include "headlight/text/sentence_piece_read.h"
#include "headlight/text/tokenizer_class.h"
#include "headlight/text/tokenizer_parts.h"
#include "headlight/text/tokenizer_read.h"
#include "headlight/text/tokenizer_settings.h"
#include "headlight/text/vocabulary_files.h"

namespace headlight::text {
namespace {

using Object = io::Json::Object;

constexpr std::string_view kDocument = "tokenizer.json";
constexpr std::string_view kLines = "vocab.txt";
constexpr std::string_view kMarian = "source.spm";
constexpr std::string_view kMarianTarget = "target.spm";
constexpr std::array<std::string_view, 2> kSentencePieceFiles = {"tokenizer.model", "spiece.model"};
struct BpeNames {
  std::string_view vocabulary;
  std::string_view merges;
};
constexpr std::array<BpeNames, 2> kBpeFiles = {
    {{"vocab.json", "merges.txt"}, {"encoder.json", "vocab.bpe"}}};

std::string read_file(base::FileSystem& files, const std::string& path) {
  std::string text = base::read_all(*base::open_input(files, path), kTokenizerFileLimit);
  const size_t valid = io::valid_utf8_length(text);
  if (valid < text.size()) refuse_tokenizer(path, "not UTF-8 at byte " + std::to_string(valid));
  return text;
}

// Lines without their ends; the last one may lack its own.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// These files do not say which tokens are special: names do, unless a merge makes the token.
std::vector<AddedToken> well_known_tokens(const Vocabulary::Entries& entries,
                                          const Bpe::Merges& merges) {
  std::vector<AddedToken> tokens;
  for (const auto& entry : entries) {
    const std::string& token = entry.first;
    if (!is_well_known(token)) continue;
    const bool is_merged = std::ranges::any_of(
        merges, [&](const auto& merge) { return merge.first + merge.second == token; });
    if (!is_merged) tokens.push_back({.id = entry.second, .content = token});
  }
  return tokens;
}

int64_t id_of(const Vocabulary::Entries& entries, const std::string& token,
              const std::string& name) {
  const auto entry = std::ranges::find(entries, token, &Vocabulary::Entries::value_type::first);
  if (entry != entries.end()) return entry->second;
  refuse_tokenizer(name, "the token " + io::in_quotes(token) + " is missing");
}

// BERT's and RoBERTa's tokens around a text.
Object frame_of_classes(const Vocabulary::Entries& entries, const TokenizerSettings& settings,
                        const char* type, const char* usual_begin, const char* usual_end,
                        const std::string& name) {
  const auto pair_of = [&](const std::string& token) {
    return io::Json::Array{token, id_of(entries, token, name)};
  };
  return {{"type", type},
          {"sep", pair_of(settings.token("sep_token", usual_end))},
          {"cls", pair_of(settings.token("cls_token", usual_begin))}};
}

Tokenizer read_bpe_files(base::FileSystem& files, const std::string& vocabulary_path,
                         const std::string& merges_path) {
  const io::Json document = io::parse_json(read_file(files, vocabulary_path), vocabulary_path);
  if (!document.object()) refuse_tokenizer(vocabulary_path, "is not an object");
  Vocabulary::Entries entries = vocabulary_entries(*document.object(), vocabulary_path);
  const std::string text = read_file(files, merges_path);
  Bpe::Merges merges;
  for (const std::string_view line : lines_of(text)) {
    if (line.empty() || line.starts_with("#version")) continue;
    merges.push_back(split_merge(line, merges_path));
  }
  std::vector<AddedToken> added = well_known_tokens(entries, merges);
  const TokenizerSettings settings =
      read_tokenizer_settings(files, base::directory_of(vocabulary_path));
  TokenizerPlan plan =
      byte_level_plan(merges_path, std::move(entries), std::move(merges), std::move(added));
  const ByteLevelClass parts = byte_level_class(
      settings.chosen_class, settings.adds_prefix_space.value_or(false), vocabulary_path);
  plan.normalizer = parts.normalizer;
  plan.pre_tokenizer = parts.pre_tokenizer;
  apply_settings(settings, plan);
  if (parts.is_framed && !settings.adds_begin && !settings.adds_end) {
    plan.post_processor =
        frame_of_classes(plan.entries, settings, "RobertaProcessing", "<s>", "</s>", merges_path);
  } else {
    constexpr const char* kEndOfText = "<|endoftext|>";
    plan.post_processor = begin_and_end(settings, plan, settings.adds_begin.value_or(false),
                                        settings.adds_end.value_or(false), kEndOfText, kEndOfText);
  }
  return Tokenizer(TokenizerParts(std::move(plan)));
}

// BERT's settings where its tokenizer_config.json stands beside the vocabulary; its usual ones
// otherwise.
Object bert_normalizer(const TokenizerSettings& settings) {
  const bool is_lower = settings.lower_case.value_or(true);
  return {{"type", "BertNormalizer"},
          {"clean_text", true},
          {"handle_chinese_chars", settings.parts_chinese.value_or(true)},
          {"strip_accents", settings.strips_accents.value_or(is_lower)},
          {"lowercase", is_lower}};
}

Tokenizer read_word_pieces(base::FileSystem& files, const std::string& directory,
                           const std::string& path) {
  const std::string text = read_file(files, path);
  Vocabulary::Entries entries;
  for (const std::string_view line : lines_of(text)) {
    entries.emplace_back(line, static_cast<int64_t>(entries.size()));
  }
  if (entries.empty()) refuse_tokenizer(path, "the vocabulary is empty");
  std::vector<AddedToken> added = well_known_tokens(entries, {});
  const TokenizerSettings settings = read_tokenizer_settings(files, directory);
  const WordPiece::Settings pieces{.unknown = settings.token("unk_token", "[UNK]")};
  Object frame = frame_of_classes(entries, settings, "BertProcessing", "[CLS]", "[SEP]", path);
  TokenizerPlan plan{.name = path,
                     .normalizer = bert_normalizer(settings),
                     .pre_tokenizer = Object{{"type", "BertPreTokenizer"}},
                     .post_processor = std::move(frame),
                     .decoder = Object{{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}},
                     .entries = std::move(entries),
                     .added = std::move(added),
                     .model = [&](const Vocabulary& vocabulary, bool) {
                       return std::make_unique<WordPiece>(vocabulary, pieces, path);
                     }};
  apply_settings(settings, plan);
  return Tokenizer(TokenizerParts(std::move(plan)));
}

// The first of the files that can be the whole or the beginning of a tokenizer, or none.
std::string_view first_file(base::FileSystem& files, const std::string& directory) {
  const auto has = [&](std::string_view name) {
    return base::exists(files, directory + "/" + std::string(name));
  };
  if (has(kDocument)) return kDocument;
  for (const BpeNames& names : kBpeFiles) {
    if (has(names.vocabulary) && has(names.merges)) return names.vocabulary;
  }
  if (has(kMarian) && has("vocab.json")) return kMarian;
  for (const std::string_view name : kSentencePieceFiles) {
    if (has(name)) return name;
  }
  return has(kLines) ? kLines : std::string_view();
}

bool is_directory(base::FileSystem& files, const std::string& path) {
  base::FileStatus status;
  return files.path_status(path, status) == 0 && status.kind == base::FileStatus::Kind::directory;
}

// Files of models that are given ids say so: by nothing, or by these names.
bool holds_tokenizer(const io::Gguf& file) {
  const io::Json* model = file.setting("tokenizer.ggml.model");
  return model != nullptr && *model != io::Json("no_vocab") && *model != io::Json("none");
}

// Any other name is taken for a tokenizer.json.
Tokenizer read_named(base::FileSystem& files, const std::string& directory,
                     const std::string& name) {
  const std::string place = directory + "/";
  if (name.ends_with(".txt") && name != kBpeFiles[0].merges) {
    return read_word_pieces(files, directory, place + name);
  }
  for (const BpeNames& names : kBpeFiles) {
    if (name != names.vocabulary && name != names.merges) continue;
    return read_bpe_files(files, place + std::string(names.vocabulary),
                          place + std::string(names.merges));
  }
  if ((name == kMarian || name == kMarianTarget) && base::exists(files, place + "vocab.json")) {
    return read_marian(files, directory, name == kMarianTarget);
  }
  if (io::is_gguf_path(name)) return read_gguf_tokenizer(io::open_gguf(files, place + name));
  if (name.ends_with(".model") || name.ends_with(".spm")) {
    return read_sentence_piece(files, directory, name);
  }
  return parse_tokenizer(read_file(files, place + name), place + name,
                         read_tokenizer_settings(files, directory));
}

}  // namespace

Vocabulary::Entries vocabulary_entries(const io::Json::Object& object, const std::string& name) {
  Vocabulary::Entries entries;
  entries.reserve(object.size());
  for (const auto& [token, value] : object) {
    const std::optional<int64_t> id = value.integer();
    if (!id) {
      refuse_tokenizer(name, "the id of " + io::in_quotes(token) + " is not a whole number");
    }
    entries.emplace_back(token, *id);
  }
  return entries;
}

std::pair<std::string, std::string> split_merge(std::string_view merge, const std::string& name) {
  const size_t space = merge.find(' ');
  const bool is_pair = space != std::string_view::npos && space > 0 && space + 1 < merge.size() &&
                       merge.find(' ', space + 1) == std::string_view::npos;
  if (!is_pair) {
    refuse_tokenizer(name, "merge " + io::in_quotes(merge) + ": is not two tokens and a space");
  }
  return {std::string(merge.substr(0, space)), std::string(merge.substr(space + 1))};
}

bool has_tokenizer(base::FileSystem& files, const std::string& directory) {
  if (io::is_gguf_file(files, directory)) return holds_tokenizer(io::open_gguf(files, directory));
  return !first_file(files, directory).empty();
}

std::optional<Tokenizer> find_tokenizer(base::FileSystem& files, const std::string& directory) {
  if (io::is_gguf_file(files, directory)) {
    const io::Gguf file = io::open_gguf(files, directory);
    if (!holds_tokenizer(file)) return std::nullopt;
    return read_gguf_tokenizer(file);
  }
  if (first_file(files, directory).empty()) return std::nullopt;
  return load_tokenizer(files, directory);
}

Tokenizer load_tokenizer(base::FileSystem& files, const std::string& path) {
  if (!is_directory(files, path)) {
    const size_t slash = path.rfind('/');
    const bool is_bare = slash == std::string::npos;
    return read_named(files, is_bare ? "." : path.substr(0, slash),
                      is_bare ? path : path.substr(slash + 1));
  }
  const std::string_view name = first_file(files, path);
  if (name.empty()) {
    refuse_tokenizer(path,
                     "the folder holds none: tokenizer.json, vocab.json + merges.txt, encoder.json "
                     "+ vocab.bpe, source.spm + vocab.json, tokenizer.model, spiece.model or "
                     "vocab.txt is needed");
  }
  return read_named(files, path, std::string(name));
}

Tokenizer load_target_tokenizer(base::FileSystem& files, const std::string& directory) {
  if (first_file(files, directory) != kMarian) return load_tokenizer(files, directory);
  return read_named(files, directory, std::string(kMarianTarget));
}

}  // namespace headlight::text
