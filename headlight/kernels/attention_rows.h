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

// Rows [first, first + count) of one sequence and query head.
struct RowBlock {
  int64_t b, h;
  int64_t first, count;
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

// What rows see together.
struct SeenKeys {
  KeyInterval any;  // the smallest interval that holds what each row sees
  KeyInterval all;  // what every row sees
};

inline SeenKeys seen_keys(const AttentionShape& shape, const AttentionMask& mask, int64_t b,
                          int64_t row, int64_t count) {
  SeenKeys seen{{shape.keys, 0}, {0, shape.keys}};
  for (int64_t i = row; i < row + count; ++i) {
    const KeyInterval keys = visible_keys(shape, mask, b, i);
    seen.all.first = std::max(seen.all.first, keys.first);
    seen.all.last = std::min(seen.all.last, keys.last);
    if (keys.first >= keys.last) continue;
    seen.any.first = std::min(seen.any.first, keys.first);
    seen.any.last = std::max(seen.any.last, keys.last);
  }
  if (seen.any.last <= seen.any.first) seen.any = {0, 0};
  return seen;
}

}  // namespace headlight::kernels
