// Rows of a table by number, their gradient, and sinusoidal positions: copies and sums, which the
// compiler vectorises well enough.
#include <algorithm>
#include <cmath>

#include "headlight/kernels/elementwise.h"
#include "headlight/kernels/row_chunks.h"

namespace headlight::kernels {

void embedding_forward(const Execution& execution, tensor::ConstMatrixView table,
                       const int64_t* ids, tensor::MatrixView y) {
  for_rows(execution, y.rows, y.cols, [&](int64_t r, int) {
    const float* from = table.data + ids[r] * table.row_stride;
    std::copy(from, from + y.cols, y.data + r * y.row_stride);
  });
}

void embedding_backward(const Execution& execution, const int64_t* ids, tensor::ConstMatrixView dy,
                        tensor::MatrixView d_table) {
  // Threads share out the columns and each walks all rows: equal ids never meet and always add up
  // in the same order.
  constexpr int64_t kPart = 128;
  const int64_t parts = (dy.cols + kPart - 1) / kPart;
  execution.threads.parallel_for(parts, [&](int64_t part, int) {
    const int64_t first = part * kPart;
    const int64_t count = std::min(kPart, dy.cols - first);
    for (int64_t r = 0; r < dy.rows; ++r) {
      const float* from = dy.data + r * dy.row_stride + first;
      float* to = d_table.data + ids[r] * d_table.row_stride + first;
      for (int64_t c = 0; c < count; ++c) to[c] += from[c];
    }
  });
}

void sinusoids(const SinusoidOptions& options, tensor::MatrixView y) {
  const int64_t pairs = (y.cols + 1) / 2;  // an odd last column has a sine only
  const double half = static_cast<double>(y.cols) / 2;
  const double divisor = options.half_minus_one ? half - 1 : half;
  for (int64_t i = 0; i < pairs; ++i) {
    const double frequency = i == 0 ? 1 : std::pow(options.base, -static_cast<double>(i) / divisor);
    const int64_t sine = options.halves ? i : 2 * i;
    const int64_t cosine = options.halves ? pairs + i : 2 * i + 1;
    for (int64_t r = 0; r < y.rows; ++r) {
      const double angle = static_cast<double>(options.first + r) * frequency;
      y.at(r, sine) = static_cast<float>(std::sin(angle));
      if (cosine < y.cols) y.at(r, cosine) = static_cast<float>(std::cos(angle));
    }
  }
}

}  // namespace headlight::kernels
