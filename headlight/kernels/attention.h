// Multi-head attention with everything inside: masks, offsets, biases, soft cap, grouped heads,
// unequal widths, gates, dropout, caches. Tiled with an online softmax; no (queries x keys) matrix
// is ever kept. Key tiles start at key 0 and have one size, so a row's bits depend only on its own
// query, keys, values and masks: not on threads, on other rows, on padding, or on keys it cannot
// see.
#pragma once

#include <algorithm>
#include <cstdint>

#include "headlight/kernels/execution.h"

namespace headlight::kernels {

struct AttentionShape {
  int64_t batch = 0;
  int64_t heads = 0;        // query heads
  int64_t kv_heads = 0;     // key/value heads, see kv_head()
  int64_t queries = 0;      // T
  int64_t keys = 0;         // S
  int64_t key_width = 0;    // D
  int64_t value_width = 0;  // E
  // The key/value head of each query head, (heads,): from 0 on, ascending, none left out. Absent:
  // kv_heads divides heads, and as many query heads read each.
  const int64_t* kv_head_of = nullptr;

  // The key/value head that query head h reads; its readers are first_reader(g) to first_reader(g +
  // 1), without the last.
  int64_t kv_head(int64_t h) const { return kv_head_of ? kv_head_of[h] : h / (heads / kv_heads); }
  int64_t first_reader(int64_t g) const {
    if (!kv_head_of) return g * (heads / kv_heads);
    return std::lower_bound(kv_head_of, kv_head_of + heads, g) - kv_head_of;
  }
};

// Which keys a query may see. Everything given must agree ("and").
struct AttentionMask {
  bool causal = false;                  // key j is seen by query i when j <= i + past
  int64_t window = 0;                   // > 0: when |i + past - j| < window
  const int64_t* past = nullptr;        // (batch,), may be negative; absent: 0
  const int64_t* valid_lens = nullptr;  // (batch,) or (batch, queries): keys j < length, 0 to keys
  bool valid_lens_per_query = false;
  // (batch,): rows from this one on are padding; they give zeros and cost nothing.
  const int64_t* query_lens = nullptr;
  tensor::Broadcast<const bool> keep;    // true: may attend
  tensor::Broadcast<const bool> forbid;  // true: may not
  tensor::Broadcast<const float> bias;   // added after scale and cap; -infinity hides
};

// A bias for how far a key is from the query, relative = j - (i + past): added to the score tile
// after scale and cap, beside the mask's bias; -infinity hides. No (queries x keys) array exists.
//   linear (ALiBi):  -coefficients[h] * |relative|, coefficients being slopes, (heads,)
//   buckets (T5):    coefficients[bucket(relative) * heads + h], a table, (buckets, heads)
// T5's bucket, as published and in float32: with `bidirectional`, half of the buckets are for
// relative > 0, and n = |relative|; otherwise n = max(-relative, 0). Of the `count` buckets left,
// exact = count / 2 hold one n each, the others more and more of them:
//   exact + floor(log(n / exact) / log(max_distance / exact) * (count - exact)), at most count - 1
enum class PositionBiasKind { none, linear, buckets };
struct PositionBias {
  PositionBiasKind kind = PositionBiasKind::none;
  const float* coefficients = nullptr;
  int64_t buckets = 0;  // at least 2, with bidirectional 4
  bool bidirectional = false;
  int64_t max_distance = 0;  // more than `exact`
  explicit operator bool() const { return kind != PositionBiasKind::none; }
};

// The bucket of a relative position; of a bias of the kind buckets.
int64_t position_bucket(const PositionBias& bias, int64_t relative);

// Dropout of weights after the softmax. The draw for a weight depends on key, sequence, head, row
// and column only.
struct AttentionDropout {
  float probability = 0;
  uint64_t key = 0;            // from seed, step and layer
  int64_t first_sequence = 0;  // of a larger batch, of which this one is a part
};

// The softmax goes over the keys in tiles of kKeyTile.
constexpr int64_t kKeyTile = 128;

// Keys rearranged for the scores: per sequence and key/value head, panels of kKeyPanel keys, each
// (key_width x kKeyPanel). What a KvCache keeps, so that decoding reads it as it lies. Places past
// the last key, up to a multiple of kKeyTile, may hold anything.
constexpr int64_t kKeyPanel = 32;
// Floats needed for `keys` keys of one sequence and head.
constexpr int64_t packed_keys_size(int64_t keys, int64_t key_width) {
  return (keys + kKeyPanel - 1) / kKeyPanel * kKeyPanel * key_width;
}
// Where number d of a key lies.
constexpr int64_t packed_key_index(int64_t key, int64_t d, int64_t key_width) {
  return (key / kKeyPanel * key_width + d) * kKeyPanel + key % kKeyPanel;
}
// Writes `count` key rows as keys first, first + 1, ... of one sequence and head.
void append_packed_keys(const float* rows, int64_t row_stride, int64_t count, int64_t key_width,
                        int64_t first, float* packed);

// Keys and values as a cache holds them: each sequence in tiles of kKeyTile keys, which may lie
// anywhere.
struct CachedTile {
  const float* keys = nullptr;    // (kv_heads, packed_keys_size(kKeyTile, key_width))
  const float* values = nullptr;  // (kv_heads, kKeyTile, value_width)

