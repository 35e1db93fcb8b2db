// dropout: in training, x with each number set to zero with a probability and the others scaled up
// to keep the mean.
#pragma once

#include <string_view>

#include "headlight/autograd/context.h"
#include "headlight/autograd/value.h"

namespace headlight::autograd {

// 0 <= probability < 1. What is dropped depends on the Context's seed and step, on `place`, row and
// column. Outside training, or with probability 0, x itself.
Value dropout(Context& context, const Value& x, float probability, std::string_view place);

}  // namespace headlight::autograd
