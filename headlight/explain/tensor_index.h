// Indices of cells and their places in memory. Inside explain only.
#pragma once

#include <cstdint>
#include <vector>

#include "headlight/tensor/tensor.h"

namespace headlight::explain {

// How many numbers of a contiguous tensor stand before this one; and back.
inline int64_t offset_of(const tensor::Shape& shape, const std::vector<int64_t>& index) {
  int64_t offset = 0;
  for (size_t axis = 0; axis < index.size(); ++axis) {
    offset = offset * shape[static_cast<int>(axis)] + index[axis];
  }
  return offset;
}
inline std::vector<int64_t> index_at(const tensor::Shape& shape, int64_t offset) {
  std::vector<int64_t> index(static_cast<size_t>(shape.rank()));
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    index[static_cast<size_t>(axis)] = offset % shape[axis];
    offset /= shape[axis];
  }
  return index;
}

// A number of a contiguous tensor of floats, integers or truth.
inline double number_at(const tensor::Tensor& values, const std::vector<int64_t>& index) {
  const int64_t offset = offset_of(values.shape(), index);
  if (values.dtype() == tensor::DType::i64) {
    return static_cast<double>(values.data<int64_t>()[offset]);
  }
  if (values.dtype() == tensor::DType::boolean) return values.data<bool>()[offset] ? 1 : 0;
  return values.data<float>()[offset];
}

}  // namespace headlight::explain
