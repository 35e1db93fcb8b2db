// Softmax and log-softmax over contiguous rows. A row of only -infinity gives zeros, or -infinity.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace headlight::kernels::reference {

// Largest number of a row and the sum of exp(x - largest); no numbers but -infinity: 0 and 0.
template <class T>
struct RowExponentials {
  T max = 0;
  T sum = 0;
};

template <class T>
RowExponentials<T> row_exponentials(const T* x, int64_t cols) {
  constexpr T kLowest = -std::numeric_limits<T>::infinity();
  T max = kLowest;
  for (int64_t c = 0; c < cols; ++c) max = std::max(max, x[c]);
  if (max == kLowest) max = 0;
  T sum = 0;
  for (int64_t c = 0; c < cols; ++c) sum += std::exp(x[c] - max);
  return {max, sum};
}

template <class T>
void softmax_forward(const T* x, T* y, int64_t rows, int64_t cols) {
  for (int64_t r = 0; r < rows; ++r, x += cols, y += cols) {
    const RowExponentials<T> row = row_exponentials(x, cols);
    for (int64_t c = 0; c < cols; ++c) {
      y[c] = row.sum == 0 ? T(0) : std::exp(x[c] - row.max) / row.sum;
    }
  }
}

template <class T>
void log_softmax_forward(const T* x, T* y, int64_t rows, int64_t cols) {
  for (int64_t r = 0; r < rows; ++r, x += cols, y += cols) {
    const RowExponentials<T> row = row_exponentials(x, cols);
    for (int64_t c = 0; c < cols; ++c) {
      y[c] = x[c] - row.max - (row.sum == 0 ? T(0) : std::log(row.sum));
    }
  }
}

// dx += y * (dy - sum(dy * y)).
template <class T>
void softmax_backward(const T* y, const T* dy, T* dx, int64_t rows, int64_t cols) {
  for (int64_t r = 0; r < rows; ++r, y += cols, dy += cols, dx += cols) {
    T mean = 0;
    for (int64_t c = 0; c < cols; ++c) mean += y[c] * dy[c];
    for (int64_t c = 0; c < cols; ++c) dx[c] += y[c] * (dy[c] - mean);
  }
}

// dx += dy - exp(y) * sum(dy).
template <class T>
void log_softmax_backward(const T* y, const T* dy, T* dx, int64_t rows, int64_t cols) {
  for (int64_t r = 0; r < rows; ++r, y += cols, dy += cols, dx += cols) {
    T total = 0;
    for (int64_t c = 0; c < cols; ++c) total += dy[c];
    for (int64_t c = 0; c < cols; ++c) dx[c] += dy[c] - std::exp(y[c]) * total;
  }
}

}  // namespace headlight::kernels::reference
