// TransformerBlock: the two orders of norm and sublayer; TransformerStack: blocks in a row.
#include "headlight/nn/transformer.h"

#include <utility>

namespace headlight::nn {
namespace {

using tensor::Tensor;

MultiHeadAttention attention_of(const TransformerBlockOptions& options, const AttentionNames& names,
                                const char* place) {
  return MultiHeadAttention({.query_width = options.width,
                             .heads = options.heads,
                             .head_dim = options.head_dim,
                             .qkv_bias = options.bias,
                             .out_bias = options.bias,
                             .weight_dropout = options.attention_dropout,
                             .output_dropout = options.dropout,
                             .names = names,
                             .place = autograd::place_name(options.place, place)});
}

FeedForward feed_forward_of(const TransformerBlockOptions& options) {
  return FeedForward({.width = options.width,
                      .hidden = options.hidden,
                      .activation = options.activation,
                      .bias = options.bias,
                      .layout = options.names.self.layout,
                      .hidden_dropout = options.hidden_dropout,
                      .output_dropout = options.dropout,
                      .first = options.names.first,
                      .second = options.names.second,
                      .place = autograd::place_name(options.place, "ffn")});
}

LayerNorm norm_of(const TransformerBlockOptions& options, const std::string& name,
                  const char* place) {
  return {name,
          {.width = options.width,
           .bias = options.bias,
           .epsilon = options.epsilon,
           .place = autograd::place_name(options.place, place)}};
}

// x + Sublayer's output, added and normalised in one pass where there is something to add.
autograd::ResidualNorm normalized(Context& context, const LayerNorm& norm, const Residual& x) {
  if (x.branch.defined()) return norm.forward(context, x.branch, x.stream);
  return {x.stream, norm.forward(context, x.stream)};
}

Value total(Context& context, const Residual& x) {
  return x.branch.defined() ? autograd::add(context, x.branch, x.stream) : x.stream;
}

void append(Parameters& all, const Parameters& more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

TransformerBlock::TransformerBlock(const TransformerBlockOptions& options)
    : options_(options),
      self_(attention_of(options, options.names.self, "self")),
      feed_forward_(feed_forward_of(options)),
      self_norm_(norm_of(options, options.names.self_norm, "norm_1")),
      feed_forward_norm_(norm_of(options, options.names.feed_forward_norm,
                                 options.cross_attention ? "norm_3" : "norm_2")) {
  if (!options.cross_attention) return;
  cross_.emplace(attention_of(options, options.names.cross, "cross"));
  cross_norm_.emplace(norm_of(options, options.names.cross_norm, "norm_2"));
}

Parameters TransformerBlock::parameters() const {
  Parameters all;
  append(all, self_norm_.parameters());
  append(all, self_.parameters());
  if (cross_) {
    append(all, cross_norm_->parameters());
    append(all, cross_->parameters());
  }
  append(all, feed_forward_norm_.parameters());
  append(all, feed_forward_.parameters());
  return all;
}

std::vector<MultiHeadAttention*> TransformerBlock::attentions() {
  if (cross_) return {&self_, &*cross_};
  return {&self_};
}

Residual TransformerBlock::forward(Context& context, const Residual& x, const Call& call,
                                   LayerCache* cache) const {
  Residual result = options_.pre_norm ? pre_norm(context, x, call, cache)
                                      : post_norm(context, total(context, x), call, cache);
  if (context.observer != nullptr &&
      context.observer->wants(autograd::place_name(options_.place, "residual_out"))) {
    autograd::observe(context, options_.place, "residual_out", total(context, result).data());
  }
  return result;
}

// x + Sublayer(LayerNorm(x)) for each sublayer.
Residual TransformerBlock::pre_norm(Context& context, const Residual& before, const Call& call,
                                    LayerCache* cache) const {
  autograd::ResidualNorm x = normalized(context, self_norm_, before);
  autograd::observe(context, options_.place, "residual_in", x.sum.data());
  Value branch = attend_self(context, x.normalized, call, cache);
  if (cross_) {
    x = cross_norm_->forward(context, branch, x.sum);
    branch = attend_cross(context, x.normalized, call, cache);
  }
  x = feed_forward_norm_.forward(context, branch, x.sum);
  return {x.sum, feed_forward_.forward(context, x.normalized)};
}

// LayerNorm(x + Sublayer(x)) for each sublayer.
Residual TransformerBlock::post_norm(Context& context, const Value& before, const Call& call,
                                     LayerCache* cache) const {
  autograd::observe(context, options_.place, "residual_in", before);
  Value x = before;
  x = self_norm_.forward(context, attend_self(context, x, call, cache), x).normalized;
  if (cross_)
    x = cross_norm_->forward(context, attend_cross(context, x, call, cache), x).normalized;
  x = feed_forward_norm_.forward(context, feed_forward_.forward(context, x), x).normalized;
  return {x};
}

Value TransformerBlock::attend_self(Context& context, const Value& x, const Call& call,
                                    LayerCache* cache) const {
  AttentionOptions masks{.causal = options_.causal, .query_lens = call.lens};
  if (cache != nullptr) return self_.forward(context, x, cache->self, masks);
  masks.valid_lens = call.lens;
  return self_.forward(context, x, masks);
}

Value TransformerBlock::attend_cross(Context& context, const Value& x, const Call& call,
                                     LayerCache* cache) const {
  AttentionOptions masks{.query_lens = call.lens};
  if (cache != nullptr) return cross_->recall(context, x, cache->cross, masks);
  masks.valid_lens = call.memory_lens;
  return cross_->forward(context, x, call.memory, call.memory, masks);
}

void TransformerBlock::remember(Context& context, const Value& memory, const Tensor& memory_lens,
                                LayerCache& cache) const {
  cross_->remember(context, memory, memory, cache.cross, memory_lens);
}

TransformerStack::TransformerStack(std::vector<TransformerBlock> blocks,
                                   std::optional<LayerNorm> final_norm, std::string place)
    : blocks_(std::move(blocks)), final_norm_(std::move(final_norm)), place_(std::move(place)) {}

Parameters TransformerStack::parameters() const {
  Parameters all;
  for (const TransformerBlock& block : blocks_) append(all, block.parameters());
  if (final_norm_) append(all, final_norm_->parameters());
  return all;
}

std::vector<MultiHeadAttention*> TransformerStack::attentions() {
  std::vector<MultiHeadAttention*> all;
  for (TransformerBlock& block : blocks_) {
    for (MultiHeadAttention* attention : block.attentions()) all.push_back(attention);
  }
  return all;
}

Value TransformerStack::forward(Context& context, const Value& input,
                                const TransformerBlock::Call& call,
                                std::vector<LayerCache>* caches) const {
  Residual x{input};
  for (size_t i = 0; i < blocks_.size(); ++i) {
    x = blocks_[i].forward(context, x, call, caches == nullptr ? nullptr : &(*caches)[i]);
  }
  Value output = final_norm_ ? normalized(context, *final_norm_, x).normalized : total(context, x);
  autograd::observe(context, place_, "output", output);
  return output;
}

void TransformerStack::remember(Context& context, const Value& memory, const Tensor& memory_lens,
                                std::vector<LayerCache>& caches) const {
  for (size_t i = 0; i < blocks_.size(); ++i) {
    blocks_[i].remember(context, memory, memory_lens, caches[i]);
  }
}

}  // namespace headlight::nn
