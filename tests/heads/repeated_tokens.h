// What the planted induction circuit answers.
#pragma once

#include <vector>

#include "tests/heads/layers_model.h"

namespace headlight::heads {

// Sequences of random tokens and the same again: what the induction circuit answers.
inline models::Batch repeated_batch(uint64_t seed) {
  constexpr int64_t kRows = 4;
  constexpr int64_t kPeriod = 10;
  const base::Random random(seed);
  std::vector<int64_t> ids;
  std::vector<int64_t> targets;
  for (int64_t row = 0; row < kRows; ++row) {
    std::vector<int64_t> order(static_cast<size_t>(kCircuitTokens));
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
    for (size_t i = 0; i < order.size(); ++i) {
      const auto draw = static_cast<uint64_t>(row) * 100 + i;
      std::swap(order[i], order[i + random.below(draw, order.size() - i)]);
    }
    for (int64_t t = 0; t < 2 * kPeriod; ++t) {
      ids.push_back(order[static_cast<size_t>(t % kPeriod)]);
      targets.push_back(t < kPeriod ? -1 : order[static_cast<size_t>((t + 1) % kPeriod)]);
    }
  }
  return {.ids = tensor::Tensor::of({kRows, 2 * kPeriod}, ids),
          .targets = tensor::Tensor::of({kRows, 2 * kPeriod}, targets)};
}

}  // namespace headlight::heads
