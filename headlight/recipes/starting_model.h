// The tokenizer and the model that a training run starts with: new ones, or those of another model.
// Inside recipes only.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/models/models.h"
#include "headlight/recipes/train_settings.h"
#include "headlight/text/text.h"

namespace headlight::recipes {

// What a new tokenizer is made from.
struct TokenizerTexts {
  std::vector<std::string_view> training;
  std::vector<std::string_view> all;  // with validation: no letter of either is unknown
  std::vector<std::string> special;
};
text::Tokenizer starting_tokenizer(base::FileSystem& files, const TrainSettings& settings,
                                   const TokenizerTexts& texts);

// The model that the key `init` names, which must read what the tokenizer gives. Throws
// Error(bad_input).
std::unique_ptr<models::Model> initial_model(base::FileSystem& files, const TrainSettings& settings,
                                             const text::Tokenizer& tokenizer);

struct BatchSize {
  int64_t context = 0;  // most tokens of a sequence
  int64_t tokens = 0;   // of a batch
};
// With its first weights. Throws Error(out_of_memory) before it is made.
std::unique_ptr<models::Model> fresh_model(base::FileSystem& files, const TrainSettings& settings,
                                           const text::Tokenizer& tokenizer,
                                           const BatchSize& batch);

// Either of them, for pairs of up to `longest` tokens, in batches of up to `batch_tokens` on either
// side.
std::unique_ptr<models::Model> pair_model(base::FileSystem& files, const TrainSettings& settings,
                                          const text::Tokenizer& tokenizer, int64_t longest,
                                          int64_t batch_tokens);

}  // namespace headlight::recipes
