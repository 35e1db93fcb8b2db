// How an encoder's folder wants sentences to become vectors: the files that sentence-transformers
// puts beside a model.
#pragma once

#include <optional>
#include <string>

#include "headlight/models/models.h"
#include "headlight/recipes/named_model.h"

namespace headlight::recipes {

struct SentenceSettings {
  models::Pooling pooling = models::Pooling::mean;
  std::optional<int64_t> longest =
      {};  // ids of a sentence, those around it included; others are cut
  bool lower_case = false;
  std::string prompt = {};  // stands before every sentence

  // The sentence as the model reads it.
  std::string prepared(const std::string& sentence) const;
};

// What modules.json, 1_Pooling/config.json, sentence_bert_config.json and
// config_sentence_transformers.json say; a folder without them takes the mean of all tokens.
// Vectors are brought to length 1 whether a module asks for it or not. Throws Error(bad_input),
// with the file and the key, for modules and ways of pooling that are not computed here.
SentenceSettings sentence_settings(base::FileSystem& files, const LoadedModel& loaded);

}  // namespace headlight::recipes
