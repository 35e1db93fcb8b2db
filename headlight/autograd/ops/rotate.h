// rotate: rotary positions; pairs of each head's columns turned by position * rate.
#pragma once

#include <string_view>

#include "headlight/autograd/context.h"
#include "headlight/autograd/value.h"

namespace headlight::autograd {

struct RotateOptions {
  int64_t heads = 1;
  tensor::Tensor rates = {};    // f32 (R / 2,): radians per position; kernels::rotary_rates
  bool interleaved = false;     // pairs are columns 2i and 2i + 1 instead of i and i + R / 2
  tensor::Tensor past = {};     // i64 (B,): position of each sequence's first row; absent: 0
  float magnitude = 1;          // multiplies cosines and sines, where a model's scaling asks for it
  std::string_view place = {};  // the whole name under which an observer may want the result as
                                // (B, H, T, D), e.g. "decoder.0.self.query_rotated"
};

// x is (B, T, H*D), queries or keys; it may be a slice of a fused projection. The first R columns
// of each head are rotated, the others passed on. A row's bits depend on its numbers and its
// position alone.
Value rotate(Context& context, const Value& x, const RotateOptions& options);

}  // namespace headlight::autograd
