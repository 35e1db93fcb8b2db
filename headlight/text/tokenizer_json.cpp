// tokenizer.json, read and written.
#include <algorithm>

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

std::unique_ptr<Model> read_bpe(const Component& model, const Vocabulary& vocabulary) {
  for (const std::string_view affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!model.text(affix, "").empty()) {
      model.refuse("\"" + std::string(affix) + "\" is not supported");
    }
  }
  for (const std::string_view setting : {"byte_fallback", "ignore_merges", "fuse_unk"}) {
    model.require(setting, false, false);
  }
  const io::Json* dropout = model.find("dropout");
  if (dropout && !dropout->is_null() && dropout->number() != 0.0) {
    model.refuse("\"dropout\" is not supported: the same text would have other ids each time");
  }
  Bpe::Merges merges;
  for (const io::Json& merge : model.array("merges")) merges.push_back(read_merge(model, merge));
  return std::make_unique<Bpe>(vocabulary, merges, model.text("unk_token", ""), model.name());
}

// `unknown` is the unknown token that files beside the tokenizer name; empty: none.
std::unique_ptr<Model> read_model(const Component& model, const Vocabulary& vocabulary,
                                  const std::string& unknown) {
  if (model.type() == "BPE") return read_bpe(model, vocabulary);
  if (model.type() == "WordLevel") {
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

Object vocabulary_json(const Vocabulary& vocabulary) {
  Object result;
  result.reserve(static_cast<size_t>(vocabulary.size()));
  for (int64_t id = 0; id < vocabulary.size(); ++id) {
    result.emplace_back(vocabulary.token(id), id);
  }
  return result;
}

// Before anything else of it is read: other models have other members.
void check_model_type(const Component& model) {
  const std::string& type = model.type();
  if (type == "BPE" || type == "WordLevel" || type == "WordPiece") return;
  model.refuse_type("BPE, WordLevel and WordPiece");
}

}  // namespace

Tokenizer parse_tokenizer(std::string_view json, const std::string& name) {
  return parse_tokenizer(json, name, {.is_generic = true});
}

Tokenizer parse_tokenizer(std::string_view json, const std::string& name,
                          const TokenizerSettings& settings) {
  const io::Json document = io::parse_json(json, name);
  if (!document.object()) refuse_tokenizer(name, "is not an object");
  const io::Json* model_json = document.find("model");
  if (!model_json || !model_json->object()) refuse_tokenizer(name, "\"model\" is no object");
  const Component model(*model_json, "model", name);
  check_model_type(model);
  const std::string unknown = settings.is_generic ? "" : settings.token("unk_token", "");
  TokenizerPlan plan{.name = name,
                     .normalizer = member(document, "normalizer"),
                     .pre_tokenizer = member(document, "pre_tokenizer"),
                     .post_processor = member(document, "post_processor"),
                     .decoder = member(document, "decoder"),
                     .truncation = member(document, "truncation"),
                     .padding = member(document, "padding"),
                     .entries = vocabulary_entries(model.object("vocab"), name),
                     .added = read_added_tokens(document, name),
                     .model = [&](const Vocabulary& vocabulary) {
                       return read_model(model, vocabulary, unknown);
                     }};
  apply_settings(settings, plan);
  return Tokenizer(TokenizerParts(std::move(plan)));
}

std::string Tokenizer::json() const {
  const TokenizerParts& parts = *parts_;
  Object model = parts.model->json(parts.vocabulary);
  model.emplace_back("vocab", vocabulary_json(parts.vocabulary));
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
  Object document = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                     {"clean_up_tokenization_spaces", false}};
  const bool is_bert = kind() == "wordpiece";
  const auto add = [&](const char* role, std::optional<int64_t> id) {
    if (id) document.emplace_back(role, token(*id));
  };
  add("pad_token", special().pad);
  add(is_bert ? "cls_token" : "bos_token", special().bos);
  add(is_bert ? "sep_token" : "eos_token", special().eos);
  add("unk_token", special().unk);
  if (is_bert) add("mask_token", parts_->mask);
  return io::json_text(document) + "\n";
}

void Tokenizer::save(base::FileSystem& files, const std::string& directory) const {
  base::write_file(files, directory + "/tokenizer.json", json());
  base::write_file(files, directory + "/tokenizer_config.json", config_json());
}

}  // namespace headlight::text
