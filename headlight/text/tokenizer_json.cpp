// tokenizer.json, read and written.
#include <algorithm>

#include "headlight/text/tokenizer_class.h"
#include "headlight/text/tokenizer_parts.h"
#include "headlight/text/tokenizer_read.h"
#include "headlight/text/tokenizer_settings.h"
#include "headlight/text/vocabulary_files.h"

namespace headlight::text {
namespace {

using Object = io::Json::Object;

io::Json member(const io::Json& document, std::string_view key) {
  const io::Json* found = document.find(key);
  return found ? *found : io::Json();
}

std::pair<std::string, std::string> read_merge(const Component& model, const io::Json& merge) {
  if (const std::string* text = merge.text()) return split_merge(*text, model.name());
  const io::Json::Array* pair = merge.array();
  if (!pair || pair->size() != 2 || !(*pair)[0].text() || !(*pair)[1].text()) {
    model.refuse("a merge is neither a text \"a b\" nor a pair of texts");
  }
  return {*(*pair)[0].text(), *(*pair)[1].text()};
}

std::unique_ptr<Model> read_bpe(const Component& model, const Vocabulary& vocabulary,
                                bool takes_bytes) {
  for (const std::string_view affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!model.text(affix, "").empty()) {
      model.refuse("\"" + std::string(affix) + "\" is not supported");
    }
  }
  const io::Json* dropout = model.find("dropout");
  if (dropout && !dropout->is_null() && dropout->number() != 0.0) {
    model.refuse("\"dropout\" is not supported: the same text would have other ids each time");
  }
  Bpe::Settings settings{.unknown = model.text("unk_token", ""),
                         .takes_bytes = takes_bytes,
                         .fuses_unknown = model.flag("fuse_unk", false),
                         .falls_back_to_bytes = model.flag("byte_fallback", false),
                         .ignores_merges = model.flag("ignore_merges", false)};
  if (takes_bytes && settings.falls_back_to_bytes) {
    model.refuse("\"byte_fallback\" is not supported with a ByteLevel pre_tokenizer");
  }
  Bpe::Merges merges;
  for (const io::Json& merge : model.array("merges")) merges.push_back(read_merge(model, merge));
  return std::make_unique<Bpe>(vocabulary, merges, std::move(settings), model.name());
}

// "vocab": [["token", score], …]; ids are places in the list.
Vocabulary::Entries unigram_entries(const Component& model, std::vector<double>& scores) {
  Vocabulary::Entries entries;
  for (const io::Json& entry : model.array("vocab")) {
    const io::Json::Array* pair = entry.array();
    if (!pair || pair->size() != 2 || !(*pair)[0].text() || !(*pair)[1].number()) {
      model.refuse("an entry of \"vocab\" is not a token and its score");
    }
    entries.emplace_back(*(*pair)[0].text(), static_cast<int64_t>(entries.size()));
    scores.push_back(*(*pair)[1].number());
  }
  if (entries.empty()) model.refuse("\"vocab\" is empty");
  return entries;
}

std::unique_ptr<Model> read_unigram(const Component& model, const Vocabulary& vocabulary,
                                    const std::vector<double>& scores, bool rounds_twice) {
  Unigram::Settings settings{.falls_back_to_bytes = model.flag("byte_fallback", false),
                             .rounds_twice = rounds_twice};
  const io::Json* unknown = model.find("unk_id");
  if (unknown && !unknown->is_null()) {
    const int64_t id = model.integer("unk_id", 0);
    if (id < 0 || id >= static_cast<int64_t>(scores.size())) {
      model.refuse("\"unk_id\" is " + std::to_string(id) + ", the vocabulary has " +
                   std::to_string(scores.size()) + " tokens");
    }
    settings.unknown = id;
  }
  return std::make_unique<Unigram>(vocabulary, scores, settings, model.name());
}

// What is read of a model before its vocabulary is whole.
struct ModelFile {
  const Component& component;
  std::string type;
  std::string unknown;  // the unknown token that files beside the tokenizer name; empty: none
  bool rounds_twice;    // scores: classes of transformers are given them as they are
  std::vector<double> scores = {};

  Vocabulary::Entries entries() {
    if (type == "Unigram") return unigram_entries(component, scores);
    return vocabulary_entries(component.object("vocab"), component.name());
  }

  std::unique_ptr<Model> read(const Vocabulary& vocabulary, bool takes_bytes) const {
    const Component& model = component;
    if (type == "BPE") return read_bpe(model, vocabulary, takes_bytes);
    if (type == "Unigram") return read_unigram(model, vocabulary, scores, rounds_twice);
    if (type == "WordLevel") {
      return std::make_unique<WordLevel>(vocabulary, model.text("unk_token", "<unk>"));
    }
    const WordPiece::Settings usual;
    return std::make_unique<WordPiece>(
        vocabulary,
        WordPiece::Settings{
            .unknown = unknown.empty() ? model.text("unk_token", usual.unknown) : unknown,
            .prefix = model.text("continuing_subword_prefix", usual.prefix),
            .longest_piece = model.integer("max_input_chars_per_word", usual.longest_piece)},
        model.name());
  }
};

Object vocabulary_json(const Vocabulary& vocabulary) {
  Object result;
  result.reserve(static_cast<size_t>(vocabulary.size()));
  for (int64_t id = 0; id < vocabulary.size(); ++id) {
    if (!vocabulary.is_only_added(id)) result.emplace_back(vocabulary.token(id), id);
  }
  return result;
}

// Before anything else of it is read: other models have other members. Early files leave the type
// out, so that members tell it.
std::string model_type(const Component& model) {
  const std::string& type = model.type();
  if (type == "BPE" || type == "Unigram" || type == "WordLevel" || type == "WordPiece") return type;
  const io::Json* vocabulary = model.find("vocab");
  if (type.empty() && vocabulary) {
    if (model.find("merges")) return "BPE";
    if (vocabulary->array()) return "Unigram";
    if (model.find("max_input_chars_per_word")) return "WordPiece";
    if (model.find("unk_token")) return "WordLevel";
  }
  model.refuse_type("BPE, Unigram, WordLevel and WordPiece");
}

}  // namespace

