// Layer and root-mean-square normalisation over rows, alone and after a residual sum; softmax and
// log-softmax over rows.
#pragma once

#include "headlight/kernels/execution.h"

namespace headlight::kernels {

// y = (x - mean) / sqrt(variance + epsilon) * weight + bias, per row; population variance. `bias`
// may be absent. `mean` and `inverse_deviation` are (rows,) and kept for backward.
struct LayerNormOutputs {
  tensor::MatrixView y;
  float* mean = nullptr;
  float* inverse_deviation = nullptr;
};
void layer_norm_forward(const Execution& execution, tensor::ConstMatrixView x, const float* weight,
                        const float* bias, float epsilon, const LayerNormOutputs& outputs);
// The same of sum = x + residual; `sum` is stored too (it may be x).
void residual_norm_forward(const Execution& execution, tensor::ConstMatrixView x,
                           tensor::ConstMatrixView residual, tensor::MatrixView sum,
                           const float* weight, const float* bias, float epsilon,
                           const LayerNormOutputs& outputs);

// dx, dweight and dbias are added to; absent ones (null data) are skipped. dweight and dbias are
// summed over rows in an order fixed by the number of rows.
struct LayerNormGradients {
  tensor::MatrixView x;
  float* weight = nullptr;
  float* bias = nullptr;
};
void layer_norm_backward(const Execution& execution, tensor::ConstMatrixView x, const float* weight,
                         const float* mean, const float* inverse_deviation,
                         tensor::ConstMatrixView dy, const LayerNormGradients& gradients);

// y = x / sqrt(mean(x^2) + epsilon) * (offset + weight), per row. `inverse_root`, one over the
// root, is (rows,) and kept for backward.
struct RmsNormWeight {
  const float* data = nullptr;
  float offset = 0;
};
struct RmsNormOutputs {
  tensor::MatrixView y;
  float* inverse_root = nullptr;
};
void rms_norm_forward(const Execution& execution, tensor::ConstMatrixView x,
                      const RmsNormWeight& weight, float epsilon, const RmsNormOutputs& outputs);
// The same of sum = x + residual; `sum` is stored too (it may be x).
void residual_rms_norm_forward(const Execution& execution, tensor::ConstMatrixView x,
                               tensor::ConstMatrixView residual, tensor::MatrixView sum,
                               const RmsNormWeight& weight, float epsilon,
                               const RmsNormOutputs& outputs);

// Added to, skipped and summed as those of the layer norm.
struct RmsNormGradients {
  tensor::MatrixView x;
  float* weight = nullptr;
};
void rms_norm_backward(const Execution& execution, tensor::ConstMatrixView x,
                       const RmsNormWeight& weight, const float* inverse_root,
                       tensor::ConstMatrixView dy, const RmsNormGradients& gradients);

// Over each row. A row of only -infinity gives zeros (softmax) or -infinity (log-softmax). y may be
// x.
void softmax_forward(const Execution& execution, tensor::ConstMatrixView x, tensor::MatrixView y);
void log_softmax_forward(const Execution& execution, tensor::ConstMatrixView x,
                         tensor::MatrixView y);
// dx += gradient; y is the forward's result.
void softmax_backward(const Execution& execution, tensor::ConstMatrixView y,
                      tensor::ConstMatrixView dy, tensor::MatrixView dx);
void log_softmax_backward(const Execution& execution, tensor::ConstMatrixView y,
                          tensor::ConstMatrixView dy, tensor::MatrixView dx);

}  // namespace headlight::kernels
