// MultiHeadAttention: projections, heads in parallel, merge, output projection.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "headlight/nn/kv_cache.h"
#include "headlight/nn/multi_head_attention_options.h"

namespace headlight::nn {

using autograd::AttentionOptions;

// In forward(), of AttentionOptions the masks, past, lengths, bias and gates are the caller's; so
// are scale, softcap, window and position bias where it sets them. Heads and what is said of them,
// dropout and place are the module's own, setting them is an Error.
//
// Besides what autograd::attention shows (query, key, scores, weights, ... (B, H, ...)), an
// observer may want at "<place>.": projected (B, T, H*D + Hkv*D + Hkv*E, as the weight has them;
// only in self-attention with a fused weight), projected_query, projected_key, projected_value
// (before the split into heads), query_normed, key_normed, query_rotated, key_rotated (the same
// after the norms and the rotation, where there are any; at "<place>.head.<number>." the columns
// that a query head reads), concatenated (B, T, H*E) and output. An intervention may change
// concatenated and output. Without any head there is nothing but output.
class MultiHeadAttention {
 public:
  explicit MultiHeadAttention(const MultiHeadAttentionOptions& options);

  // With the defaults filled in.
  const MultiHeadAttentionOptions& options() const noexcept { return options_; }
  void set_place(std::string place) { options_.place = std::move(place); }
  // Which heads there are. H and Hkv of shapes are heads().count() and heads().kv_count().
  const HeadSet& heads() const noexcept { return heads_; }
  const Parameters& parameters() const noexcept { return parameters_; }
  // Whether the queries, or the keys, are normalised over whole rows: all their heads are
  // projected.
  bool normalizes_whole_rows(bool is_query) const;
  // The projections of query, key and value (three times the whole where heads lie in turns), and
  // the one of the merged heads (null: none).
  const std::vector<Linear>& input_layers() const noexcept { return inputs_; }
  const Linear* output_layer() const noexcept { return output_ ? &*output_ : nullptr; }
  // Where in the outputs of a projection's whole parameter those of one head begin. `projection` is
  // 0 of query, 1 of key, 2 of value; `head` counts the heads that are projected.
  int64_t head_begin(size_t projection, int64_t head) const;
  const Value& gates() const noexcept { return gates_; }

  // Gates (H,) or (B, H) for all calls that bring none; a Value that wants a gradient gets it. An
  // absent Value takes them away.
  void set_gates(Value gates) { gates_ = std::move(gates); }

  // query (B, T, query_width), key (B, S, key_width), value (B, S, value_width) give (B, T,
  // out_dim). When inputs are the same Value and weights are fused, they are projected together.
  // With a rotation, `past` is the position of the first query row; keys begin at 0.
  Value forward(Context& context, const Value& query, const Value& key, const Value& value,
                const AttentionOptions& call = {}) const;
  Value forward(Context& context, const Value& x, const AttentionOptions& call = {}) const {
    return forward(context, x, x, x, call);
  }

  // Self-attention that goes on from `cache`: appends the keys and values of x (of sequence b the
  // first call.query_lens[b] rows, or all) and attends to all that are there then, with `past` and
  // `valid_lens` from the cache. Each row has the bits it has in a whole run. No gradients: a tape
  // is an Error. A module without heads leaves caches as they are.
  Value forward(Context& context, const Value& x, KvCache& cache,
                const AttentionOptions& call = {}) const;
  // Cross-attention over keys and values that stay: remember() projects and appends them (of
  // sequence b the first lens[b] rows), recall() attends to them.
  void remember(Context& context, const Value& key, const Value& value, KvCache& cache,
                const tensor::Tensor& lens = {}) const;
  Value recall(Context& context, const Value& query, const KvCache& cache,
               const AttentionOptions& call = {}) const;

 private:
  enum Input { kQuery, kKey, kValue };
  using Projected = std::array<Value, 3>;

  void check_call(const AttentionOptions& call) const;
  int64_t projected_heads(Input input) const;

  std::array<int64_t, 3> input_widths() const;
  std::array<int64_t, 3> projected_widths() const;
  std::pair<int64_t, int64_t> share(const std::array<std::string, 3>& names, Input input) const;
  Linear input_layer(Input input);
  void make_input_layers();
  Projected take_turns(Context& context, const Value& all) const;
  ParameterHandle parameter(const std::string& name, const tensor::Shape& shape);
  Projected project(Context& context, const Value& query, const Value& key,
                    const Value& value) const;
  void project_key_value(Context& context, const Value& key, const Value& value,
                         Projected& projected) const;
  void name_projected(Context& context, const Projected& projected) const;
  void make_output_layer();
  void make_input_norms();
  // What attention reads of a projected query or key whose first row is at position `past`.
  Value prepared(Context& context, Input input, const Value& projected,
                 const tensor::Tensor& past) const;
  void make_position_bias();
  autograd::PositionBias position_bias(Context& context) const;
  AttentionOptions op_options(Context& context, const AttentionOptions& call) const;
  Value attend_cached(Context& context, const Value& query, const KvCache& cache,
                      const AttentionOptions& call) const;
  Value finish(Context& context, const Value& merged) const;
  Value project_output(Context& context, const Value& merged) const;
  // What a module without heads gives for as many rows as the query has.
  Value without_heads(Context& context, const Value& query, const AttentionOptions& call) const;

  MultiHeadAttentionOptions options_;
  HeadSet heads_;
  autograd::PrunedHeads pruned_;  // original is 0: nothing was
  Parameters parameters_;
  std::vector<Linear> inputs_;       // query, key, value
  std::optional<Linear> key_value_;  // where they lie side by side
  std::optional<Linear> query_key_value_;
  std::array<tensor::Tensor, 3> turns_;  // of heads that lie in turns: which pieces are which
  std::optional<Linear> output_;
  std::array<std::optional<Norm>, 2> input_norms_;  // of query and key
  tensor::Tensor rates_;                            // of the rotation; absent: none
  Value slopes_;                                    // of position biases; absent: none
  Value gates_;
};

}  // namespace headlight::nn
