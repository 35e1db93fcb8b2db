// scale: alpha * x.
#pragma once

#include "headlight/autograd/context.h"
#include "headlight/autograd/value.h"

namespace headlight::autograd {

Value scale(Context& context, const Value& x, float alpha);

}  // namespace headlight::autograd
