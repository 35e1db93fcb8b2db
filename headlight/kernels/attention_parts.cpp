// Plain loops: whoever looks inside has time.
#include "headlight/kernels/attention_parts.h"

namespace headlight::kernels {

void unpack_keys(const float* packed, int64_t count, int64_t key_width, float* rows) {
  for (int64_t key = 0; key < count; ++key) {
    for (int64_t d = 0; d < key_width; ++d) *rows++ = packed[packed_key_index(key, d, key_width)];
  }
}

void weigh_values(const WeighedShape& shape, const float* weights, const float* values,
                  int64_t value_stride, float* out) {
  for (int64_t i = 0; i < shape.rows * shape.keys; ++i) {
    const float* value = values + i % shape.keys * value_stride;
    for (int64_t e = 0; e < shape.value_width; ++e) {
      *out++ = weights[i] == 0 ? 0 : weights[i] * value[e];
    }
  }
}

}  // namespace headlight::kernels