Tokenizer parse_tokenizer(std::string_view json, const std::string& name) {
  return parse_tokenizer(json, name, {.is_generic = true});
}

Tokenizer parse_tokenizer(std::string_view json, const std::string& name,
                          const TokenizerSettings& given) {
  io::Json document = io::parse_json(json, name);
  if (!document.object()) refuse_tokenizer(name, "is not an object");
  TokenizerSettings settings = given;
  // Llama 3 and others: the class is named, and would split texts in another way.
  if (settings.chosen_class == "LlamaTokenizer" && is_byte_level(document)) {
    settings.chosen_class = kGenericClass;
    settings.is_generic = true;
  }
  apply_class(settings, document);
  const io::Json* model_json = document.find("model");
  if (!model_json || !model_json->object()) refuse_tokenizer(name, "\"model\" is no object");
  const Component model(*model_json, "model", name);
  ModelFile file{model, model_type(model),
                 settings.is_generic ? "" : settings.token("unk_token", ""),
                 settings.is_generic || settings.chosen_class.empty()};
  TokenizerPlan plan{.name = name,
                     .normalizer = member(document, "normalizer"),
                     .pre_tokenizer = member(document, "pre_tokenizer"),
                     .post_processor = member(document, "post_processor"),
                     .decoder = member(document, "decoder"),
                     .truncation = member(document, "truncation"),
                     .padding = member(document, "padding"),
                     .entries = file.entries(),
                     .added = read_added_tokens(document, name),
                     .model = [&](const Vocabulary& vocabulary, bool takes_bytes) {
                       return file.read(vocabulary, takes_bytes);
                     }};
  apply_settings(settings, plan);
  return Tokenizer(TokenizerParts(std::move(plan)));
}

std::string Tokenizer::json() const {
  const TokenizerParts& parts = *parts_;
  if (!parts.files.empty()) {
    throw base::Error(base::ErrorKind::usage, "tokenizer", parts.files.front().first,
                      "is not written as a tokenizer.json");
  }
  Object model = parts.model->json(parts.vocabulary);
  const auto vocab = std::ranges::find(model, "vocab", &io::Json::Member::first);
  if (vocab == model.end()) model.emplace_back("vocab", vocabulary_json(parts.vocabulary));
  // A list of merges comes last, as it is long.
  const auto merges = std::ranges::find(model, "merges", &io::Json::Member::first);
  if (merges != model.end()) std::rotate(merges, merges + 1, model.end());
  Object document = {
      {"version", "1.0"}, {"truncation", parts.truncation_json}, {"padding", parts.padding_json}};
  document.emplace_back("added_tokens", added_tokens_json(parts.added));
  document.emplace_back("normalizer", parts.normalizer_json);
  document.emplace_back("pre_tokenizer", parts.pre_tokenizer_json);
  document.emplace_back("post_processor", parts.post_processor_json);
  document.emplace_back("decoder", parts.decoder_json);
  document.emplace_back("model", std::move(model));
  return io::json_text(document) + "\n";
}

std::string Tokenizer::config_json() const {
  Object document = {{"clean_up_tokenization_spaces", parts_->cleans_up}};
  if (parts_->cleans_up && kind() == "bpe") document.emplace_back(kCleansUpBpe, true);
  if (parts_->splits_special) document.emplace_back("split_special_tokens", true);
  if (parts_->files.empty()) {
    document.insert(document.begin(), {"tokenizer_class", "PreTrainedTokenizerFast"});
  }
  const bool is_bert = kind() == "wordpiece" || (special().bos && token(*special().bos) == "[CLS]");
  const auto add = [&](const char* role, std::optional<int64_t> id) {
    if (id) document.emplace_back(role, token(*id));
  };
  add("pad_token", special().pad);
  add(is_bert ? "cls_token" : "bos_token", special().bos);
  add(is_bert ? "sep_token" : "eos_token", special().eos);
  add("unk_token", special().unk);
  add("mask_token", is_bert ? parts_->mask : special().mask);
  return io::json_text(document) + "\n";
}

void Tokenizer::save(base::FileSystem& files, const std::string& directory) const {
  constexpr const char* kConfig = "tokenizer_config.json";
  bool has_config = false;
  for (const auto& [name, bytes] : parts_->files) {
    base::write_file(files, directory + "/" + name, bytes);
    has_config = has_config || name == kConfig;
  }
  if (parts_->files.empty()) base::write_file(files, directory + "/tokenizer.json", json());
  if (!has_config) base::write_file(files, directory + "/" + kConfig, config_json());
}

}  // namespace headlight::text
