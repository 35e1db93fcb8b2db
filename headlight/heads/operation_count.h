// The arithmetic of a model, counted from what its own operations say of themselves.
#pragma once

#include "headlight/models/models.h"

namespace headlight::heads {

// Floating-point operations, a multiplication and an addition being two, of all matrix products: in
// `attention` the projections, scores and weighted values of its heads, in `rest` the feed-forward
// layers, the logits and whatever else multiplies matrices. Of scores and weighted values only the
// keys that a query sees count: under a causal mask about half of the square. For a layer of width
// C with C columns of heads and F hidden numbers, of which all T tokens see each other, they are 8
// C^2 + 4 T C and 4 C F for each token.
struct OperationCount {
  double attention = 0;
  double rest = 0;

  double all() const { return attention + rest; }
};

// Of predicting every word of a batch: forward(), and logits() where the model has any.
OperationCount count_operations(base::ThreadPool& threads, models::Model& model,
                                const models::Batch& batch);

}  // namespace headlight::heads
