// NumPy's .npy files. For io's own use.
#pragma once

#include "headlight/base/base.h"
#include "headlight/io/elements.h"
#include "headlight/tensor/tensor.h"

namespace headlight::io {

// What the header says, compared with the file's size.
struct NpyArray {
  StoredArray array;
  bool is_fortran_order = false;
};

// Versions 1 to 3, both byte orders, C and Fortran order.
NpyArray open_npy(const base::Input& input);
// The result is in C order.
tensor::Tensor load_npy(const base::Input& input, const NpyArray& npy);
tensor::Tensor read_npy(const base::Input& input);

// Version 1.0, little-endian, C order. bfloat16 is written as float32.
void write_npy(base::Output& output, const tensor::Tensor& array);

}  // namespace headlight::io
