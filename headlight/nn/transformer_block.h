// TransformerBlock: attention, optional cross-attention and feed-forward with residual connections
// and norms. What differs between architectures is data in its options.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headlight/nn/feed_forward.h"
#include "headlight/nn/multi_head_attention.h"
#include "headlight/nn/norm.h"

namespace headlight::nn {

enum class NormPlace {
  pre,   // x + sublayer(norm(x))
  post,  // norm(x + sublayer(x))
  both,  // x + output_norm(sublayer(norm(x)))
};

enum class SublayerOrder {
  sequential,  // each reads what the one before has added to
  parallel,    // x + self(norm(x)) + feed_forward(norm(x)): both read the same stream
};

// Stems of the parameters' names. A norm whose name is empty is not there.
struct TransformerNames {
  AttentionNames self = {};
  AttentionNames cross = {};
  // Before the sublayer or, with NormPlace::post, after its sum. In parallel blocks without a norm
  // of its own the feed-forward layer reads what self-attention reads.
  std::string self_norm = {};
  std::string cross_norm = {};
  std::string feed_forward_norm = {};
  // Of what the sublayer gives, before it is added; only with NormPlace::both.
  std::string self_output_norm = {};
  std::string cross_output_norm = {};
  std::string feed_forward_output_norm = {};
  std::string first = {};  // of the feed-forward layers
  std::string second = {};
  std::string gate = {};  // makes them gated; see FeedForwardOptions
};

// 0 stands for the default where there is one.
struct TransformerBlockOptions {
  int64_t width = 0;
  int64_t heads = 1;
  int64_t kv_heads = 0;                             // default: heads; divides heads
  std::optional<HeadNumbers> self_heads_left = {};  // by pruning; unset: all
  std::optional<HeadNumbers> cross_heads_left = {};
  int64_t head_dim = 0;        // default: width / heads, which must be whole
  int64_t value_head_dim = 0;  // default: head_dim
  int64_t hidden = 0;          // of the feed-forward layer
  Activation activation = Activation::relu;
  NormPlace norm_place = NormPlace::post;
  NormKind norm_kind = NormKind::layer_norm;
  float norm_weight_offset = 0;  // 1: RMSNorm multiplies by 1 + weight
  SublayerOrder order = SublayerOrder::sequential;
  // Of self- and cross-attention. No scale at all is scale 1.
  std::optional<float> scale = {};  // 1 / sqrt(head_dim) when unset
  float softcap = 0;                // > 0: scores s become softcap * tanh(s / softcap)
  int64_t window = 0;               // > 0: self-attention sees keys less than this far away
  bool causal = false;              // a decoder
  bool cross_attention = false;
  QueryKeyNormOptions query_key_norm = {};  // of attention whose names have such norms
  RotaryOptions rotation = {};              // of self-attention
  PositionBiasOptions position_bias = {};   // of self-attention
  bool qkv_bias = true;
  bool out_bias = true;
  bool feed_forward_bias = true;
  bool norm_bias = true;                               // of layer norms
  float epsilon = 1e-5F;                               // of the norms
  float dropout = 0;                                   // of what each sublayer adds
  std::optional<float> attention_output_dropout = {};  // of what attention adds, where it differs
  std::optional<float> feed_forward_dropout = {};      // of what the feed-forward layer adds
  float attention_dropout = 0;                         // of the weights
  float hidden_dropout = 0;
  TransformerNames names = {};
  std::string place = {};  // e.g. "decoder.0"
};

// What one layer keeps while decoding.
struct LayerCache {
  KvCache self;
  KvCache cross;
};

// The residual stream between sublayers. What the last sublayer gave is added by whoever reads
// next, together with its norm.
struct Residual {
  Value stream;
  Value branch = {};  // absent: nothing is left to add

  // stream + branch.
  Value total(Context& context) const;
  // The total and its norm, in one pass where there is something to add. Without a norm both are
  // the total.
  autograd::ResidualNorm normalized(Context& context, const std::optional<Norm>& norm) const;
};

// An observer may want "<place>." residual_in and residual_out, self.*, cross.*, ffn.* and, in the
// order in which they compute, norm_1.*, norm_2.*, ... Where no norm shows them as its input:
// residual_after_self, residual_after_cross; in parallel blocks sublayer_sum, what both add.
class TransformerBlock {
 public:
  // Throws Error(bad_input) for options that do not go together.
  explicit TransformerBlock(const TransformerBlockOptions& options);
  // Another layer with the same parameters, e.g. "encoder.1".
  TransformerBlock at(const std::string& place) const;
  Parameters parameters() const;
  std::vector<MultiHeadAttention*> attentions();

  const TransformerBlockOptions& options() const noexcept { return options_; }
  const MultiHeadAttention& self() const noexcept { return self_; }
  const MultiHeadAttention* cross() const noexcept { return cross_ ? &*cross_ : nullptr; }
  const FeedForward& feed_forward() const noexcept { return feed_forward_; }
  const std::optional<Norm>& self_norm() const noexcept { return self_norms_.norm; }
  const std::optional<Norm>& cross_norm() const noexcept { return cross_norms_.norm; }
  const std::optional<Norm>& feed_forward_norm() const noexcept { return feed_forward_norms_.norm; }

  struct Call {
    tensor::Tensor lens = {};  // i64 (B,): rows from here on are padding
    Value memory = {};         // what cross-attention looks at, (B, S, C)
    tensor::Tensor memory_lens = {};
  };
  // With a cache, self-attention goes on from it and cross-attention recalls from it.
  Residual forward(Context& context, const Residual& x, const Call& call,
                   LayerCache* cache = nullptr) const;
  // Puts the keys and values of memory into the cache, where there is cross-attention.
  void remember(Context& context, const Value& memory, const tensor::Tensor& memory_lens,
                LayerCache& cache) const;

 private:
  struct SublayerNorms {
    std::optional<Norm> norm;
    std::optional<Norm> output_norm;
  };
  void make_norms();
  // All norms there are, in the order in which they compute.
  std::vector<Norm*> norms();
  Residual sequential(Context& context, const Residual& before, const Call& call,
                      LayerCache* cache) const;
  Residual parallel(Context& context, const Residual& before, const Call& call,
                    LayerCache* cache) const;
  autograd::ResidualNorm added(Context& context, const Residual& x, const std::optional<Norm>& norm,
                               const char* name) const;
  Residual post_norm(Context& context, const Residual& before, const Call& call,
                     LayerCache* cache) const;
  Value attend_self(Context& context, const Value& x, const Call& call, LayerCache* cache) const;
  Value attend_cross(Context& context, const Value& x, const Call& call, LayerCache* cache) const;
  Value feed(Context& context, const Value& x) const;

  TransformerBlockOptions options_;
  MultiHeadAttention self_;
  std::optional<MultiHeadAttention> cross_;
  FeedForward feed_forward_;
  SublayerNorms self_norms_, cross_norms_, feed_forward_norms_;
};

}  // namespace headlight::nn
