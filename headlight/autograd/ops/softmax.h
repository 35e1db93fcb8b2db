// softmax and its logarithm over the last axis.
#pragma once

#include "headlight/autograd/context.h"
#include "headlight/autograd/value.h"

namespace headlight::autograd {

// A row of only -infinity gives zeros, or -infinity for the logarithm.
Value softmax(Context& context, const Value& x);
Value log_softmax(Context& context, const Value& x);

}  // namespace headlight::autograd
