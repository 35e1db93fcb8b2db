// From a plan to parts that fit together.
#include "headlight/text/tokenizer_parts.h"

#include <optional>
#include <string_view>
#include <unordered_map>

namespace headlight::text {
namespace {

// The entries with the added tokens that are not among them.
Vocabulary whole_vocabulary(TokenizerPlan& plan) {
  std::unordered_map<std::string_view, std::optional<int64_t>> ids;  // of the added tokens
  std::vector<int64_t> only_added;
  for (const AddedToken& token : plan.added) ids[token.content];
  for (const auto& [token, id] : plan.entries) {
    const auto found = ids.find(token);
    if (found != ids.end() && !found->second) found->second = id;
  }
  for (const AddedToken& token : plan.added) {
    std::optional<int64_t>& id = ids[token.content];
    if (!id) {
      id = token.id;
      plan.entries.emplace_back(token.content, token.id);
      only_added.push_back(token.id);
    } else if (*id != token.id) {
      refuse_tokenizer(plan.name, "the token " + io::in_quotes(token.content) + " has two ids, " +
                                      std::to_string(*id) + " and " + std::to_string(token.id));
    }
  }
  Vocabulary vocabulary(std::move(plan.entries), plan.name);
  for (const int64_t id : only_added) vocabulary.make_only_added(id);
  for (const AddedToken& token : plan.added) {
    if (token.is_special) vocabulary.make_special(token.id);
  }
  return vocabulary;
}

std::vector<std::string> texts_of_tokens(const std::vector<AddedToken>& tokens) {
  std::vector<std::string> contents;
  for (const AddedToken& token : tokens) contents.push_back(token.content);
  return contents;
}

// Those without ids have -1, -2, … by their order.
std::vector<AddedToken> with_missing(std::vector<AddedToken> tokens,
                                     const std::vector<AddedToken>& missing) {
  for (size_t i = 0; i < missing.size(); ++i) {
    tokens.push_back(missing[i]);
    tokens.back().id = -1 - static_cast<int64_t>(i);
  }
  return tokens;
}

std::unordered_map<int64_t, std::string> contents_by_id(const AddedTokenFinder& finder) {
  std::unordered_map<int64_t, std::string> contents;
  for (const AddedToken& token : finder.tokens()) contents.emplace(token.id, token.content);
  return contents;
}

}  // namespace

TokenizerParts::TokenizerParts(TokenizerPlan plan)
    : normalizer_json(std::move(plan.normalizer)),
      pre_tokenizer_json(std::move(plan.pre_tokenizer)),
      post_processor_json(std::move(plan.post_processor)),
      decoder_json(std::move(plan.decoder)),
      truncation_json(std::move(plan.truncation)),
      padding_json(std::move(plan.padding)),
      added(plan.added),
      takes_language(plan.takes_language),
      splits_special(plan.splits_special),
      files(std::move(plan.files)),
      vocabulary(whole_vocabulary(plan)),
      normalizer({normalizer_json, "normalizer", plan.name}),
      splitter({pre_tokenizer_json, "pre_tokenizer", plan.name}),
      joiner({decoder_json, "decoder", plan.name}),
      frame(read_frame({post_processor_json, "post_processor", plan.name}, vocabulary)),
      sizes(read_sizes({truncation_json, "truncation", plan.name},
                       {padding_json, "padding", plan.name}, vocabulary)),
      missing(texts_of_tokens(plan.missing)),
      finder(raw_finder(with_missing(added, plan.missing))),
      normalized_finder(text::normalized_finder(added, normalizer, plan.name)),
      written_finder(text::written_finder(added)),
      normalized(files.empty() ? contents_by_id(normalized_finder)
                               : std::unordered_map<int64_t, std::string>()),
      model(plan.model(vocabulary, splitter.gives_bytes())),
      cleans_up(model->kind() == "bpe" ? plan.cleans_up_bpe : plan.cleans_up),
      special(special_ids(vocabulary, model->unknown(), plan.roles)),
      mask(vocabulary.find(plan.roles.contains("mask_token") ? plan.roles.at("mask_token")
                                                             : "[MASK]")) {
  if (splitter.gives_bytes() && model->kind() != "bpe") {
    refuse_tokenizer(plan.name, "a ByteLevel pre_tokenizer is read only with a BPE model");
  }
  if (splitter.minds_the_beginning() && normalizer.may_take_from_front()) {
    refuse_tokenizer(
        plan.name,
        "\"prepend_scheme\": \"first\" is not supported beside a normalizer that takes "
        "characters away");
  }
}

const std::string& TokenizerParts::decoded(int64_t id) const {
  const auto found = normalized.find(id);
  return found == normalized.end() ? vocabulary.token(id) : found->second;
}

TokenizerPlan byte_level_plan(const std::string& name, Vocabulary::Entries entries,
                              Bpe::Merges merges, std::vector<AddedToken> added) {
  using Object = io::Json::Object;
  const Object byte_level = {{"type", "ByteLevel"},
                             {"add_prefix_space", false},
                             {"trim_offsets", true},
                             {"use_regex", true}};
  return {.name = name,
          .pre_tokenizer = byte_level,
          .decoder = byte_level,
          .entries = std::move(entries),
          .added = std::move(added),
          .model = [name, merges = std::move(merges)](const Vocabulary& vocabulary, bool) {
            return std::make_unique<Bpe>(vocabulary, merges, Bpe::Settings{}, name);
          }};
}

}  // namespace headlight::text
