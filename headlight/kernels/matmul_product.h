// One matrix product as the kernel takes it, whatever it was called with.
#pragma once

#include "headlight/kernels/matmul.h"

namespace headlight::kernels {

struct Product {
  tensor::ConstMatrixView a;
  tensor::ConstMatrixView b;  // with panels, only its size counts
  const float* panels;        // of a packed b, or none
  tensor::MatrixView c;
  const Epilogue& epilogue;
  const float* tiles = nullptr;  // of a packed a
};

constexpr int64_t ceil_divide(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace headlight::kernels
