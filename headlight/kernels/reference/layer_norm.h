// Layer normalisation of rows, alone and after a residual sum. Arrays are contiguous.
#pragma once

#include <cmath>
#include <cstdint>

namespace headlight::kernels::reference {

// y = (x - mean) / sqrt(variance + epsilon) * weight + bias with the population variance; `bias`
// may be absent. mean and inverse_deviation are (rows,).
template <class T>
struct LayerNormResult {
  T* y;
  T* mean;
  T* inverse_deviation;
};

template <class T>
void layer_norm_forward(const T* x, const T* weight, const T* bias, T epsilon, int64_t rows,
                        int64_t cols, const LayerNormResult<T>& result) {
  for (int64_t r = 0; r < rows; ++r, x += cols) {
    T mean = 0;
    for (int64_t c = 0; c < cols; ++c) mean += x[c] / static_cast<T>(cols);
    T variance = 0;
    for (int64_t c = 0; c < cols; ++c) {
      variance += (x[c] - mean) * (x[c] - mean) / static_cast<T>(cols);
    }
    const T inverse = 1 / std::sqrt(variance + epsilon);
    for (int64_t c = 0; c < cols; ++c) {
      result.y[r * cols + c] =
          (x[c] - mean) * inverse * weight[c] + (bias != nullptr ? bias[c] : T(0));
    }
    result.mean[r] = mean;
    result.inverse_deviation[r] = inverse;
  }
}

// The same of sum = x + residual.
template <class T>
void residual_norm_forward(const T* x, const T* residual, T* sum, const T* weight, const T* bias,
                           T epsilon, int64_t rows, int64_t cols,
                           const LayerNormResult<T>& result) {
  for (int64_t i = 0; i < rows * cols; ++i) sum[i] = x[i] + residual[i];
  layer_norm_forward(sum, weight, bias, epsilon, rows, cols, result);
}

// With n the normalised row and g = dy * weight:
//   dx      += inverse_deviation * (g - mean(g) - n * mean(g * n))
//   dweight += sum over rows of dy * n
//   dbias   += sum over rows of dy
template <class T>
struct LayerNormGradient {
  T* x;
  T* weight;
  T* bias;
};

template <class T>
void layer_norm_backward(const T* x, const T* weight, const LayerNormResult<T>& result, const T* dy,
                         int64_t rows, int64_t cols, const LayerNormGradient<T>& gradient) {
  for (int64_t r = 0; r < rows; ++r) {
    const T inverse = result.inverse_deviation[r];
    const auto normalised = [&](int64_t c) { return (x[r * cols + c] - result.mean[r]) * inverse; };
    T mean_g = 0, mean_gn = 0;
    for (int64_t c = 0; c < cols; ++c) {
      const T g = dy[r * cols + c] * weight[c];
      mean_g += g / static_cast<T>(cols);
      mean_gn += g * normalised(c) / static_cast<T>(cols);
      gradient.weight[c] += dy[r * cols + c] * normalised(c);
      gradient.bias[c] += dy[r * cols + c];
    }
    for (int64_t c = 0; c < cols; ++c) {
      const T g = dy[r * cols + c] * weight[c];
      gradient.x[r * cols + c] += inverse * (g - mean_g - normalised(c) * mean_gn);
    }
  }
}

}  // namespace headlight::kernels::reference
