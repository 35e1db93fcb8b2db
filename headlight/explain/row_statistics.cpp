// Maximum and sum of exponentials, and differences.
#include "headlight/explain/row_statistics.h"

#include <algorithm>
#include <cmath>

namespace headlight::explain {

using tensor::Shape;
using tensor::Tensor;

RowStatistics row_statistics(const Tensor& rows) {
  const Shape shape(rows.shape().sizes().first(static_cast<size_t>(rows.rank() - 1)));
  Tensor maximum = Tensor::uninitialized(tensor::DType::f32, shape);
  Tensor sums = Tensor::uninitialized(tensor::DType::f32, shape);
  const int64_t width = rows.size(-1);
  for (int64_t r = 0; r < shape.elements(); ++r) {
    const float* row = rows.data<float>() + r * width;
    const float most = *std::max_element(row, row + width);
    double sum = 0;
    for (int64_t c = 0; c < width; ++c) sum += std::exp(static_cast<double>(row[c]) - most);
    maximum.mutable_data<float>()[r] = most;
    sums.mutable_data<float>()[r] = static_cast<float>(sum);
  }
  return {maximum, sums};
}

double largest_difference(const Tensor& a, const Tensor& b) {
  double most = 0;
  for (int64_t i = 0; i < a.elements(); ++i) {
    most = std::max(most, std::abs(static_cast<double>(a.data<float>()[i]) - b.data<float>()[i]));
  }
  return most;
}

}  // namespace headlight::explain
