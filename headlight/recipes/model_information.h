// What a model's folder holds, for those who choose one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headlight/recipes/named_model.h"

namespace headlight::recipes {

struct AttentionInformation {
  std::string place;                // "decoder.0.self"
  int64_t original = 0;             // heads before any was pruned
  std::vector<int64_t> heads = {};  // numbers of those that there are
};

struct ModelInformation {
  io::Json config;
  std::string type;
  int64_t parameters = 0;
  int64_t vocab_size = 0;
  int64_t source_vocab_size = 0;
  int64_t context_length = 0;
  std::vector<AttentionInformation> attentions;
  std::string tokenizer;  // its files, "vocab.json, merges.txt"; empty: none
  models::Capabilities can;
  bool chats = false;                    // continues texts and has a chat template
  uint64_t memory = 0;                   // bytes that its weights take
  std::vector<std::string> labels = {};  // of a model that classifies
};

// Of those that a model has, as Capabilities calls them.
std::vector<std::string_view> names_of(const models::Capabilities& can);

// Whether a model that can do this has a chat template that can be read in its folder or GGUF file.
bool can_chat(base::FileSystem& files, const std::string& folder, const models::Capabilities& can);

ModelInformation information_on(base::FileSystem& files, const LoadedModel& loaded);

// {"model_type","parameters","vocab_size","source_vocab_size","context_length","tokenizer","can",
// "memory_bytes","attentions":[{"name","heads"}],"config"}; "can" lists the names of Capabilities;
// an attention that was pruned has "original_heads" and "left", the numbers of its heads, besides;
// a model that classifies "labels".
io::Json information_json(const ModelInformation& information);

}  // namespace headlight::recipes
