// Counting what a folder's model has.
#include "headlight/recipes/model_information.h"

namespace headlight::recipes {
namespace {

// Files that together are a tokenizer; the first set that is there is used.
struct TokenizerFiles {
  const char* first;
  const char* second;  // may be null
};
constexpr TokenizerFiles kTokenizers[] = {{"tokenizer.json", nullptr},
                                          {"vocab.json", "merges.txt"},
                                          {"encoder.json", "vocab.bpe"},
                                          {"vocab.txt", nullptr}};

std::string tokenizer_in(base::FileSystem& files, const std::string& folder) {
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

ModelInformation information_on(base::FileSystem& files, const recipes::LoadedModel& loaded) {
  const models::Model& model = *loaded.model;
  ModelInformation information{.config = model.config(),
                               .type = std::string(model.type()),
                               .vocab_size = model.vocab_size(),
                               .source_vocab_size = model.source_vocab_size(),
                               .context_length = model.context_length(),
                               .attentions = {},
                               .tokenizer = tokenizer_in(files, loaded.folder)};
  for (const nn::ParameterHandle& parameter : model.parameters()) {
    information.parameters += parameter->shape().elements();
  }
  for (const nn::MultiHeadAttention* attention : models::attentions_of(model)) {
    information.attentions.push_back(
        {attention->options().place, attention->heads().original, attention->heads().numbers});
  }
  return information;
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
  return io::Json::Object{
      {"model_type", information.type},
      {"parameters", information.parameters},
      {"vocab_size", information.vocab_size},
      {"source_vocab_size", information.source_vocab_size},
      {"context_length", information.context_length},
      {"tokenizer", information.tokenizer.empty() ? io::Json() : io::Json(information.tokenizer)},
      {"attentions", attentions},
      {"config", information.config}};
}

}  // namespace headlight::recipes
