// Views: parts and other shapes of a Value that share its memory; their gradients are the same
// views of its gradient.
#pragma once

#include <vector>

#include "headlight/autograd/context.h"
#include "headlight/autograd/value.h"

namespace headlight::autograd {

// The last axis cut into pieces of these widths, which must add up to it. No copies, in either
// direction.
std::vector<Value> split(const Value& x, const std::vector<int64_t>& widths);
// `count` positions of `axis` (may be negative) from `begin`.
Value slice(const Value& x, int axis, int64_t begin, int64_t count);
// Another shape over the same numbers; x must be contiguous.
Value reshape(const Value& x, const tensor::Shape& shape);

}  // namespace headlight::autograd
