// Beam search: the likeliest continuations instead of the likeliest next id.
#pragma once

#include <vector>

#include "headlight/infer/generate.h"

namespace headlight::infer {

struct BeamOptions {
  int64_t beams = 4;
  double length_penalty = 1;  // alpha: the score is log p / length^alpha
  Ending ending = {};
  bool use_cache = true;
};

// `score` is log_probability() / length^alpha, where the length counts the stop id too.
struct Hypothesis : Continuation {
  double score = 0;
};

// For each prompt up to `beams` hypotheses, the best first. A prompt is done when as many have
// ended by themselves, or at its limit; one beam gives what greedy generate() gives. All prompts
// are searched in one batch.
std::vector<std::vector<Hypothesis>> beam_search(Context& context, const Model& model,
                                                 const std::vector<Prompt>& prompts,
                                                 const BeamOptions& options);

}  // namespace headlight::infer
