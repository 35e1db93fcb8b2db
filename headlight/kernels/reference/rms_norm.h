// Root-mean-square normalisation of rows. Arrays are contiguous.
#pragma once

#include <cmath>
#include <cstdint>

namespace headlight::kernels::reference {

// y = x / sqrt(mean(x^2) + epsilon) * (offset + weight).
template <class T>
struct RmsNorm {
  const T* weight;
  T offset;
  T epsilon;
  int64_t cols;

  T inverse_root(const T* x) const {
    T mean_square = 0;
    for (int64_t c = 0; c < cols; ++c) mean_square += x[c] * x[c] / static_cast<T>(cols);
    return 1 / std::sqrt(mean_square + epsilon);
  }

  // inverse_roots is (rows,).
  void forward(const T* x, T* y, T* inverse_roots, int64_t rows) const {
    for (int64_t r = 0; r < rows; ++r, x += cols, y += cols) {
      inverse_roots[r] = inverse_root(x);
      for (int64_t c = 0; c < cols; ++c) y[c] = x[c] * inverse_roots[r] * (offset + weight[c]);
    }
  }

  // With n = x * inverse_root and g = dy * (offset + weight):
  //   dx      += inverse_root * (g - n * mean(g * n))
  //   dweight += sum over rows of dy * n
  void backward(const T* x, const T* dy, T* dx, T* dweight, int64_t rows) const {
    for (int64_t r = 0; r < rows; ++r, x += cols, dy += cols, dx += cols) {
      const T inverse = inverse_root(x);
      T mean_gn = 0;
      for (int64_t c = 0; c < cols; ++c) {
        const T n = x[c] * inverse;
        mean_gn += dy[c] * (offset + weight[c]) * n / static_cast<T>(cols);
        dweight[c] += dy[c] * n;
      }
      for (int64_t c = 0; c < cols; ++c) {
        dx[c] += inverse * (dy[c] * (offset + weight[c]) - x[c] * inverse * mean_gn);
      }
    }
  }
};

}  // namespace headlight::kernels::reference
