// Masks, bias, gates, scale, cap and dropout of attention: checked, and completed with defaults.
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
    std::fill_n(ones.data<float>(), heads, 1.0F);
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
  inputs.gates = gates.data();
  if (inputs.gates.defined()) check_gates(operation, inputs.gates, s);
  if (context.training && options.dropout > 0) {
    inputs.dropout = {.probability = options.dropout, .key = context.random_key(options.place)};
  }
}

}  // namespace headlight::autograd
