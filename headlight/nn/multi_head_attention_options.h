// What a MultiHeadAttention is made of, as data.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "headlight/nn/head_set.h"
#include "headlight/nn/linear.h"
#include "headlight/nn/norm.h"

namespace headlight::nn {

// Names of the parameters. Projections that share a name are one parameter and lie in it one after
// the other, in the order query, key, value. An empty name means there is none.
struct AttentionNames {
  std::array<std::string, 3> weights;  // of query, key, value
  std::array<std::string, 3> biases;
  std::string output_weight;
  std::string output_bias;
  WeightLayout layout = WeightLayout::out_in;
  // In the one parameter that all three share lie each head's query, key and value, then the next
  // head's; of self-attention with as many key/value heads as heads, all of one width.
  bool interleaved = false;
  std::string query_norm = {};  // stems: "<query_norm>.weight"
  std::string key_norm = {};
  std::string position_bias = {};  // T5's table, whole

  AttentionNames with_prefix(const std::string& prefix) const;
};

// One weight for query, key and value, (out, in), under nanoGPT's names.
AttentionNames fused_names();

// How queries and keys are normalised where a name says that they are: after the projection, before
// the rotation.
struct QueryKeyNormOptions {
  bool each_head = true;  // D numbers of each head, weight (D,); or the whole row, weight (H*D,)
  NormKind kind = NormKind::rms_norm;
  bool bias = true;  // of a layer norm
  float epsilon = 1e-6F;
  float weight_offset = 0;
};

// Rotary positions of queries and keys, after norms and before keys go into a cache. A query's
// position is its row + past, a key's its row from the cache's beginning.
struct RotaryOptions {
  std::vector<float> rates = {};  // radians per position of each pair of columns, at most D / 2
                                  // of them; empty: no rotation
  bool interleaved = false;       // pairs are neighbours, not halves apart
  float magnitude = 1;            // multiplies what is rotated
};

// Pairs half a width apart with the rates that kernels::rotary_rates computes; throws
// Error(bad_input) for an odd width or numbers that give no rates.
RotaryOptions rotary_options(const kernels::RotaryRates& rates);

// Biases for how far a key is from its query, added to the scores: slopes or a table or neither.
struct PositionBiasOptions {
  std::vector<float> slopes = {};  // ALiBi: score - slope * distance, one for each head
  // T5: an entry of (buckets, heads) for each distance. One that several modules share comes from
  // outside; otherwise a name in AttentionNames says that there is one.
  ParameterHandle table = {};
  int64_t buckets = 32;       // of a table that is made here
  bool bidirectional = true;  // half of the buckets are for keys after the query
  int64_t max_distance = 128;
};

// ALiBi's slopes as published: powers of two for 2^n heads, and those of the next numbers between
// them for others.
std::vector<float> alibi_slopes(int64_t heads);

// 0 stands for the default. By default the widths are those of the paper: D = E = out_dim / heads.
// Numbers of heads, slopes and tables of position biases are those of the module before any head
// was pruned; `heads_left` says which of them it has.
struct MultiHeadAttentionOptions {
  int64_t query_width = 0;  // of the inputs
  int64_t key_width = 0;    // default: query_width
  int64_t value_width = 0;  // default: key_width
  int64_t heads = 1;
  int64_t kv_heads = 0;  // default: heads; divides heads
  // Heads that pruning has left, maybe none: then the output is the output projection's bias.
  // Unset: all. Projections and the output weight have only these; where a norm is over whole rows
  // of queries or keys it takes all in, and the projection before it has them all.
  std::optional<HeadNumbers> heads_left = {};
  int64_t out_dim = 0;            // default: query_width
  int64_t head_dim = 0;           // D; default: out_dim / heads, which must be whole
  int64_t value_head_dim = 0;     // E; default: head_dim
  bool output_projection = true;  // without it out_dim is heads * value_head_dim
  bool qkv_bias = true;
  bool out_bias = true;
  // Of calls that say nothing else, as in AttentionOptions.
  std::optional<float> scale = {};
  float softcap = 0;
  int64_t window = 0;
  QueryKeyNormOptions query_key_norm = {};
  RotaryOptions rotation = {};
  PositionBiasOptions position_bias = {};
  float weight_dropout = 0;  // in training
  float output_dropout = 0;
  AttentionNames names = fused_names();
  std::string place = {};  // e.g. "decoder.0.self": names what is observed and what is drawn
};

// With defaults filled in; throws Error(bad_input) for what does not go together.
MultiHeadAttentionOptions with_defaults(MultiHeadAttentionOptions options);

}  // namespace headlight::nn
