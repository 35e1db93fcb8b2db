// Matrix products as the formula has it: the readable definition and the tests' oracle.
#pragma once

#include "headlight/tensor/tensor.h"

namespace headlight::kernels::reference {

// c = a * b (+ c) + bias, before any activation. Legend: i row of c, j column of c, k what is
// summed over.
template <class T, class A, class B>
void matmul(tensor::Matrix<A> a, tensor::Matrix<B> b, tensor::Matrix<T> c, bool accumulate,
            const float* bias) {
  for (int64_t i = 0; i < c.rows; ++i) {
    for (int64_t j = 0; j < c.cols; ++j) {
      T sum = accumulate ? c.at(i, j) : T(0);
      for (int64_t k = 0; k < a.cols; ++k) sum += T(a.at(i, k)) * T(b.at(k, j));
      c.at(i, j) = bias != nullptr ? sum + T(bias[j]) : sum;
    }
  }
}

}  // namespace headlight::kernels::reference
