// NumPy's .npy files. For io's own use.
#pragma once

#include "headlight/base/base.h"
#include "headlight/tensor/tensor.h"

namespace headlight::io {

// Versions 1 to 3, both byte orders, C and Fortran order; the result is in C order.
tensor::Tensor read_npy(const base::Input& input);

// Version 1.0, little-endian, C order. bfloat16 is written as float32.
void write_npy(base::Output& output, const tensor::Tensor& array);

}  // namespace headlight::io
