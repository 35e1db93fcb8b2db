// add: alpha * a + b.
#pragma once

#include "headlight/autograd/context.h"
#include "headlight/autograd/value.h"

namespace headlight::autograd {

// a and b have one shape, or b's shape is the end of a's, e.g. (T, C) added to each of (B, T, C).
Value add(Context& context, const Value& a, const Value& b, float alpha = 1);

}  // namespace headlight::autograd
