// Rows of a table by number, and sinusoidal positions. Arrays are contiguous.
#pragma once

#include <cmath>

#include "headlight/kernels/elementwise.h"

namespace headlight::kernels::reference {

template <class T>
void embedding_forward(const T* table, const int64_t* ids, T* y, int64_t rows, int64_t cols) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) y[r * cols + c] = table[ids[r] * cols + c];
  }
}

// d_table[ids[r]] += dy[r].
template <class T>
void embedding_backward(const int64_t* ids, const T* dy, T* d_table, int64_t rows, int64_t cols) {
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) d_table[ids[r] * cols + c] += dy[r * cols + c];
  }
}

// One number: row for position `position`, column `col` of `cols`. Pair i has the angle
//   position / base^(i / divisor)
// and its sine stands before its cosine, or half a row before it.
template <class T>
T sinusoid(const SinusoidOptions& options, int64_t position, int64_t col, int64_t cols) {
  const int64_t sines = (cols + 1) / 2;
  const int64_t pair = options.halves ? col % sines : col / 2;
  const bool is_sine = options.halves ? col < sines : col % 2 == 0;
  const T divisor = static_cast<T>(cols) / 2 - (options.half_minus_one ? 1 : 0);
  const T exponent = pair == 0 ? T(0) : static_cast<T>(pair) / divisor;
  const T angle = static_cast<T>(position) / std::pow(static_cast<T>(options.base), exponent);
  return is_sine ? std::sin(angle) : std::cos(angle);
}

}  // namespace headlight::kernels::reference
