// One matrix product as the kernel takes it, whatever it was called with.
#pragma once

#include "headlight/kernels/matmul.h"

namespace headlight::kernels {

struct Product {
  tensor::ConstMatrixView a;
  tensor::ConstMatrixView b;  // with panels, only its size counts
  const std::byte* panels;    // of a packed b, or none
  tensor::DType panels_type;
  tensor::MatrixView c;
  const Epilogue& epilogue;
  const float* tiles = nullptr;  // of a packed a
};

// Panels of 16-bit numbers hold two rows of b in each row of 32-bit words.
inline bool is_narrow(tensor::DType dtype) { return dtype != tensor::DType::f32; }

constexpr int64_t ceil_divide(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace headlight::kernels
