// The worked model: a tiny encoder-decoder over the user's own sentences, small enough that every
// number can be followed by hand.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headlight/models/models.h"
#include "headlight/optim/optim.h"
#include "headlight/text/text.h"

namespace headlight::recipes {

struct SentencePair {
  std::string source;
  std::string target;
};

// Three sentences and their continuations: "When you play the game of thrones" and others.
std::vector<SentencePair> default_sentences();

// heads * head_width need not be the width: the output projection leads back to it.
struct WorkedModelOptions {
  int64_t width = 6;
  int64_t heads = 2;
  int64_t head_width = 4;
  int64_t hidden = 24;  // of the feed-forward layer
  int64_t layers = 1;   // of the encoder and of the decoder
  bool pre_norm = false;
  bool special = false;  // texts of special tokens become these
  uint64_t seed = 1;
};

struct WorkedModel {
  std::vector<SentencePair> sentences;
  text::Tokenizer tokenizer;  // <pad>, <start>, <end>, <unk> and the words, in order
  std::unique_ptr<models::Seq2Seq> model;
  bool special = false;  // as WorkedModelOptions
};

// How it learns its sentences from any seed, in well under a second: all pairs in each step.
struct WorkedRecipe {
  optim::OptimizerOptions optimizer = {.weight_decay = 0, .grad_clip = 1};
  optim::ScheduleOptions schedule = {.kind = optim::ScheduleKind::cosine,
                                     .learning_rate = 0.03,
                                     .min_learning_rate = 0.001,
                                     .warmup_iters = 10,
                                     .lr_decay_iters = 400};
  int64_t steps = 400;
};

// Matrices are uniform in 0...1 by seed, biases 0, norms 1 and 0. Other numbers come with
// model->load_state. Throws Error(bad_input) without sentences, for a side without words, for sizes
// below 1 and for an odd width.
WorkedModel make_worked_model(std::vector<SentencePair> sentences,
                              const WorkedModelOptions& options = {});

// How many numbers its parameters would have: to be asked before it is made. Throws the same.
int64_t parameter_count(const std::vector<SentencePair>& sentences,
                        const WorkedModelOptions& options = {});

// All its sentences as one batch with targets, padded: what a step of training reads.
models::Batch sentence_batch(const WorkedModel& worked);

}  // namespace headlight::recipes
