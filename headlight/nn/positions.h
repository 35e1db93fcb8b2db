// Positions that are added to embeddings: sines and cosines, or learned rows.
#pragma once

#include <span>

#include "headlight/nn/embedding.h"

namespace headlight::nn {

// Positions first[b], first[b] + 1, ... of `count` tokens of each sequence: i64 (B, count).
tensor::Tensor position_ids(std::span<const int64_t> first, int64_t count);

struct SinusoidalOptions {
  int64_t count = 0;  // positions 0 to count - 1 exist
  int64_t width = 0;
  kernels::SinusoidOptions sinusoids = {};
};

// No parameters: the rows are computed once, when it is made.
class SinusoidalPositions {
 public:
  explicit SinusoidalPositions(const SinusoidalOptions& options);
  // positions are i64 (T,) or (B, T); the result is (positions..., width).
  Value forward(Context& context, const tensor::Tensor& positions) const;

 private:
  kernels::SinusoidOptions sinusoids_;
  Value rows_;
};

// The same interface over learned rows: parameter "<name>.weight", (count, width).
using LearnedPositions = Embedding;

}  // namespace headlight::nn
