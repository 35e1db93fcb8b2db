// Masks, biases, gates, scale, cap and dropout of attention: checked, and completed with defaults.
#include <algorithm>
#include <cmath>
#include <string>

#include "headlight/autograd/checks.h"
#include "headlight/autograd/observer.h"
#include "headlight/autograd/ops/attention_inputs.h"

namespace headlight::autograd {
namespace {

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

void check_broadcast(std::string_view operation, std::string_view input, const Tensor& x,
                     DType dtype, const kernels::AttentionShape& s) {
  check_type(operation, input, x, dtype);
  const Shape full = x.rank() == 2   ? Shape{s.queries, s.keys}
                     : x.rank() == 3 ? Shape{s.batch, s.queries, s.keys}
                                     : Shape{s.batch, s.heads, s.queries, s.keys};
  bool fits = x.rank() == full.rank();
  for (int axis = 0; fits && axis < full.rank(); ++axis) {
    fits = x.size(axis) == full[axis] || x.size(axis) == 1;
  }
  if (!fits) {
    refuse(operation, input,
           "shape is " + x.shape().text() + ", " + full.text() + " with any axis 1 is needed");
  }
}

Tensor checked_valid_lens(std::string_view operation, const Tensor& given,
                          const kernels::AttentionShape& s) {
  const Tensor numbers = checked_integers(operation, "valid_lens", given);
  const Shape per_query{s.batch, s.queries};
  if (numbers.shape() != Shape{s.batch} && numbers.shape() != per_query) {
    refuse(operation, "valid_lens",
           "shape is " + numbers.shape().text() + ", " + Shape{s.batch}.text() + " or " +
               per_query.text() + " is needed");
  }
  check_range(operation, "valid_lens", numbers, 0, s.keys);
  return numbers;
}

void set_lengths(std::string_view operation, AttentionInputs& inputs,
                 const AttentionOptions& options) {
  const kernels::AttentionShape& s = inputs.shape;
  inputs.causal = options.causal;
  inputs.window = std::min(options.window, kFarthest);
  if (options.past.defined()) {
    inputs.past = checked_per_sequence(operation, "past", options.past, s.batch);
    check_range(operation, "past", inputs.past, -kFarthest, kFarthest);
  }
  if (options.valid_lens.defined()) {
    inputs.valid_lens = checked_valid_lens(operation, options.valid_lens, s);
  }
  if (options.query_lens.defined()) {
    inputs.query_lens = checked_per_sequence(operation, "query_lens", options.query_lens, s.batch);
    check_range(operation, "query_lens", inputs.query_lens, 0, s.queries);
  }
}

void check_gates(std::string_view operation, const Tensor& gates,
                 const kernels::AttentionShape& s) {
  check_type(operation, "gates", gates, DType::f32);
  const Shape per_head{s.heads};
  const Shape per_sequence{s.batch, s.heads};
  if (gates.shape() != per_head && gates.shape() != per_sequence) {
    refuse(operation, "gates",
           "shape is " + gates.shape().text() + ", " + per_head.text() + " or " +
               per_sequence.text() + " is needed");
  }
  if (!gates.is_contiguous()) {
    refuse(operation, "gates", "shape " + gates.shape().text() + " is not adjacent in memory");
  }
}

// T5's buckets: enough of them, and a distance that lies beyond those that have a bucket each.
void check_buckets(std::string_view operation, const PositionBias& bias, int64_t buckets) {
  const int64_t count = bias.bidirectional ? buckets / 2 : buckets;
  if (count < 2) {
    refuse(operation, "position_bias",
           std::to_string(buckets) +
               (bias.bidirectional ? " buckets for two directions, at least 4"
                                   : " buckets, at least 2") +
               " are needed");
  }
  if (bias.max_distance <= count / 2 || bias.max_distance > kFarthest) {
    refuse(operation, "position_bias",
           "max_distance is " + std::to_string(bias.max_distance) + ", with " +
               std::to_string(buckets) + " buckets it must be from " +
               std::to_string(count / 2 + 1) + " to " + std::to_string(kFarthest));
  }
}

void check_table(std::string_view operation, const Tensor& table, int64_t heads) {
  check_type(operation, "position_bias", table, DType::f32);
  if (table.rank() != 2 || table.size(1) != heads) {
    refuse(operation, "position_bias",
           "shape is " + table.shape().text() + ", a table of [buckets, " + std::to_string(heads) +
               "] is needed");
  }
  if (!table.is_contiguous()) {
    refuse(operation, "position_bias",
           "shape " + table.shape().text() + " is not adjacent in memory");
  }
}

void set_position_bias(std::string_view operation, AttentionInputs& inputs,
                       const PositionBias& bias) {
  const Tensor& coefficients = bias.coefficients.data();
  if (bias.kind == PositionBiasKind::none) {
    if (!coefficients.defined()) return;
    refuse(operation, "position_bias",
           "coefficients of shape " + coefficients.shape().text() + " have no kind");
  }
  const int64_t heads = inputs.shape.heads;
  inputs.position_bias = {
      .kind = bias.kind, .bidirectional = bias.bidirectional, .max_distance = bias.max_distance};
  if (bias.kind == PositionBiasKind::linear) {
    check_vector(operation, "position_bias", coefficients, heads,
                 "there are " + std::to_string(heads) + " heads");
  } else {
    check_table(operation, coefficients, heads);
    inputs.position_bias.buckets = coefficients.size(0);
    check_buckets(operation, bias, coefficients.size(0));
  }
  inputs.position_coefficients = coefficients;
  inputs.position_bias.coefficients = coefficients.data<float>();
}

void check_numbers(std::string_view operation, const AttentionOptions& options) {
  if (!(options.softcap >= 0) || std::isinf(options.softcap)) {
    refuse(operation, "softcap",
           "is " + std::to_string(options.softcap) + ", it must be 0 or positive");
  }
  if (options.scale && !std::isfinite(*options.scale)) {
    refuse(operation, "scale", "is " + std::to_string(*options.scale) + ", it must be finite");
  }
  if (options.window < 0) {
    refuse(operation, "window",
           "is " + std::to_string(options.window) + ", it must be 0 (none) or positive");
  }
  check_probability(operation, options.dropout);
}

}  // namespace

Value effective_gates(Context& context, const AttentionOptions& options, int64_t heads) {
  if (context.intervention == nullptr ||
      !context.intervention->changes(place_name(options.place, "head_gates"))) {
    return options.gates;
  }
  Value gates = options.gates;
  if (!gates.defined()) {
    Tensor ones = Tensor::uninitialized(context.arena, DType::f32, {heads});
    std::fill_n(ones.mutable_data<float>(), heads, 1.0F);
    gates = Value::leaf(ones);
  }
  return intervene(context, options.place, "head_gates", gates);
}

void set_attention_options(Context& context, std::string_view operation, AttentionInputs& inputs,
                           const AttentionOptions& options, const Value& gates) {
  check_numbers(operation, options);
  const kernels::AttentionShape& s = inputs.shape;
  const float width = static_cast<float>(std::max<int64_t>(s.key_width, 1));
  inputs.scale = options.scale.value_or(1 / std::sqrt(width));
  inputs.softcap = options.softcap;
  set_lengths(operation, inputs, options);
  inputs.keep_mask = options.keep_mask;
  inputs.forbid_mask = options.forbid_mask;
  inputs.bias = options.bias.data();
  for (const auto& [input, mask] :
       {std::pair{"keep_mask", inputs.keep_mask}, std::pair{"forbid_mask", inputs.forbid_mask}}) {
    if (mask.defined()) check_broadcast(operation, input, mask, DType::boolean, s);
  }
  if (inputs.bias.defined()) check_broadcast(operation, "bias", inputs.bias, DType::f32, s);
  set_position_bias(operation, inputs, options.position_bias);
  inputs.gates = gates.data();
  if (inputs.gates.defined()) check_gates(operation, inputs.gates, s);
  if (context.training && options.dropout > 0) {
    inputs.dropout = {.probability = options.dropout,
                      .key = context.random_key(options.place),
                      .first_sequence = context.random.first_sequence};
  }
}

}  // namespace headlight::autograd
