// additive_attention: one head, no scale, and
//   score(i, j) = sum_h score_weights[h] * tanh(query[i][h] + key[j][h])
#pragma once

#include "headlight/autograd/ops/attention.h"

namespace headlight::autograd {

// query (B, T, N) and key (B, S, N), both already projected, value (B, S, E), score_weights (N,) or
// (1, N); gives (B, T, E). Of the options, heads and kv_heads must be 1 (or unset) and scale,
// softcap and position_bias unset. Observed and changed as in attention(); scores, scaled_scores
// and masked_scores exist, capped_scores does not.
Value additive_attention(Context& context, const Value& query, const Value& key, const Value& value,
                         const Value& score_weights, const AttentionOptions& options = {});

}  // namespace headlight::autograd
