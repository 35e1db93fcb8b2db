// gated_product: activation(gate) * up, element by element: the middle of a gated feed-forward
// layer.
#pragma once

#include <string_view>

#include "headlight/autograd/context.h"
#include "headlight/autograd/value.h"

namespace headlight::autograd {

// gate and up have one shape (..., N); they may be slices of one fused projection. An observer may
// want activation(gate) at "<place>.activated".
Value gated_product(Context& context, const Value& gate, const Value& up,
                    kernels::Activation activation, std::string_view place = {});

}  // namespace headlight::autograd
