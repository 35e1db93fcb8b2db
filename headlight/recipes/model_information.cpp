// Counting what a folder's model has.
#include "headlight/recipes/model_information.h"

namespace headlight::recipes {
namespace {

// Files that together are a tokenizer; the first set that is there is used.
struct TokenizerFiles {
  const char* first;
  const char* second;  // may be null
};
constexpr TokenizerFiles kTokenizers[] = {
    {"tokenizer.json", nullptr},  {"vocab.json", "merges.txt"}, {"encoder.json", "vocab.bpe"},
    {"source.spm", "vocab.json"}, {"tokenizer.model", nullptr}, {"spiece.model", nullptr},
    {"vocab.txt", nullptr}};

std::string tokenizer_in(base::FileSystem& files, const std::string& folder) {
  if (io::is_gguf_file(files, folder))
    return text::has_tokenizer(files, folder) ? "in the file" : "";
  for (const TokenizerFiles& tokenizer : kTokenizers) {
    if (!base::exists(files, folder + "/" + tokenizer.first)) continue;
    if (tokenizer.second == nullptr) return tokenizer.first;
    if (base::exists(files, folder + "/" + tokenizer.second)) {
      return std::string(tokenizer.first) + ", " + tokenizer.second;
    }
  }
  return "";
}

}  // namespace

bool can_chat(base::FileSystem& files, const std::string& folder, const models::Capabilities& can) {
  if (!can.continues_prompt) return false;
  try {
    return text::find_chat_template(files, folder).has_value();
  } catch (const base::Error&) {
    return false;  // `chat` says why
  }
}

ModelInformation information_on(base::FileSystem& files, const recipes::LoadedModel& loaded) {
  const models::Model& model = *loaded.model;
  ModelInformation information{.config = model.config(),
                               .type = std::string(model.type()),
                               .vocab_size = model.vocab_size(),
                               .source_vocab_size = model.source_vocab_size(),
                               .context_length = model.context_length(),
                               .attentions = {},
                               .tokenizer = tokenizer_in(files, loaded.folder),
                               .can = model.capabilities(),
                               .chats = can_chat(files, loaded.folder, model.capabilities())};
  if (model.classifier() != nullptr) information.labels = model.classifier()->classes().labels;
  for (const nn::ParameterHandle& parameter : model.parameters()) {
    information.parameters += parameter->shape().elements();
  }
  information.memory = models::held_bytes(model);
  for (const nn::MultiHeadAttention* attention : models::attentions_of(model)) {
    information.attentions.push_back(
        {attention->options().place, attention->heads().original, attention->heads().numbers});
  }
  return information;
}

std::vector<std::string_view> names_of(const models::Capabilities& can) {
  std::vector<std::string_view> names;
  if (can.continues_prompt) names.emplace_back("continues_prompt");
  if (can.translates) names.emplace_back("translates");
  if (can.fills_masks) names.emplace_back("fills_masks");
  if (can.embeds) names.emplace_back("embeds");
  if (can.classifies) names.emplace_back("classifies");
  return names;
}

io::Json information_json(const ModelInformation& information) {
  io::Json::Array attentions;
  for (const AttentionInformation& one : information.attentions) {
    io::Json::Object attention{{"name", one.place}, {"heads", one.heads.size()}};
    if (std::ssize(one.heads) < one.original) {
      attention.emplace_back("original_heads", one.original);
      attention.emplace_back("left", io::Json::Array(one.heads.begin(), one.heads.end()));
    }
    attentions.emplace_back(std::move(attention));
  }
  const std::vector<std::string_view> can = names_of(information.can);
  io::Json::Object document{
      {"model_type", information.type},
      {"parameters", information.parameters},
      {"vocab_size", information.vocab_size},
      {"source_vocab_size", information.source_vocab_size},
      {"context_length", information.context_length},
      {"tokenizer", information.tokenizer.empty() ? io::Json() : io::Json(information.tokenizer)},
      {"can", io::Json::Array(can.begin(), can.end())},
      {"memory_bytes", static_cast<int64_t>(information.memory)},
      {"attentions", attentions},
      {"config", information.config}};
  if (!information.labels.empty()) {
    document.emplace_back("labels",
                          io::Json::Array(information.labels.begin(), information.labels.end()));
  }
  return document;
}

}  // namespace headlight::recipes
