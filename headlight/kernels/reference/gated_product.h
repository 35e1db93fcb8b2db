// The product of a gated feed-forward layer, f(gate) * up, element by element.
#pragma once

#include "headlight/kernels/reference/activation.h"

namespace headlight::kernels::reference {

template <class T>
void gated_product_forward(Activation activation, const T* gate, const T* up, T* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = activate(activation, gate[i]) * up[i];
}

// dgate += dy * up * f'(gate), dup += dy * f(gate).
template <class T>
void gated_product_backward(Activation activation, const T* gate, const T* up, const T* dy,
                            T* dgate, T* dup, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    dgate[i] += dy[i] * up[i] * activation_slope(activation, gate[i]);
    dup[i] += dy[i] * activate(activation, gate[i]);
  }
}

}  // namespace headlight::kernels::reference
