// What the tests of infer share: models that write what they are told, tokenizers, comparisons.
#pragma once

#include "headlight/infer/infer.h"
#include "tests/models/support.h"

namespace headlight::infer {

using models::error_of;
using models::expect_has;
using models::fill;
using models::ModelTest;
using models::same_bits;
using models::shared;
using tensor::DType;
using tensor::Tensor;

using Ids = std::vector<int64_t>;

// A GPT that after `p` ids writes script[p - 1], whatever the ids are: its layers add nothing, its
// positions are unit vectors and its head reads them.
inline models::Gpt scripted_gpt(const Ids& script, int64_t vocab_size) {
  const auto length = static_cast<int64_t>(script.size());
  models::Gpt model({.block_size = length,
                     .vocab_size = vocab_size,
                     .n_layer = 1,
                     .n_head = 1,
                     .n_embd = length,
                     .tied_head = false});
  for (const nn::ParameterHandle& parameter : model.parameters()) {
    Tensor numbers = Tensor::zeros(DType::f32, parameter->shape());
    for (int64_t p = 0; p < length; ++p) {
      const int64_t written = script[static_cast<size_t>(p)];
      if (parameter->name().ends_with("wpe.weight"))
        numbers.mutable_data<float>()[p * length + p] = 1;
      if (parameter->name().ends_with("ln_f.weight")) numbers.mutable_data<float>()[p] = 1;
      if (parameter->name() == "lm_head.weight") {
        numbers.mutable_data<float>()[written * length + p] = 8;
      }
    }
    parameter->assign(numbers);
  }
  return model;
}

inline void expect_same(const Continuation& a, const Continuation& b) {
  EXPECT_EQ(a.ids, b.ids);
  EXPECT_EQ(a.text, b.text);
  EXPECT_EQ(a.log_probabilities, b.log_probabilities);  // numbers, so equal bits
  EXPECT_EQ(a.reason, b.reason);
}

// Ids below `vocab_size` that depend on the seed alone.
inline Ids random_list(size_t count, int64_t vocab_size, uint64_t seed) {
  const base::Random random(seed);
  Ids ids(count);
  for (size_t i = 0; i < count; ++i) {
    ids[i] = static_cast<int64_t>(random.below(i, static_cast<uint64_t>(vocab_size)));
  }
  return ids;
}

}  // namespace headlight::infer
