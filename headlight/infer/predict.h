// Predicting with the inside turned outside: what comes next, what else could, how the choice was
// made, and where the row that decided it looks.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "headlight/infer/generate.h"

namespace headlight::infer {

struct PredictOptions {
  SamplingOptions sampling = {};  // greedy
  Ending ending = {.max_new_tokens = 1};
  int64_t best = 5;     // how many words are told of each step
  bool stages = false;  // with what temperature, top-k, top-p and min-p do to them
  // Changes the runs that are predicted from; those without it are told beside them.
  autograd::Intervention* change = nullptr;
  // Whether what the heads at a place ("decoder.0.self") look at is told; of none without it.
  std::function<bool(std::string_view place)> watches = {};
};

struct PredictedWord {
  int64_t id = 0;
  float logit = 0;
  float probability = 0;  // of all words, before any sampling
};

struct StagedWord {
  int64_t id = 0;
  float logit = 0;
  float penalized = 0;
  float tempered = 0;
  bool in_top_k = true;
  bool in_top_p = true;
  bool in_min_p = true;
  double drawn_with = 0;
};

struct PredictedStep {
  int64_t position = 0;  // that the new id would have among those read
  PredictedWord chosen = {};
  float log_probability = 0;
  bool is_stop = false;                       // the id that ends the sequence
  std::string text = {};                      // what is certain by now; whole code points
  std::vector<PredictedWord> best = {};       // the likeliest first, of equals the lower id
  std::vector<PredictedWord> unchanged = {};  // with a change: `best` without it, and then
                                              // what is likeliest without it, each id once
  std::vector<StagedWord> stages = {};        // of `best`, and of the chosen one
  int64_t top_k = 0, top_p = 0, min_p = 0;    // with stages: how many ids each left
  // Weights of the last row read, (H, S), by the name of the attention.
  std::vector<std::pair<std::string, tensor::Tensor>> attention = {};
};
// False ends it (StopReason::caller).
using OnStep = std::function<bool(const PredictedStep&)>;

// What generate() gives for the one prompt, step by step. The last id of a sequence that stops at
// its end is told with is_stop.
Continuation predict(Context& context, const Model& model, const Prompt& prompt,
                     const PredictOptions& options, const OnStep& on_step);

// The likeliest of a row of logits, with their probabilities.
std::vector<PredictedWord> likeliest_words(Context& context, std::span<const float> logits,
                                           int64_t most);

}  // namespace headlight::infer
