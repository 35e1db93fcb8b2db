// attention: softmax(mask(softcap(scale * Q K^T) + position bias + bias)) V for all heads, by the
// fused kernel.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "headlight/autograd/context.h"
#include "headlight/autograd/value.h"

namespace headlight::autograd {

using kernels::PositionBiasKind;

// A bias for how far a key is from its query, relative = j - (i + past), computed with the scores:
// no (T, S) tensor exists.
struct PositionBias {
  PositionBiasKind kind = PositionBiasKind::none;
  // linear (ALiBi): slopes (H,), the bias is -slope * |relative|; buckets (T5): a table (buckets,
  // H), the bias is its entry for the bucket of `relative`. In one piece.
  Value coefficients = {};
  // Of buckets: half of them are for keys after the query, instead of one for all of these; the
  // distance from which on all share the last bucket. See kernels::PositionBias.
  bool bidirectional = true;
  int64_t max_distance = 128;
};

// What heads are called where some have been pruned, and what they read. A head keeps its number.
struct PrunedHeads {
  int64_t original = 0;         // heads that there were
  tensor::Tensor numbers = {};  // i64 (heads,): of those that are left, ascending
  int64_t kv_original = 0;      // the same of key/value heads
  tensor::Tensor kv_numbers = {};
  // The key/value head of each query head, i64 (heads,): from 0 on, ascending, none left out.
  // Absent: each has as many readers.
  tensor::Tensor kv_head_of = {};
};

// Masks and bias are (T, S), (B, T, S) for all heads, or (B, H, T, S), any axis may be 1; masks are
// boolean. A key is seen when all that is given agrees. Tensors not given are absent.
struct AttentionOptions {
  // For rank 3; rank 4 has its own. Query head h reads key/value head h / (heads / kv_heads),
  // unless `pruned` says otherwise; kv_heads 0 means as many as heads.
  int64_t heads = 1;
  int64_t kv_heads = 0;
  const PrunedHeads* pruned = nullptr;  // absent: heads count from 0; read during the call only
  std::optional<float> scale = {};      // 1 / sqrt(D) when unset
  float softcap = 0;                    // > 0: s becomes softcap * tanh(s / softcap)
  bool causal = false;                  // key j is seen by query i when j <= i + past
  int64_t window = 0;                   // > 0: when |i + past - j| < window
  tensor::Tensor past = {};             // i64 (B,); may be negative
  tensor::Tensor valid_lens = {};       // i64 (B,) or (B, T): keys before this one are seen; 0 to S
  tensor::Tensor query_lens = {};       // i64 (B,): rows from here on are padding and zero; 0 to T
  tensor::Tensor keep_mask = {};        // true: may attend
  tensor::Tensor forbid_mask = {};      // true: may not
  Value bias = {};                      // added after scale and cap
  PositionBias position_bias = {};      // added beside it
  Value gates = {};                     // (H,) or (B, H): multiplies each head's output
  float dropout = 0;                    // of the weights; only in training
  std::string_view place = {};          // e.g. "decoder.0.self": names observations and draws
};

// query (B, T, H*D), key (B, S, Hkv*D), value (B, S, Hkv*E) give (B, T, H*E); or, split into heads,
// (B, H, T, D), (B, Hkv, S, D), (B, Hkv, S, E) give (B, H, T, E). The last axis must be adjacent in
// memory; slices of a fused projection need no copy. A row that sees no key is zero and so are its
// gradients.
//
// An observer may want, at "<place>." or, for one head, at "<place>.head.<number>." (then without
// the head axis): query (B, H, T, D), key (B, Hkv, S, D), value (B, Hkv, S, E), scores,
// scaled_scores, capped_scores (only with a soft cap), position_bias (only with one),
// masked_scores, weights (B, H, T, S), row_max, row_sum (B, H, T), weighted_values (B, H, T, S, E),
// head_output (B, H, T, E), before the gates. Masked scores have the biases in them; weights are
// those before dropout. An intervention may change "<place>.head_gates".
Value attention(Context& context, const Value& query, const Value& key, const Value& value,
                const AttentionOptions& options = {});

// What a cache holds, see kernels::CachedKeys. The tiles' memory must last as long as the call.
struct CachedKeyValues {
  std::vector<kernels::CachedTile> tiles = {};  // (B, tiles)
  std::vector<int64_t> counts = {};             // (B,); S is the largest
  int64_t kv_heads = 0;
  int64_t key_width = 0;
  int64_t value_width = 0;
};
// The same without gradients.
tensor::Tensor cached_attention(Context& context, const tensor::Tensor& query,
                                const CachedKeyValues& cache, const AttentionOptions& options = {});

}  // namespace headlight::autograd
