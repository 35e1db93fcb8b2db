// Many inputs in batches of similar length: outputs of an encoder-decoder, sentence vectors of a
// model that embeds, labels of one that classifies. Results are in the order of the inputs, with
// the bits of one-by-one runs.
#pragma once

#include <vector>

#include "headlight/infer/beam_search.h"

namespace headlight::infer {

// Indices of inputs of these lengths, in batches of at most `most_tokens` tokens, padding included
// (a longer input is alone); the shortest first.
std::vector<std::vector<size_t>> length_batches(const std::vector<size_t>& lengths,
                                                size_t most_tokens);

struct OutputOptions {
  // The paper's limit: source length + 50.
  Ending ending = {.max_beyond_source = 50};
  size_t batch_tokens = 2048;  // of sources, padding included
  // Told the share of sources that are done, from 0 to 1.
  std::function<void(double share)> progress = {};
};

// What the model writes for each source, choosing greedily.
std::vector<Continuation> greedy_outputs(Context& context, const Model& model,
                                         const std::vector<std::vector<int64_t>>& sources,
                                         const OutputOptions& options = {});

struct SearchOptions {
  int64_t beams = 4;
  double length_penalty = 1;  // alpha of log p / length^alpha
};
// The hypotheses of a beam search for each source, the best first.
std::vector<std::vector<Hypothesis>> beam_outputs(Context& context, const Model& model,
                                                  const std::vector<std::vector<int64_t>>& sources,
                                                  const SearchOptions& search,
                                                  const OutputOptions& options = {});

struct SentenceOptions {
  models::Pooling pooling = models::Pooling::mean;
  size_t batch_tokens = 2048;  // padding included
};
// One vector of length 1 for each sentence. Throws Error(bad_input) unless the model embeds.
std::vector<std::vector<float>> sentence_vectors(Context& context, const Model& model,
                                                 const std::vector<std::vector<int64_t>>& sentences,
                                                 const SentenceOptions& options = {});

// A text, or two, as a model that classifies reads them.
struct ClassifiedText {
  std::vector<int64_t> ids;
  std::vector<int64_t> segments = {};  // of each id; empty: all 0, or the model reads none
};
// A number for each label of each text. Throws Error(bad_input) unless the model classifies.
std::vector<std::vector<float>> class_logits(Context& context, const Model& model,
                                             const std::vector<ClassifiedText>& texts,
                                             size_t batch_tokens = 2048);

}  // namespace headlight::infer
