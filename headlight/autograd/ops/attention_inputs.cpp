// Checks of attention's inputs and their translation for the kernels.
#include "headlight/autograd/ops/attention_inputs.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "headlight/autograd/checks.h"
#include "headlight/autograd/observer.h"

namespace headlight::autograd {
namespace {

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

std::string text(int64_t number) { return std::to_string(number); }

void check_heads_tensor(std::string_view operation, std::string_view input, const Tensor& x,
                        int rank) {
  if (!x.defined()) refuse(operation, input, "is missing");
  if (x.dtype() != DType::f32) {
    refuse(operation, input, std::string("is ") + name_of(x.dtype()) + ", f32 is needed");
  }
  if (x.rank() != rank) {
    refuse(operation, input,
           "shape is " + x.shape().text() + ", rank " + text(rank) + " is needed");
  }
  if (x.stride(-1) != 1 && x.size(-1) > 1) {
    refuse(operation, input, "shape " + x.shape().text() + " has a last axis that is not adjacent");
  }
}

// Width of one head.
int64_t head_width(std::string_view operation, std::string_view input, const Tensor& x,
                   int64_t heads) {
  if (x.rank() == 4) return x.size(3);
  if (x.size(2) % heads != 0) {
    refuse(operation, input,
           "width " + text(x.size(2)) + " cannot be split into " + text(heads) + " heads");
  }
  return x.size(2) / heads;
}

// The number of heads: the given one for rank 3, its own for rank 4; `unset` is not given.
int64_t head_count(std::string_view operation, std::string_view input, const Tensor& x,
                   int64_t given, int64_t unset) {
  if (x.rank() == 3) return given;
  if (given != unset && given != x.size(1)) {
    refuse(operation, input,
           "shape is " + x.shape().text() + ", " + text(given) + " heads are asked for");
  }
  return x.size(1);
}

void check_query(std::string_view operation, const Tensor& query, const AttentionOptions& options) {
  if (query.defined() && query.rank() != 3 && query.rank() != 4) {
    refuse(operation, "query", "shape is " + query.shape().text() + ", rank 3 or 4 is needed");
  }
  check_heads_tensor(operation, "query", query, query.defined() ? query.rank() : 3);
  if (options.heads < 1 || options.kv_heads < 0) {
    refuse(operation, "heads",
           text(options.heads) + " heads and " + text(options.kv_heads) +
               " key/value heads, at least 1 is needed");
  }
}

void check_groups(std::string_view operation, int64_t heads, int64_t kv_heads) {
  if (heads < 1 || kv_heads < 1 || heads % kv_heads != 0) {
    refuse(operation, "kv_heads",
           text(heads) + " heads cannot share " + text(kv_heads) + " key/value heads evenly");
  }
}

void check_equal(std::string_view operation, std::string_view input, const char* what, int64_t size,
                 std::string_view other, int64_t expected) {
  if (size == expected) return;
  refuse(operation, input,
         std::string(what) + " is " + text(size) + ", " + std::string(other) + " has " +
             text(expected));
}

void check_broadcast(std::string_view operation, std::string_view input, const Tensor& x,
                     DType dtype, const kernels::AttentionShape& s) {
  if (x.dtype() != dtype) {
    refuse(operation, input,
           std::string("is ") + name_of(x.dtype()) + ", " + name_of(dtype) + " is needed");
  }
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

// i64 of one of the shapes (the second may be the same), each value within 0 and `limit` (when it
// is not negative).
Tensor checked_lengths(std::string_view operation, std::string_view input, const Tensor& given,
                       const Shape& shape, const Shape& other_shape, int64_t limit) {
  const Tensor lengths = checked_integers(operation, input, given);
  if (lengths.shape() != shape && lengths.shape() != other_shape) {
    refuse(operation, input,
           "shape is " + lengths.shape().text() + ", " + shape.text() +
               (shape == other_shape ? "" : " or " + other_shape.text()) + " is needed");
  }
  const int64_t* values = lengths.data<int64_t>();
  for (int64_t i = 0; limit >= 0 && i < lengths.elements(); ++i) {
    if (values[i] >= 0 && values[i] <= limit) continue;
    refuse(operation, input,
           text(values[i]) + " at position " + text(i) + " is not within 0 and " + text(limit));
  }
  return lengths;
}

void set_lengths(std::string_view operation, AttentionInputs& inputs,
                 const AttentionOptions& options) {
  const kernels::AttentionShape& s = inputs.shape;
  const Shape per_sequence{s.batch};
  if (options.past.defined()) {
    inputs.past = checked_lengths(operation, "past", options.past, per_sequence, per_sequence, -1);
  }
  if (options.valid_lens.defined()) {
    inputs.valid_lens = checked_lengths(operation, "valid_lens", options.valid_lens, per_sequence,
                                        {s.batch, s.queries}, s.keys);
  }
  if (options.query_lens.defined()) {
    inputs.query_lens = checked_lengths(operation, "query_lens", options.query_lens, per_sequence,
                                        per_sequence, s.queries);
  }
}

void check_gates(std::string_view operation, const Tensor& gates,
                 const kernels::AttentionShape& s) {
  if (gates.dtype() == DType::f32 && gates.is_contiguous() &&
      (gates.shape() == Shape{s.heads} || gates.shape() == Shape{s.batch, s.heads})) {
    return;
  }
  refuse(operation, "gates",
         std::string(name_of(gates.dtype())) + " of shape " + gates.shape().text() + ", f32 " +
             Shape{s.heads}.text() + " or " + Shape{s.batch, s.heads}.text() + " is needed");
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
    refuse(operation, "window", "is " + text(options.window) + ", it must be 0 (none) or positive");
  }
  check_probability(operation, options.dropout);
}

template <class T>
const T* data_or_null(const Tensor& x) {
  return x.defined() ? x.data<T>() : nullptr;
}

}  // namespace

kernels::AttentionProblem AttentionInputs::problem() const {
  kernels::AttentionProblem problem;
  problem.shape = shape;
  problem.query = query.heads(shape.heads);
  if (key.defined()) problem.key = key.heads(shape.kv_heads);
  problem.packed_keys = packed_keys;
  problem.value = value.heads(shape.kv_heads);
  problem.scale = scale;
  problem.softcap = softcap;
  problem.gates = data_or_null<float>(gates);
  problem.gate_batch_stride = gates.defined() && gates.rank() == 2 ? shape.heads : 0;
  problem.dropout = dropout;
  kernels::AttentionMask& mask = problem.mask;
  mask.causal = causal;
  mask.window = window;
  mask.past = data_or_null<int64_t>(past);
  mask.valid_lens = data_or_null<int64_t>(valid_lens);
  mask.valid_lens_per_query = valid_lens.defined() && valid_lens.rank() == 2;
  mask.query_lens = data_or_null<int64_t>(query_lens);
  if (keep_mask.defined()) mask.keep = broadcast<const bool>(keep_mask);
  if (forbid_mask.defined()) mask.forbid = broadcast<const bool>(forbid_mask);
  if (bias.defined()) mask.bias = broadcast<const float>(bias);
  return problem;
}

Shape AttentionInputs::output_shape() const {
  if (query.rank() == 3) return {shape.batch, shape.queries, shape.heads * shape.value_width};
  return {shape.batch, shape.heads, shape.queries, shape.value_width};
}

AttentionInputs checked_attention(std::string_view operation, const Tensor& query,
                                  const Tensor& key, const Tensor& value,
                                  const AttentionOptions& options) {
  check_query(operation, query, options);
  check_heads_tensor(operation, "key", key, query.rank());
  check_heads_tensor(operation, "value", value, query.rank());
  AttentionInputs inputs;
  inputs.query = query;
  inputs.key = key;
  inputs.value = value;
  kernels::AttentionShape& s = inputs.shape;
  const int row_axis = query.rank() - 2;
  s.heads = head_count(operation, "query", query, options.heads, 1);
  s.kv_heads = head_count(operation, "key", key, options.kv_heads, 0);
  if (s.kv_heads == 0 && key.rank() == 3) s.kv_heads = s.heads;
  check_groups(operation, s.heads, s.kv_heads);
  if (value.rank() == 4) {
    check_equal(operation, "value", "the number of heads", value.size(1), "the key", s.kv_heads);
  }
  s.batch = query.size(0);
  check_equal(operation, "key", "the batch", key.size(0), "the query", s.batch);
  check_equal(operation, "value", "the batch", value.size(0), "the query", s.batch);
  s.queries = query.size(row_axis);
  s.keys = key.size(row_axis);
  check_equal(operation, "value", "the number of rows", value.size(row_axis), "the key", s.keys);
  s.key_width = head_width(operation, "query", query, s.heads);
  check_equal(operation, "key", "the width of a head",
              head_width(operation, "key", key, s.kv_heads), "the query", s.key_width);
  s.value_width = head_width(operation, "value", value, s.kv_heads);
  return inputs;
}

AttentionInputs checked_attention(std::string_view operation, const Tensor& query,
                                  const CachedKeyValues& cache, const AttentionOptions& options) {
  check_query(operation, query, options);
  check_heads_tensor(operation, "values", cache.values, 4);
  AttentionInputs inputs;
  inputs.query = query;
  inputs.value = cache.values;
  inputs.packed_keys = cache.keys;
  kernels::AttentionShape& s = inputs.shape;
  s.heads = head_count(operation, "query", query, options.heads, 1);
  s.kv_heads = head_count(operation, "values", cache.values, options.kv_heads, 0);
  check_groups(operation, s.heads, s.kv_heads);
  s.batch = query.size(0);
  check_equal(operation, "values", "the batch", cache.values.size(0), "the query", s.batch);
  s.queries = query.size(query.rank() - 2);
  s.keys = cache.values.size(2);
  s.key_width = head_width(operation, "query", query, s.heads);
  check_equal(operation, "keys", "the width of a head", cache.key_width, "the query", s.key_width);
  s.value_width = cache.values.size(3);
  return inputs;
}

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
  inputs.causal = options.causal;
  inputs.window = options.window;
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
