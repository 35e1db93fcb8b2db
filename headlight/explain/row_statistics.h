// The two numbers of a row that softmax needs. Inside explain only.
#pragma once

#include "headlight/tensor/tensor.h"

namespace headlight::explain {

// Of (..., V) float32 rows, each (...).
struct RowStatistics {
  tensor::Tensor maximum;
  tensor::Tensor sum;  // of exp(x - maximum)
};
RowStatistics row_statistics(const tensor::Tensor& rows);

// The largest |a - b| of two tensors with as many elements.
double largest_difference(const tensor::Tensor& a, const tensor::Tensor& b);

}  // namespace headlight::explain
