// The product of a gated feed-forward layer: one half, activated, times the other.
#pragma once

#include "headlight/kernels/activation.h"

namespace headlight::kernels {

// y = f(gate) * up, same sizes; y may be gate or up.
void gated_product_forward(const Execution& execution, Activation activation,
                           tensor::ConstMatrixView gate, tensor::ConstMatrixView up,
                           tensor::MatrixView y);

// Gradients without data are skipped; with accumulate they are added to. Both may be the same
// memory, if `accumulate_up` is set.
struct GatedProductGradients {
  tensor::MatrixView gate;
  bool accumulate_gate = false;
  tensor::MatrixView up;
  bool accumulate_up = false;
};
// dgate = dy * up * f'(gate), dup = dy * f(gate).
void gated_product_backward(const Execution& execution, Activation activation,
                            tensor::ConstMatrixView gate, tensor::ConstMatrixView up,
                            tensor::ConstMatrixView dy, const GatedProductGradients& gradients);

}  // namespace headlight::kernels
