// AdditiveAttention: one head whose scores are w_v^T tanh(W_q q + W_k k).
#pragma once

#include "headlight/nn/linear.h"
#include "headlight/nn/state.h"

namespace headlight::nn {

struct AdditiveAttentionOptions {
  int64_t query_width = 0;
  int64_t key_width = 0;
  int64_t hidden = 0;  // the width in which query and key are added
  float dropout = 0;   // of the weights, in training
  // Of the parameters W_q.weight, W_k.weight (hidden, width) and w_v.weight (1, hidden); see
  // name_prefix.
  std::string prefix = {};
  std::string place = {};
  std::string where = "tensors";  // what errors of load() name, e.g. a path
};

class AdditiveAttention {
 public:
  explicit AdditiveAttention(const AdditiveAttentionOptions& options);
  // With the widths of the tensors in `state`. A tensor under the prefix that is no part of the
  // module is an Error; see beside_module for what is ignored.
  static AdditiveAttention load(const StoredState& state, AdditiveAttentionOptions options = {});
  static AdditiveAttention load(const StateDict& state, AdditiveAttentionOptions options = {});

  Parameters parameters() const;

  // query (B, T, query_width), key (B, S, key_width), value (B, S, E) give (B, T, E), which is
  // observed and may be changed as "<place>.output". Of `call` the masks, lengths, bias and gates
  // count.
  Value forward(Context& context, const Value& query, const Value& key, const Value& value,
                const autograd::AttentionOptions& call = {}) const;

 private:
  AdditiveAttentionOptions options_;
  Linear query_;
  Linear key_;
  ParameterHandle score_weights_;
};

}  // namespace headlight::nn
