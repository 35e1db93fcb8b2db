// Parts of attention for those who look inside: keys out of their packing, weights times values.
#pragma once

#include "headlight/kernels/attention.h"

namespace headlight::kernels {

// The reverse of append_packed_keys: `count` keys from the first on, one row after the other.
void unpack_keys(const float* packed, int64_t count, int64_t key_width, float* rows);

// out[i][j] = weights[i][j] * values[j] for `rows` rows of weights over `keys` keys; a weight of 0
// gives zeros, whatever its value is.
struct WeighedShape {
  int64_t rows = 0;
  int64_t keys = 0;
  int64_t value_width = 0;
};
void weigh_values(const WeighedShape& shape, const float* weights, const float* values,
                  int64_t value_stride, float* out);

}  // namespace headlight::kernels
