// Batches of pairs, for models with an encoder and a decoder.
#pragma once

#include "headlight/data/pairs.h"
#include "headlight/tensor/tensor.h"

namespace headlight::data {

// Ids around targets and behind the ends of rows.
struct SequenceIds {
  int64_t pad = 0;
  int64_t start = 0;
  int64_t end = 0;
};

// Rows padded to the longest. S is the longest source, T the longest target and one.
struct PairBatch {
  tensor::Tensor source_ids;   // int64 (B, S)
  tensor::Tensor source_lens;  // int64 (B,)
  tensor::Tensor input_ids;    // int64 (B, T): start, target
  tensor::Tensor targets;      // int64 (B, T): target, end; -1 behind it
  tensor::Tensor target_lens;  // int64 (B,): with the end
  int64_t target_count = 0;    // targets that are not -1
};

using PairIndices = std::vector<int64_t>;
PairBatch make_batch(const PairSet& pairs, std::span<const int64_t> indices,
                     const SequenceIds& ids);

// Every pair once, those of similar length together, shortest first: for validation. A batch has as
// many rows as keep rows * max(S, T) within batch_tokens, and at least one.
std::vector<PairIndices> sorted_batches(const PairSet& pairs, int64_t batch_tokens);

struct PairBatchOptions {
  int64_t batch_tokens = 4096;  // as above
  SequenceIds ids = {};
  uint64_t seed = 0;
};

// Training. Each epoch shuffles the pairs, sorts them by length within pools of some 32 batches,
// cuts each pool into batches and shuffles these; so every pair comes once an epoch.
class PairBatches {
 public:
  // `name` is for the Error when there are no pairs.
  PairBatches(PairSet pairs, const PairBatchOptions& options, const std::string& name);

  const PairSet& pairs() const noexcept { return pairs_; }
  // Number `step` of all batches of all epochs, from 0. It depends on pairs, options and step
  // alone; steps in order cost least.
  PairBatch batch(int64_t step) { return make_batch(pairs_, indices(step), options_.ids); }
  const PairIndices& indices(int64_t step);

 private:
  void seek(int64_t step);

  PairSet pairs_;
  PairBatchOptions options_;
  std::vector<int64_t> epoch_begins_ = {0};  // of the epochs known so far, their first steps
  int64_t epoch_ = -1;                       // the one in batches_
  std::vector<PairIndices> batches_;
};

}  // namespace headlight::data
