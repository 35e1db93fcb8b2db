// CachedRows: keys and values in tiles, as a cache holds them.
#pragma once

#include <algorithm>
#include <vector>

#include "headlight/autograd/autograd.h"

namespace headlight::tests {

class CachedRows {
 public:
  // Keys (B, S, Hkv*D) and values (B, S, Hkv*E).
  CachedRows(const tensor::Tensor& keys, const tensor::Tensor& values, int64_t kv_heads) {
    const int64_t count = keys.size(1);
    cache_.kv_heads = kv_heads;
    cache_.key_width = keys.size(2) / kv_heads;
    cache_.value_width = values.size(2) / kv_heads;
    for (int64_t b = 0; b < keys.size(0); ++b) {
      cache_.counts.push_back(count);
      for (int64_t first = 0; first < count; first += kernels::kKeyTile) {
        add_tile(keys.heads(kv_heads), values.heads(kv_heads), b, first,
                 std::min(kernels::kKeyTile, count - first));
      }
    }
  }

  const autograd::CachedKeyValues& view() const { return cache_; }

 private:
  void add_tile(const tensor::ConstHeadsView& keys, const tensor::ConstHeadsView& values, int64_t b,
                int64_t first, int64_t count) {
    const int64_t packed = kernels::packed_keys_size(kernels::kKeyTile, cache_.key_width);
    const int64_t rows = kernels::kKeyTile * cache_.value_width;
    std::vector<float>& tile =
        memory_.emplace_back(static_cast<size_t>(cache_.kv_heads * (packed + rows)));
    float* tile_values = tile.data() + cache_.kv_heads * packed;
    for (int64_t g = 0; g < cache_.kv_heads; ++g) {
      kernels::append_packed_keys(keys.row(b, g, first), keys.row_stride, count, cache_.key_width,
                                  0, tile.data() + g * packed);
      for (int64_t i = 0; i < count; ++i) {
        std::copy_n(values.row(b, g, first + i), cache_.value_width,
                    tile_values + g * rows + i * cache_.value_width);
      }
    }
    cache_.tiles.push_back({tile.data(), tile_values});
  }

  std::vector<std::vector<float>> memory_;
  autograd::CachedKeyValues cache_;
};

}  // namespace headlight::tests
