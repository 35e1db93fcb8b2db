// rms_norm: x / sqrt(mean(x^2) + epsilon) * (weight_offset + weight) over the last axis, alone and
// after a residual sum.
#pragma once

#include <string_view>

#include "headlight/autograd/context.h"
#include "headlight/autograd/ops/residual_norm.h"
#include "headlight/autograd/value.h"

namespace headlight::autograd {

struct RmsNormOptions {
  float epsilon = 1e-6F;
  float weight_offset = 0;      // 1 where rows are multiplied by 1 + weight, as in Gemma
  std::string_view place = {};  // e.g. "decoder.0.norm_1": an observer may want input,
                                // root_mean_square, normalized (before the weight) and output there
  int64_t heads = 1;  // > 1: each of this many equal parts of a row is normalised by itself
};

// x is (..., heads * C), weight (C,). The root mean square (epsilon is under the root) is (...), or
// (..., heads) where there are several.
Value rms_norm(Context& context, const Value& x, const Value& weight,
               const RmsNormOptions& options = {});

// The norm of x + residual, of one shape (..., C), in one pass: add and rms_norm to the bit.
ResidualNorm residual_rms_norm(Context& context, const Value& x, const Value& residual,
                               const Value& weight, const RmsNormOptions& options = {});

}  // namespace headlight::autograd
