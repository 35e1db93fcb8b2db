// Dropout by given factors, each 0 or 1 / (1 - probability), and the draw of those factors.
#pragma once

#include "headlight/kernels/elementwise.h"

namespace headlight::kernels::reference {

// The factor of a column of a row of the draw, as kernels::dropout documents it.
inline double dropout_factor(const DropoutDraw& draw, int64_t row, int64_t col) {
  const uint64_t drawn_row = static_cast<uint64_t>(draw.first_row + row);
  const base::PhiloxBlock numbers =
      base::philox({static_cast<uint32_t>(col / 4), static_cast<uint32_t>(drawn_row),
                    static_cast<uint32_t>(drawn_row >> 32), kDropoutTag},
                   draw.key);
  const bool kept = numbers[static_cast<size_t>(col % 4)] >= draw.probability * 0x1p32;
  return kept ? 1 / (1 - static_cast<double>(draw.probability)) : 0;
}

// y = x * factors; on dy it is the backward pass.
template <class T>
void dropout(const T* x, const T* factors, T* y, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = x[i] * factors[i];
}

}  // namespace headlight::kernels::reference