  const float* keys_of(const AttentionShape& shape, int64_t kv_head) const {
    return keys + kv_head * packed_keys_size(kKeyTile, shape.key_width);
  }
  const float* values_of(const AttentionShape& shape, int64_t kv_head) const {
    return values + kv_head * kKeyTile * shape.value_width;
  }
};
struct CachedKeys {
  // (batch, tiles), as many tiles as shape.keys needs; those that a sequence does not need may be
  // absent.
  const CachedTile* tiles = nullptr;
  const int64_t* counts = nullptr;  // (batch,) keys of each sequence; shape.keys is the largest

  explicit operator bool() const { return tiles != nullptr; }
  const CachedTile& tile(const AttentionShape& shape, int64_t b, int64_t tile) const {
    return tiles[b * ((shape.keys + kKeyTile - 1) / kKeyTile) + tile];
  }
};

struct AttentionProblem {
  AttentionShape shape;
  tensor::ConstHeadsView query;
  tensor::ConstHeadsView key;
  tensor::ConstHeadsView value;
  CachedKeys cached;  // in place of key and value; attention_forward only
  float scale = 1;
  float softcap = 0;  // > 0: s -> cap * tanh(s / cap)
  AttentionMask mask;
  PositionBias position_bias;
  const float* gates = nullptr;  // (heads,) or (batch, heads): gates[b * gate_batch_stride + h]
  int64_t gate_batch_stride = 0;
  AttentionDropout dropout;
};

// row_max and row_sum are (batch, heads, queries): the largest masked score of a row (-infinity
// when it sees nothing) and the sum of exp(score - row_max) (0 then). `ungated`, wanted by backward
// when there are gates, is the output before the gates.
struct AttentionOutputs {
  tensor::HeadsView output;
  tensor::HeadsView ungated;
  float* row_max = nullptr;
  float* row_sum = nullptr;
};
void attention_forward(const Execution& execution, const AttentionProblem& problem,
                       const AttentionOutputs& outputs);

// Gradients are added to what is there. Absent ones (no data) are not computed; query, key and
// value are computed together.
struct AttentionGradients {
  tensor::HeadsView query;
  tensor::HeadsView key;
  tensor::HeadsView value;
  tensor::Broadcast<float> bias;   // strides as the mask's bias: repeated axes are summed over
  float* gates = nullptr;          // laid out as the problem's gates
  float* position_bias = nullptr;  // laid out as the coefficients
};
// `outputs` are those of the forward pass (ungated needed only with gates); d_output is the
// gradient of `output`.
void attention_backward(const Execution& execution, const AttentionProblem& problem,
                        const AttentionOutputs& outputs, tensor::ConstHeadsView d_output,
                        const AttentionGradients& gradients);

// Looking inside: `stage` of rows [first_row, first_row + row_count) of one sequence and head, by
// the score-tile function of the forward pass, so weights are those it used (before dropout).
// Written to out[row * out_stride + key] for all keys. The row maximum and sum of the forward pass
// are needed for weights only. position_bias is what is added to the capped scores for positions;
// there must be one.
enum class ScoreStage { raw, scaled, capped, position_bias, masked, weights };
struct ScoreRequest {
  ScoreStage stage = ScoreStage::weights;
  int64_t batch = 0;
  int64_t head = 0;
  int64_t first_row = 0;
  int64_t row_count = 0;
};
void attention_scores(const Execution& execution, const AttentionProblem& problem,
                      const ScoreRequest& request, const float* row_max, const float* row_sum,
                      float* out, int64_t out_stride);

}  // namespace headlight::kernels
