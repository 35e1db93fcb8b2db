// Which keys a row may see: causal, window, lengths and offsets as one interval. Shared by both
// kinds of attention; kernels only.
#pragma once

#include <algorithm>

#include "headlight/kernels/attention.h"

namespace headlight::kernels {

// Keys first <= j < last; empty when first >= last.
struct KeyInterval {
  int64_t first = 0;
  int64_t last = 0;
};

// The rows of sequence b that are not padding.
inline int64_t live_queries(const AttentionShape& shape, const AttentionMask& mask, int64_t b) {
  return mask.query_lens ? std::clamp<int64_t>(mask.query_lens[b], 0, shape.queries)
                         : shape.queries;
}

inline KeyInterval visible_keys(const AttentionShape& shape, const AttentionMask& mask, int64_t b,
                                int64_t i) {
  if (mask.query_lens && i >= mask.query_lens[b]) return {0, 0};
  const int64_t position = i + (mask.past ? mask.past[b] : 0);
  KeyInterval keys{0, shape.keys};
  if (mask.causal) keys.last = std::min(keys.last, position + 1);
  if (mask.window > 0) {
    keys.first = std::max(keys.first, position - mask.window + 1);
    keys.last = std::min(keys.last, position + mask.window);
  }
  if (mask.valid_lens) {
    keys.last =
        std::min(keys.last, mask.valid_lens[mask.valid_lens_per_query ? b * shape.queries + i : b]);
  }
  if (keys.last <= keys.first) return {0, 0};
  return keys;
}

// The smallest interval that holds those of rows [row, row + count).
inline KeyInterval visible_keys(const AttentionShape& shape, const AttentionMask& mask, int64_t b,
                                int64_t row, int64_t count) {
  KeyInterval all{shape.keys, 0};
  for (int64_t i = row; i < row + count; ++i) {
    const KeyInterval keys = visible_keys(shape, mask, b, i);
    if (keys.first >= keys.last) continue;
    all.first = std::min(all.first, keys.first);
    all.last = std::max(all.last, keys.last);
  }
  return all.first < all.last ? all : KeyInterval{0, 0};
}

}  // namespace headlight::kernels
