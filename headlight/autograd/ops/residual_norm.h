// residual_norm: the sum of a residual connection and its layer norm, in one pass.
#pragma once

#include "headlight/autograd/ops/layer_norm.h"

namespace headlight::autograd {

struct ResidualNorm {
  Value sum;         // x + residual
  Value normalized;  // the norm of sum
};

// x and residual have one shape (..., C).
ResidualNorm residual_norm(Context& context, const Value& x, const Value& residual,
                           const Value& weight, const Value& bias,
                           const LayerNormOptions& options = {});

}  // namespace headlight::autograd
