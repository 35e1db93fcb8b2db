// TransformerBlock and TransformerStack: attention, optional cross-attention and feed-forward with
// residual connections and norms (R15-R18), pre- or post-norm.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headlight/nn/feed_forward.h"
#include "headlight/nn/layer_norm.h"
#include "headlight/nn/multi_head_attention.h"

namespace headlight::nn {

struct TransformerNames {
  AttentionNames self = {};
  AttentionNames cross = {};
  std::string self_norm = {};
  std::string cross_norm = {};
  std::string feed_forward_norm = {};
  std::string first = {};  // of the feed-forward layers
  std::string second = {};
};

struct TransformerBlockOptions {
  int64_t width = 0;
  int64_t heads = 1;
  int64_t head_dim = 0;  // default: width / heads, which must be whole
  int64_t hidden = 0;    // of the feed-forward layer
  Activation activation = Activation::relu;
  bool pre_norm = false;
  bool causal = false;  // a decoder
  bool cross_attention = false;
  bool bias = true;
  float epsilon = 1e-5F;
  float dropout = 0;  // of what each sublayer adds
  float attention_dropout = 0;
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
};

// An observer may want "<place>." residual_in and residual_out, self.*, cross.*, ffn.* and, in the
// order of the sublayers, norm_1.*, norm_2.*, norm_3.*.
class TransformerBlock {
 public:
  explicit TransformerBlock(const TransformerBlockOptions& options);
  Parameters parameters() const;
  std::vector<MultiHeadAttention*> attentions();

  const TransformerBlockOptions& options() const noexcept { return options_; }
  const MultiHeadAttention& self() const noexcept { return self_; }
  const MultiHeadAttention* cross() const noexcept { return cross_ ? &*cross_ : nullptr; }
  const FeedForward& feed_forward() const noexcept { return feed_forward_; }
  const LayerNorm& self_norm() const noexcept { return self_norm_; }
  const LayerNorm* cross_norm() const noexcept { return cross_norm_ ? &*cross_norm_ : nullptr; }
  const LayerNorm& feed_forward_norm() const noexcept { return feed_forward_norm_; }

  struct Call {
    tensor::Tensor lens = {};  // i64 (B,): rows from here on are padding
    Value memory = {};         // what cross-attention looks at, (B, S, C)
    tensor::Tensor memory_lens = {};
  };
  // With a cache, self-attention goes on from it and cross-attention recalls from it.
  Residual forward(Context& context, const Residual& x, const Call& call,
                   LayerCache* cache = nullptr) const;
  // Puts the keys and values of memory into the cache.
  void remember(Context& context, const Value& memory, const tensor::Tensor& memory_lens,
                LayerCache& cache) const;

 private:
  Residual pre_norm(Context& context, const Residual& x, const Call& call, LayerCache* cache) const;
  Residual post_norm(Context& context, const Value& x, const Call& call, LayerCache* cache) const;
  Value attend_self(Context& context, const Value& x, const Call& call, LayerCache* cache) const;
  Value attend_cross(Context& context, const Value& x, const Call& call, LayerCache* cache) const;

  TransformerBlockOptions options_;
  MultiHeadAttention self_;
  std::optional<MultiHeadAttention> cross_;
  FeedForward feed_forward_;
  LayerNorm self_norm_;
  std::optional<LayerNorm> cross_norm_;
  LayerNorm feed_forward_norm_;
};

// Blocks and, where there is one, a final norm. Observed as "<place>.output"; the final norm as
// "<place>.norm.*".
class TransformerStack {
 public:
  TransformerStack(std::vector<TransformerBlock> blocks, std::optional<LayerNorm> final_norm,
                   std::string place);
  Parameters parameters() const;
  std::vector<MultiHeadAttention*> attentions();
  const std::vector<TransformerBlock>& blocks() const noexcept { return blocks_; }
  const LayerNorm* final_norm() const noexcept { return final_norm_ ? &*final_norm_ : nullptr; }
  const std::string& place() const noexcept { return place_; }

  // (B, T, C) to (B, T, C); `caches` has one entry per block.
  Value forward(Context& context, const Value& x, const TransformerBlock::Call& call,
                std::vector<LayerCache>* caches = nullptr) const;
  void remember(Context& context, const Value& memory, const tensor::Tensor& memory_lens,
                std::vector<LayerCache>& caches) const;

 private:
  std::vector<TransformerBlock> blocks_;
  std::optional<LayerNorm> final_norm_;
  std::string place_;
};

}  // namespace headlight::nn
