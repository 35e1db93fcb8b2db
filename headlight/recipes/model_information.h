// What a model's folder holds, for those who choose one.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "headlight/recipes/named_model.h"

namespace headlight::recipes {

struct ModelInformation {
  io::Json config;
  std::string type;
  int64_t parameters = 0;
  int64_t vocab_size = 0;
  int64_t source_vocab_size = 0;
  int64_t context_length = 0;
  std::vector<std::pair<std::string, int64_t>> attentions;  // place and heads
  std::string tokenizer;  // its files, "vocab.json, merges.txt"; empty: none
};

ModelInformation information_on(base::FileSystem& files, const LoadedModel& loaded);

// {"model_type","parameters","vocab_size","source_vocab_size","context_length","tokenizer",
// "attentions":[{"name","heads"}],"config"}
io::Json information_json(const ModelInformation& information);

}  // namespace headlight::recipes
