// y = f(x W + b): a linear layer with its activation. Legend: r row, i input column, o output
// column; W is (inputs x outputs). Arrays are contiguous.
#pragma once

#include "headlight/kernels/reference/activation.h"

namespace headlight::kernels::reference {

struct LinearShape {
  int64_t rows = 0;
  int64_t inputs = 0;
  int64_t outputs = 0;
};

// `before` (rows x outputs) is what the activation is given; `bias` may be absent.
template <class T>
void linear_forward(const LinearShape& shape, Activation activation, const T* x, const T* weight,
                    const T* bias, T* before, T* y) {
  for (int64_t r = 0; r < shape.rows; ++r) {
    for (int64_t o = 0; o < shape.outputs; ++o) {
      T sum = bias != nullptr ? bias[o] : T(0);
      for (int64_t i = 0; i < shape.inputs; ++i) {
        sum += x[r * shape.inputs + i] * weight[i * shape.outputs + o];
      }
      before[r * shape.outputs + o] = sum;
      y[r * shape.outputs + o] = activate(activation, sum);
    }
  }
}

// With d = dy * f'(before): dx = d W^T, dW = x^T d, db = sum of d over rows. All are added to;
// dbias may be absent.
template <class T>
void linear_backward(const LinearShape& shape, Activation activation, const T* x, const T* weight,
                     const T* before, const T* dy, T* dx, T* dweight, T* dbias) {
  for (int64_t r = 0; r < shape.rows; ++r) {
    for (int64_t o = 0; o < shape.outputs; ++o) {
      const int64_t at = r * shape.outputs + o;
      const T d = dy[at] * activation_slope(activation, before[at]);
      if (dbias != nullptr) dbias[o] += d;
      for (int64_t i = 0; i < shape.inputs; ++i) {
        dx[r * shape.inputs + i] += d * weight[i * shape.outputs + o];
        dweight[i * shape.outputs + o] += d * x[r * shape.inputs + i];
      }
    }
  }
}

}  // namespace headlight::kernels::reference
