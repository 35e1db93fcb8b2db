// layer_norm: (x - mean) / sqrt(variance + epsilon) * weight + bias over the last axis.
#pragma once

#include <string_view>

#include "headlight/autograd/context.h"
#include "headlight/autograd/value.h"

namespace headlight::autograd {

struct LayerNormOptions {
  float epsilon = 1e-5F;
  std::string_view place = {};  // e.g. "decoder.0.norm_1": an observer may want input, mean,
                                // deviation, normalized and output there
  int64_t heads = 1;  // > 1: each of this many equal parts of a row is normalised by itself
};

// x is (..., heads * C), weight (C,), bias (C,) or absent; population variance. Mean and deviation
// are (...), or (..., heads) where there are several.
Value layer_norm(Context& context, const Value& x, const Value& weight, const Value& bias,
                 const LayerNormOptions& options = {});

}  // namespace headlight::autograd
