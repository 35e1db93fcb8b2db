// Lists of parameters put together, and what layers hold. Inside models only.
#pragma once

#include <initializer_list>
#include <set>
#include <string>

#include "headlight/nn/nn.h"

namespace headlight::models {

// All in order, each once: tied weights are in several lists.
inline nn::Parameters distinct_parameters(std::initializer_list<nn::Parameters> lists) {
  nn::Parameters all;
  std::set<const nn::Parameter*> seen;
  for (const nn::Parameters& list : lists) {
    for (const nn::ParameterHandle& parameter : list) {
      if (seen.insert(parameter.get()).second) all.push_back(parameter);
    }
  }
  return all;
}

// Numbers that a layer with a feed-forward layer `hidden` wide keeps at least for each token, for
// going backwards. `merged` is how wide its self-attention's heads are together: queries, keys,
// values and what they give.
inline int64_t kept_of_layer(int64_t width, int64_t merged, int64_t hidden) {
  return 4 * width + 4 * merged + 2 * hidden;
}

// Numbers in the parameters of a layer, known before it is made; a table of position biases that
// comes from outside is not among them.
int64_t parameter_count(const nn::TransformerBlockOptions& layer);
int64_t parameter_count(const nn::NormOptions& norm);

// What a layer keeps for each token, by kept_of_layer.
int64_t kept_of_layer(const nn::TransformerBlockOptions& layer);

// Today's name of a tensor of BERT or its kin: norms were once stored as gamma and beta.
std::string modern_norm_name(const std::string& name);

}  // namespace headlight::models
