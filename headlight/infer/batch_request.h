// BatchRequest: a request as a RequestBatch keeps it, checked and with its limits. Inside infer
// only.
#pragma once

#include <memory>

#include "headlight/infer/request_batch.h"
#include "headlight/infer/sequences.h"

namespace headlight::infer {

struct BatchRequest {
  // Throws Error(bad_input) for what generate() refuses, and for counts that cannot be.
  BatchRequest(const Model& model, GenerationRequest request);

  GenerationRequest asked;  // the prompt as it is read, the ending with its stop ids
  Sampler sampler;
  Limit limit;
  uint64_t sequence_bytes;  // that the keys and values of a continuation take at most
  uint64_t number = 0;
  int64_t going_on;      // continuations that have not ended
  bool is_gone = false;  // failed or dropped

  int64_t prompt_size() const { return static_cast<int64_t>(asked.prompt.ids.size()); }
  // Ids that a continuation has read at most: the last one is written and never read.
  int64_t most_ids() const;
  uint64_t bytes() const { return sequence_bytes * static_cast<uint64_t>(asked.continuations); }
};
using RequestHandle = std::shared_ptr<BatchRequest>;

// An id of a row of logits with its log-probability, and the `top` likeliest ones with theirs.
// Throws Error(failed) when they are not numbers.
ScoredToken scored_token(const LogitRows& rows, size_t row, int64_t id, int64_t top);

}  // namespace headlight::infer
