// Cases of attention and additive attention: shapes, masks in any combination, biases, gates,
// dropout.
#pragma once

#include <limits>
#include <memory>

#include "headlight/kernels/reference/additive_attention.h"
#include "tests/op_cases/attention_reference.h"

namespace headlight::tests {

constexpr const char* kAttentionPlace = "decoder.0.self";

// (T, S), (B, T, S) or (B, H, T, S), some axes 1.
inline tensor::Shape draw_broadcast_shape(Draw& draw, const kernels::AttentionShape& s) {
  std::vector<int64_t> sizes = {s.batch, s.heads, s.queries, s.keys};
  const int64_t rank = draw.between(2, 4);
  if (rank == 3) sizes.erase(sizes.begin() + 1);
  if (rank == 2) sizes.erase(sizes.begin(), sizes.begin() + 2);
  for (int64_t& size : sizes) {
    if (draw.chance(0.2)) size = 1;
  }
  return tensor::Shape(sizes);
}

inline tensor::Tensor draw_mask(Draw& draw, const kernels::AttentionShape& s, double probability) {
  tensor::Tensor mask =
      tensor::Tensor::uninitialized(tensor::DType::boolean, draw_broadcast_shape(draw, s));
  for (int64_t i = 0; i < mask.elements(); ++i)
    mask.mutable_data<bool>()[i] = draw.chance(probability);
  return mask;
}

inline void draw_masks(Draw& draw, AttentionDraw& drawn) {
  const kernels::AttentionShape& s = drawn.shape;
  autograd::AttentionOptions& options = drawn.options;
  options.causal = draw.chance();
  if (draw.chance(0.25)) options.window = draw.between(1, 6);
  if (draw.chance(0.4)) options.past = draw.integers({s.batch}, -3, 6);
  if (draw.chance(0.25)) options.valid_lens = draw.integers({s.batch}, 0, s.keys);
  if (draw.chance(0.15)) options.valid_lens = draw.integers({s.batch, s.queries}, 0, s.keys);
  if (draw.chance(0.2)) options.query_lens = draw.integers({s.batch}, 0, s.queries);
  if (draw.chance(0.25)) options.keep_mask = draw_mask(draw, s, 0.8);
  if (draw.chance(0.25)) options.forbid_mask = draw_mask(draw, s, 0.2);
  if (draw.chance(0.35)) drawn.bias_shape = draw_broadcast_shape(draw, s);
  if (draw.chance(0.35)) {
    drawn.gate_shape = draw.chance() ? tensor::Shape{s.heads} : tensor::Shape{s.batch, s.heads};
  }
  if (draw.chance(0.25)) options.dropout = static_cast<float>(draw.uniform(0.1, 0.6));
  options.place = kAttentionPlace;
}

inline void draw_position_bias(Draw& draw, AttentionDraw& drawn) {
  if (!draw.chance(0.4)) return;
  autograd::PositionBias& bias = drawn.options.position_bias;
  const int64_t heads = drawn.shape.heads;
  if (draw.chance()) {
    bias.kind = autograd::PositionBiasKind::linear;
    drawn.position_shape = {heads};
    return;
  }
  bias.kind = autograd::PositionBiasKind::buckets;
  bias.bidirectional = draw.chance();
  const int64_t buckets = draw.between(bias.bidirectional ? 4 : 2, 12);
  bias.max_distance = draw.between(buckets, 40);
  drawn.position_shape = {buckets, heads};
}

// Some entries of a bias hide their key.
inline Numbers draw_bias(Draw& draw, int64_t count) {
  Numbers bias = draw.normal(count);
  if (draw.chance(0.7)) return bias;
  for (double& number : bias) {
    if (draw.chance(0.2)) number = -std::numeric_limits<double>::infinity();
  }
  return bias;
}

inline std::vector<OpInput> draw_attention_inputs(Draw& draw, const AttentionDraw& drawn) {
  const kernels::AttentionShape& s = drawn.shape;
  const auto heads = [&](const char* name, int64_t count, int64_t rows, int64_t width) {
    const tensor::Shape shape = drawn.split ? tensor::Shape{s.batch, count, rows, width}
                                            : tensor::Shape{s.batch, rows, count * width};
    return OpInput{name, shape, draw.normal(shape.elements())};
  };
  std::vector<OpInput> inputs = {heads("query", s.heads, s.queries, s.key_width),
                                 heads("key", s.kv_heads, s.keys, s.key_width),
                                 heads("value", s.kv_heads, s.keys, s.value_width)};
  if (drawn.bias_shape.rank() > 0) {
    inputs.push_back({"bias", drawn.bias_shape, draw_bias(draw, drawn.bias_shape.elements())});
  }
  if (drawn.gate_shape.rank() > 0) {
    inputs.push_back({"gates", drawn.gate_shape, draw.normal(drawn.gate_shape.elements()), true});
  }
  if (drawn.position_shape.rank() > 0) {
    const double deviation = drawn.position_shape.rank() == 1 ? 0.1 : 1;  // slopes are small
    inputs.push_back({"position_bias", drawn.position_shape,
                      draw.normal(drawn.position_shape.elements(), deviation), true});
  }
  return inputs;
}

// The drawn options with the inputs that are Values.
inline autograd::AttentionOptions engine_options(const AttentionDraw& drawn,
                                                 const std::vector<autograd::Value>& inputs) {
  autograd::AttentionOptions options = drawn.options;
  if (drawn.bias_shape.rank() > 0) options.bias = inputs[3];
  if (drawn.gate_shape.rank() > 0) options.gates = inputs[drawn.gate_input()];
  if (drawn.position_shape.rank() > 0)
    options.position_bias.coefficients = inputs[drawn.position_input()];
  return options;
}

inline autograd::RandomState draw_random_state(Draw& draw) { return {draw.key(), draw.key()}; }

inline uint64_t dropout_key(const autograd::RandomState& random) {
  return base::mix(base::mix(random.seed, random.step), base::name_key(kAttentionPlace));
}

inline OpCase draw_attention(Draw& draw) {
  auto drawn = std::make_shared<AttentionDraw>();
  kernels::AttentionShape& s = drawn->shape;
  s.batch = draw.size(1, 3, 1);
  s.kv_heads = draw.size(1, 3, 12);
  s.heads = s.kv_heads * draw.size(1, 3, 1);
  s.queries = draw.size(0, 40, 1024);
  s.keys = draw.size(0, 150, 1024);
  s.key_width = draw.size(1, 20, 64);
  s.value_width = draw.size(1, 20, 64);
  drawn->split = draw.chance();
  draw_masks(draw, *drawn);
  draw_position_bias(draw, *drawn);
  drawn->options.heads = s.heads;
  drawn->options.kv_heads = s.kv_heads;
  if (s.heads > s.kv_heads && draw.chance()) {  // all that are too many read the last
    std::vector<int64_t> readers, numbers, kv_numbers;
    for (int64_t h = 0; h < s.heads; ++h) readers.push_back(std::min(h, s.kv_heads - 1));
    for (int64_t h = 0; h < s.heads; ++h) numbers.push_back(2 * h);
    for (int64_t g = 0; g < s.kv_heads; ++g) kv_numbers.push_back(g);
    drawn->pruned = {.original = 2 * s.heads,
                     .numbers = tensor::Tensor::of({s.heads}, numbers),
                     .kv_original = s.kv_heads,
                     .kv_numbers = tensor::Tensor::of({s.kv_heads}, kv_numbers),
                     .kv_head_of = tensor::Tensor::of({s.heads}, readers)};
    drawn->options.pruned = &drawn->pruned;
    s.kv_head_of = drawn->pruned.kv_head_of.data<int64_t>();
  }
  if (draw.chance(0.3)) drawn->options.scale = static_cast<float>(draw.uniform(-1, 1));
  if (draw.chance(0.3)) drawn->options.softcap = static_cast<float>(draw.uniform(0.5, 3));

  OpCase drawn_case;
  drawn_case.inputs = draw_attention_inputs(draw, *drawn);
  drawn_case.random = draw_random_state(draw);
  const uint64_t key = dropout_key(drawn_case.random);
  drawn_case.engine = [drawn](autograd::Context& context,
                              const std::vector<autograd::Value>& inputs) {
    return attention(context, inputs[0], inputs[1], inputs[2], engine_options(*drawn, inputs));
  };
  drawn_case.forward = [drawn, key](const References& inputs) {
    const AttentionReference reference(*drawn, inputs, key);
    return reference.engine_rows(kernels::reference::attention_forward(reference.inputs).output,
                                 drawn->shape.queries, drawn->shape.heads);
  };
  drawn_case.backward = [drawn, key](const References& inputs, const Numbers& d_output) {
    const AttentionReference reference(*drawn, inputs, key);
    const Numbers d_heads =
        reference.given_heads(d_output, drawn->shape.queries, drawn->shape.heads);
    return reference.gradients(kernels::reference::attention_backward(
        reference.inputs, kernels::reference::attention_forward(reference.inputs), d_heads.data()));
  };
  return drawn_case;
}

// One head; after the others comes an input more, the weights of the scores.
inline OpCase draw_additive_attention(Draw& draw) {
  auto drawn = std::make_shared<AttentionDraw>();
  kernels::AttentionShape& s = drawn->shape;
  s.batch = draw.size(1, 3, 1);
  s.heads = s.kv_heads = 1;
  s.queries = draw.size(0, 40, 128);
  s.keys = draw.size(0, 150, 128);
  s.key_width = draw.size(1, 20, 64);
  s.value_width = draw.size(1, 20, 64);
  draw_masks(draw, *drawn);

  OpCase drawn_case;
  drawn_case.inputs = draw_attention_inputs(draw, *drawn);
  drawn_case.inputs.push_back({"score_weights", {s.key_width}, draw.normal(s.key_width)});
  drawn_case.random = draw_random_state(draw);
  const uint64_t key = dropout_key(drawn_case.random);
  drawn_case.engine = [drawn](autograd::Context& context,
                              const std::vector<autograd::Value>& inputs) {
    return additive_attention(context, inputs[0], inputs[1], inputs[2], inputs.back(),
                              engine_options(*drawn, inputs));
  };
  drawn_case.forward = [drawn, key](const References& inputs) {
    AttentionReference reference(*drawn, inputs, key);
    reference.inputs.scale = 1;
    return kernels::reference::additive_attention_forward(reference.inputs, inputs.back().data())
        .output;
  };
  drawn_case.backward = [drawn, key](const References& inputs, const Numbers& d_output) {
    AttentionReference reference(*drawn, inputs, key);
    reference.inputs.scale = 1;
    const double* weights = inputs.back().data();
    Numbers d_weights(inputs.back().size());
    References gradients = reference.gradients(kernels::reference::additive_attention_backward(
        reference.inputs, weights,
        kernels::reference::additive_attention_forward(reference.inputs, weights), d_output.data(),
        d_weights.data()));
    gradients.push_back(std::move(d_weights));
    return gradients;
  };
  return drawn_case;
}

}  // namespace headlight::tests
