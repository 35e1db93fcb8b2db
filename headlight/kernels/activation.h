// Activations of the feed-forward layers, and their derivatives.
#pragma once

#include "headlight/kernels/execution.h"

namespace headlight::kernels {

enum class Activation {
  none,
  relu,
  gelu,       // exact: x * Phi(x)
  gelu_tanh,  // GPT-2's approximation, called gelu_new in model folders
};

// y = f(x), `count` adjacent numbers; y may be x.
void activation_forward(const Execution& execution, Activation activation, const float* x, float* y,
                        int64_t count);
// dx = dy * f'(x); dx may be dy.
void activation_backward(const Execution& execution, Activation activation, const float* x,
                         const float* dy, float* dx, int64_t count);

}  // namespace headlight::kernels
