// TransformerBlock: sublayers, norms and residual connections in the orders in use.
#include "headlight/nn/transformer_block.h"

#include <utility>

namespace headlight::nn {
namespace {

using base::Error;
using base::ErrorKind;
using tensor::Tensor;

[[noreturn]] void refuse_block(const std::string& place, const std::string& why) {
  throw Error(ErrorKind::bad_input, "transformer block", place, why);
}

const TransformerBlockOptions& checked(const TransformerBlockOptions& options) {
  const TransformerNames& names = options.names;
  const std::pair<const char*, int64_t> widths[] = {{"width", options.width},
                                                    {"hidden", options.hidden}};
  for (const auto& [name, number] : widths) {
    if (number >= 1) continue;
    refuse_block(options.place,
                 std::string(name) + " is " + std::to_string(number) + ", at least 1 is needed");
  }
  if (options.order == SublayerOrder::parallel) {
    if (options.norm_place == NormPlace::post) {
      refuse_block(options.place, "parallel sublayers have norms before them, not after the sum");
    }
    if (options.cross_attention) {
      refuse_block(options.place, "parallel sublayers are two, cross-attention would be a third");
    }
  }
  for (const std::string* name :
       {&names.self_output_norm, &names.cross_output_norm, &names.feed_forward_output_norm}) {
    if (name->empty() || options.norm_place == NormPlace::both) continue;
    refuse_block(options.place, "output norm " + *name + " needs norms at both places");
  }
  return options;
}

MultiHeadAttentionOptions attention_options(const TransformerBlockOptions& options,
                                            const AttentionNames& names, const char* place) {
  return {.query_width = options.width,
          .heads = options.heads,
          .kv_heads = options.kv_heads,
          .head_dim = options.head_dim,
          .value_head_dim = options.value_head_dim,
          .qkv_bias = options.qkv_bias,
          .out_bias = options.out_bias,
          .scale = options.scale,
          .softcap = options.softcap,
          .query_key_norm = options.query_key_norm,
          .weight_dropout = options.attention_dropout,
          .output_dropout = options.attention_output_dropout.value_or(options.dropout),
          .names = names,
          .place = autograd::place_name(options.place, place)};
}

MultiHeadAttention self_attention_of(const TransformerBlockOptions& options) {
  MultiHeadAttentionOptions self = attention_options(options, options.names.self, "self");
  self.heads_left = options.self_heads_left;
  self.window = options.window;
  self.rotation = options.rotation;
  self.position_bias = options.position_bias;
  return MultiHeadAttention(self);
}

FeedForward feed_forward_of(const TransformerBlockOptions& options) {
  return FeedForward({.width = options.width,
                      .hidden = options.hidden,
                      .activation = options.activation,
                      .bias = options.feed_forward_bias,
                      .layout = options.names.self.layout,
                      .hidden_dropout = options.hidden_dropout,
                      .output_dropout = options.feed_forward_dropout.value_or(options.dropout),
                      .first = options.names.first,
                      .second = options.names.second,
                      .gate = options.names.gate,
                      .place = autograd::place_name(options.place, "ffn")});
}

void append_norm(Parameters& all, const std::optional<Norm>& norm) {
  if (norm) append(all, norm->parameters());
}

}  // namespace

Value Residual::total(Context& context) const {
  return branch.defined() ? autograd::add(context, branch, stream) : stream;
}

autograd::ResidualNorm Residual::normalized(Context& context,
                                            const std::optional<Norm>& norm) const {
  if (norm && branch.defined()) return norm->forward(context, branch, stream);
  const Value sum = total(context);
  return {sum, norm ? norm->forward(context, sum) : sum};
}

TransformerBlock::TransformerBlock(const TransformerBlockOptions& options)
    : options_(checked(options)),
      self_(self_attention_of(options)),
      feed_forward_(feed_forward_of(options)) {
  if (options.cross_attention) {
    MultiHeadAttentionOptions cross = attention_options(options, options.names.cross, "cross");
    cross.heads_left = options.cross_heads_left;
    cross_.emplace(cross);
  }
  make_norms();
}

// Numbered in the order in which they compute.
void TransformerBlock::make_norms() {
  int count = 0;
  const auto make = [this, &count](std::optional<Norm>& norm, const std::string& name) {
    if (name.empty()) return;
    const std::string place = "norm_" + std::to_string(++count);
    norm.emplace(name, NormOptions{.width = options_.width,
                                   .kind = options_.norm_kind,
                                   .bias = options_.norm_bias,
                                   .epsilon = options_.epsilon,
                                   .weight_offset = options_.norm_weight_offset,
                                   .place = autograd::place_name(options_.place, place)});
  };
  const TransformerNames& names = options_.names;
  make(self_norms_.norm, names.self_norm);
  make(self_norms_.output_norm, names.self_output_norm);
  if (cross_) {
    make(cross_norms_.norm, names.cross_norm);
    make(cross_norms_.output_norm, names.cross_output_norm);
  }
  make(feed_forward_norms_.norm, names.feed_forward_norm);
  make(feed_forward_norms_.output_norm, names.feed_forward_output_norm);
}

std::vector<Norm*> TransformerBlock::norms() {
  std::vector<Norm*> all;
  for (SublayerNorms* both : {&self_norms_, &cross_norms_, &feed_forward_norms_}) {
    if (both->norm) all.push_back(&*both->norm);
    if (both->output_norm) all.push_back(&*both->output_norm);
  }
  return all;
}

TransformerBlock TransformerBlock::at(const std::string& place) const {
  TransformerBlock copy = *this;
  copy.options_.place = place;
  copy.self_.set_place(autograd::place_name(place, "self"));
  if (copy.cross_) copy.cross_->set_place(autograd::place_name(place, "cross"));
  copy.feed_forward_.set_place(autograd::place_name(place, "ffn"));
  int count = 0;
  for (Norm* norm : copy.norms()) {
    norm->set_place(autograd::place_name(place, "norm_" + std::to_string(++count)));
  }
  return copy;
}

Parameters TransformerBlock::parameters() const {
  Parameters all;
  append_norm(all, self_norms_.norm);
  append(all, self_.parameters());
  append_norm(all, self_norms_.output_norm);
  append_norm(all, cross_norms_.norm);
  if (cross_) append(all, cross_->parameters());
  append_norm(all, cross_norms_.output_norm);
  append_norm(all, feed_forward_norms_.norm);
  append(all, feed_forward_.parameters());
  append_norm(all, feed_forward_norms_.output_norm);
  return all;
}

std::vector<MultiHeadAttention*> TransformerBlock::attentions() {
  if (cross_) return {&self_, &*cross_};
  return {&self_};
}

Residual TransformerBlock::forward(Context& context, const Residual& x, const Call& call,
                                   LayerCache* cache) const {
  Residual result;
  if (options_.norm_place == NormPlace::post) {
    result = post_norm(context, x, call, cache);
  } else if (options_.order == SublayerOrder::parallel) {
    result = parallel(context, x, call, cache);
  } else {
    result = sequential(context, x, call, cache);
  }
  if (autograd::watched(context, options_.place, "residual_out")) {
    autograd::observe(context, options_.place, "residual_out", result.total(context));
  }
  return result;
}

// x + sublayer(norm(x)) for each sublayer.
Residual TransformerBlock::sequential(Context& context, const Residual& before, const Call& call,
                                      LayerCache* cache) const {
  autograd::ResidualNorm x = before.normalized(context, self_norms_.norm);
  autograd::observe(context, options_.place, "residual_in", x.sum);
  Value branch = attend_self(context, x.normalized, call, cache);
  if (cross_) {
    x = added(context, {x.sum, branch}, cross_norms_.norm, "residual_after_self");
    branch = attend_cross(context, x.normalized, call, cache);
  }
  x = added(context, {x.sum, branch}, feed_forward_norms_.norm,
            cross_ ? "residual_after_cross" : "residual_after_self");
  return {x.sum, feed(context, x.normalized)};
}

// A sum without a norm, which would show it as its input, has a name of its own.
autograd::ResidualNorm TransformerBlock::added(Context& context, const Residual& x,
                                               const std::optional<Norm>& norm,
                                               const char* name) const {
  autograd::ResidualNorm sum = x.normalized(context, norm);
  if (!norm) autograd::observe(context, options_.place, name, sum.sum);
  return sum;
}

// x + self(norm(x)) + feed_forward(norm(x)).
Residual TransformerBlock::parallel(Context& context, const Residual& before, const Call& call,
                                    LayerCache* cache) const {
  const autograd::ResidualNorm x = before.normalized(context, self_norms_.norm);
  autograd::observe(context, options_.place, "residual_in", x.sum);
  const Value attended = attend_self(context, x.normalized, call, cache);
  const std::optional<Norm>& own = feed_forward_norms_.norm;
  const Value fed = feed(context, own ? own->forward(context, x.sum) : x.normalized);
  const Value both = autograd::add(context, attended, fed);
  autograd::observe(context, options_.place, "sublayer_sum", both);
  return {x.sum, both};
}

// norm(x + sublayer(x)) for each sublayer.
Residual TransformerBlock::post_norm(Context& context, const Residual& before, const Call& call,
                                     LayerCache* cache) const {
  Value x = before.total(context);
  autograd::observe(context, options_.place, "residual_in", x);
  x = added(context, {x, attend_self(context, x, call, cache)}, self_norms_.norm,
            "residual_after_self")
          .normalized;
  if (cross_) {
    x = added(context, {x, attend_cross(context, x, call, cache)}, cross_norms_.norm,
              "residual_after_cross")
            .normalized;
  }
  return {Residual{x, feed(context, x)}.normalized(context, feed_forward_norms_.norm).normalized};
}

Value TransformerBlock::attend_self(Context& context, const Value& x, const Call& call,
                                    LayerCache* cache) const {
  AttentionOptions masks{.causal = options_.causal, .query_lens = call.lens};
  if (cache == nullptr) masks.valid_lens = call.lens;
  const Value output = cache != nullptr ? self_.forward(context, x, cache->self, masks)
                                        : self_.forward(context, x, masks);
  const std::optional<Norm>& norm = self_norms_.output_norm;
  return norm ? norm->forward(context, output) : output;
}

Value TransformerBlock::attend_cross(Context& context, const Value& x, const Call& call,
                                     LayerCache* cache) const {
  AttentionOptions masks{.query_lens = call.lens};
  if (cache == nullptr) masks.valid_lens = call.memory_lens;
  const Value output = cache != nullptr
                           ? cross_->recall(context, x, cache->cross, masks)
                           : cross_->forward(context, x, call.memory, call.memory, masks);
  const std::optional<Norm>& norm = cross_norms_.output_norm;
  return norm ? norm->forward(context, output) : output;
}

Value TransformerBlock::feed(Context& context, const Value& x) const {
  const Value output = feed_forward_.forward(context, x);
  const std::optional<Norm>& norm = feed_forward_norms_.output_norm;
  return norm ? norm->forward(context, output) : output;
}

void TransformerBlock::remember(Context& context, const Value& memory, const Tensor& memory_lens,
                                LayerCache& cache) const {
  if (cross_) cross_->remember(context, memory, memory, cache.cross, memory_lens);
}

}  // namespace headlight::nn
