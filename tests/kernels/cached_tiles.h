// CachedTiles: keys and values of one sequence in tiles, filled row by row.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "headlight/kernels/kernels.h"

namespace headlight::tests {

// The tiles of one sequence, as a cache fills them. What it does not hold yet may be anything.
struct CachedTiles {
  explicit CachedTiles(const kernels::AttentionShape& s) : shape(s) {
    for (int64_t first = 0; first < s.keys; first += kernels::kKeyTile) {
      const auto size = static_cast<size_t>(s.kv_heads * kernels::kKeyTile);
      keys.emplace_back(size * static_cast<size_t>(s.key_width), std::nanf(""));
      values.emplace_back(size * static_cast<size_t>(s.value_width), std::nanf(""));
      tiles.push_back({keys.back().data(), values.back().data()});
    }
  }

  // Takes rows of sequence b until there are `wanted`.
  void fill(const tensor::HeadsView& key, const tensor::HeadsView& value, int64_t b,
            int64_t wanted) {
    for (; count < wanted; ++count) {
      const auto tile = static_cast<size_t>(count / kernels::kKeyTile);
      const int64_t row = count % kernels::kKeyTile;
      for (int64_t g = 0; g < shape.kv_heads; ++g) {
        const int64_t first = g * kernels::kKeyTile;
        kernels::append_packed_keys(key.row(b, g, count), key.row_stride, 1, shape.key_width, row,
                                    keys[tile].data() + first * shape.key_width);
        std::copy_n(value.row(b, g, count), shape.value_width,
                    values[tile].data() + (first + row) * shape.value_width);
      }
    }
  }

  const kernels::AttentionShape& shape;
  int64_t count = 0;
  std::vector<std::vector<float>> keys, values;
  std::vector<kernels::CachedTile> tiles;
};

}  // namespace headlight::tests
