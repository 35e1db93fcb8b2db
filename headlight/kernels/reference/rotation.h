// Rotary positions as the formula has them: rows of heads, each pair of columns turned.
#pragma once

#include <cmath>

#include "headlight/kernels/rotation.h"

namespace headlight::kernels::reference {

// The columns of pair i within a head.
struct PairColumns {
  int64_t a;
  int64_t b;
};
inline PairColumns pair_columns(const Rotation& rotation, int64_t i) {
  if (rotation.interleaved) return {2 * i, 2 * i + 1};
  return {i, i + rotation.pairs};
}

// y += the rotation of x; x is (rows, heads * width).
template <class T>
void rotate(const Rotation& rotation, const T* x, T* y, int64_t rows, int64_t width) {
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t sequence = r / rotation.sequence_rows;
    const int64_t past = rotation.past != nullptr ? rotation.past[sequence] : 0;
    const T position = static_cast<T>(past + r % rotation.sequence_rows);
    for (int64_t h = 0; h < rotation.heads; ++h, x += width, y += width) {
      for (int64_t i = 0; i < rotation.pairs; ++i) {
        const auto [a, b] = pair_columns(rotation, i);
        const T angle = position * T(rotation.rates[i]) * (rotation.backwards ? -1 : 1);
        const T cosine = T(rotation.magnitude) * std::cos(angle);
        const T sine = T(rotation.magnitude) * std::sin(angle);
        y[a] += x[a] * cosine - x[b] * sine;
        y[b] += x[b] * cosine + x[a] * sine;
      }
      for (int64_t c = 2 * rotation.pairs; c < width; ++c) y[c] += x[c];
    }
  }
}

}  // namespace headlight::kernels::reference
