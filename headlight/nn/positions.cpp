// Sinusoidal positions as a table that is computed once.
#include "headlight/nn/positions.h"

namespace headlight::nn {

using tensor::DType;
using tensor::Tensor;

Tensor position_ids(std::span<const int64_t> first, int64_t count) {
  Tensor ids = Tensor::uninitialized(DType::i64, {static_cast<int64_t>(first.size()), count});
  int64_t* to = ids.mutable_data<int64_t>();
  for (const int64_t begin : first) {
    for (int64_t i = 0; i < count; ++i) *to++ = begin + i;
  }
  return ids;
}

SinusoidalPositions::SinusoidalPositions(const SinusoidalOptions& options)
    : sinusoids_(options.sinusoids) {
  Tensor rows = Tensor::uninitialized(DType::f32, {options.count, options.width});
  kernels::sinusoids(options.sinusoids, rows.mutable_matrix());
  rows_ = Value::leaf(rows);
}

Value SinusoidalPositions::forward(Context& context, const Tensor& positions) const {
  return autograd::position_rows(context, positions, rows_,
                                 {.start = sinusoids_.first, .sinusoids = sinusoids_});
}

}  // namespace headlight::nn
