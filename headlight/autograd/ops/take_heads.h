// take_heads: some of the heads that rows consist of.
#pragma once

#include "headlight/autograd/context.h"
#include "headlight/autograd/value.h"

namespace headlight::autograd {

// Rows x (..., heads * W) are `heads` heads side by side; `taken`, i64 (n,), says which of them the
// result (..., n * W) has, in its order, none twice.
Value take_heads(Context& context, const Value& x, int64_t heads, const tensor::Tensor& taken);

}  // namespace headlight::autograd
