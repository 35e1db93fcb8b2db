// cross_entropy: the mean negative log-likelihood of targets under rows of logits.
#pragma once

#include "headlight/autograd/context.h"
#include "headlight/autograd/value.h"

namespace headlight::autograd {

// logits is (..., V); targets is i64 (...), each within 0 and V or equal to options.ignored. The
// result is one number (shape []), the mean over targets that count; 0 when none does. With label
// smoothing s a target's loss is (1 - s) times its own plus s times the mean over all classes.
Value cross_entropy(Context& context, const Value& logits, const tensor::Tensor& targets,
                    const kernels::CrossEntropyOptions& options = {});

}  // namespace headlight::autograd
