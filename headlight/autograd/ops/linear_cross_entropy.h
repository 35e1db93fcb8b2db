// linear_cross_entropy: the loss of a model's last layer, without ever holding all logits or their
// gradient.
#pragma once

#include "headlight/autograd/ops/cross_entropy.h"

namespace headlight::autograd {

// cross_entropy(linear(x, weight, no bias), targets), computed in chunks of rows: x is (..., C),
// weight is (V, C), targets (...). The gradients are computed chunk by chunk in the forward pass,
// while the logits are there.
Value linear_cross_entropy(Context& context, const Value& x, const Value& weight,
                           const tensor::Tensor& targets,
                           const kernels::CrossEntropyOptions& options = {});

// The same with no weight but the packed one, as linear reads it: nothing is recorded or reported.
Value packed_linear_cross_entropy(Context& context, const Value& x,
                                  const kernels::PackedMatrix& weight,
                                  const tensor::Tensor& targets,
                                  const kernels::CrossEntropyOptions& options = {});

}  // namespace headlight::autograd
