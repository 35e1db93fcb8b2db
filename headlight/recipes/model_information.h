// What a model's folder holds, for those who choose one.
#pragma once

#include <string>
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
};

ModelInformation information_on(base::FileSystem& files, const LoadedModel& loaded);

// {"model_type","parameters","vocab_size","source_vocab_size","context_length","tokenizer",
// "attentions":[{"name","heads"}],"config"}; an attention that was pruned has "original_heads" and
// "left", the numbers of its heads, besides.
io::Json information_json(const ModelInformation& information);

}  // namespace headlight::recipes
