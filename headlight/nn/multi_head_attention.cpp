// MultiHeadAttention: parameters as they are stored, projections over parts of them, one operation
// between.
#include "headlight/nn/multi_head_attention.h"

#include <algorithm>

namespace headlight::nn {
namespace {

using base::Error;
using base::ErrorKind;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

[[noreturn]] void refuse_attention(const std::string& place, const std::string& why) {
  throw Error(ErrorKind::bad_input, "multi-head attention", place, why);
}

void set_default(int64_t& value, int64_t fallback) {
  if (value == 0) value = fallback;
}

void check_positive(const MultiHeadAttentionOptions& options) {
  const std::pair<const char*, int64_t> numbers[] = {{"query_width", options.query_width},
                                                     {"key_width", options.key_width},
                                                     {"value_width", options.value_width},
                                                     {"heads", options.heads},
                                                     {"kv_heads", options.kv_heads},
                                                     {"head_dim", options.head_dim},
                                                     {"value_head_dim", options.value_head_dim},
                                                     {"out_dim", options.out_dim}};
  for (const auto& [name, number] : numbers) {
    if (number < 1) {
      refuse_attention(options.place, std::string(name) + " is " + std::to_string(number) +
                                          ", at least 1 is needed");
    }
  }
  if (options.heads % options.kv_heads != 0) {
    refuse_attention(options.place, std::to_string(options.heads) + " heads cannot share " +
                                        std::to_string(options.kv_heads) +
                                        " key/value heads evenly");
  }
}

// With defaults filled in and everything checked.
MultiHeadAttentionOptions completed(MultiHeadAttentionOptions options) {
  set_default(options.key_width, options.query_width);
  set_default(options.value_width, options.key_width);
  set_default(options.kv_heads, options.heads);
  if (!options.output_projection) options.names.output_weight.clear();
  options.output_projection = !options.names.output_weight.empty();
  if (!options.out_bias || !options.output_projection) options.names.output_bias.clear();
  if (!options.qkv_bias) options.names.biases = {};
  const bool free_width = options.out_dim == 0 && !options.output_projection;
  set_default(options.out_dim, options.query_width);
  if (options.head_dim == 0 && options.heads > 0) {
    if (options.out_dim % options.heads != 0) {
      refuse_attention(options.place, "width " + std::to_string(options.out_dim) +
                                          " cannot be split into " + std::to_string(options.heads) +
                                          " heads");
    }
    options.head_dim = options.out_dim / options.heads;
  }
  set_default(options.value_head_dim, options.head_dim);
  const int64_t merged = options.heads * options.value_head_dim;
  if (free_width) options.out_dim = merged;
  check_positive(options);
  if (!options.output_projection && options.out_dim != merged) {
    refuse_attention(options.place, "out_dim is " + std::to_string(options.out_dim) +
                                        ", without an output projection " +
                                        std::to_string(options.heads) + " heads of width " +
                                        std::to_string(options.value_head_dim) + " give " +
                                        std::to_string(merged));
  }
  return options;
}

// Whether two Values are one: the same numbers seen in the same way, and the same gradient.
bool same(const Value& a, const Value& b) {
  if (a.gradient() != b.gradient() || a.data().raw() != b.data().raw() || a.shape() != b.shape()) {
    return false;
  }
  for (int axis = 0; axis < a.rank(); ++axis) {
    if (a.data().stride(axis) != b.data().stride(axis)) return false;
  }
  return true;
}

Shape weight_shape(WeightLayout layout, int64_t outputs, int64_t inputs) {
  return layout == WeightLayout::out_in ? Shape{outputs, inputs} : Shape{inputs, outputs};
}

}  // namespace

AttentionNames fused_names() {
  return {.weights = {"c_attn.weight", "c_attn.weight", "c_attn.weight"},
          .biases = {"c_attn.bias", "c_attn.bias", "c_attn.bias"},
          .output_weight = "c_proj.weight",
          .output_bias = "c_proj.bias"};
}

AttentionNames AttentionNames::with_prefix(const std::string& prefix) const {
  const auto prefixed = [&prefix](const std::string& name) {
    return name.empty() ? name : prefix + name;
  };
  AttentionNames names = *this;
  std::transform(weights.begin(), weights.end(), names.weights.begin(), prefixed);
  std::transform(biases.begin(), biases.end(), names.biases.begin(), prefixed);
  names.output_weight = prefixed(output_weight);
  names.output_bias = prefixed(output_bias);
  return names;
}

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttentionOptions& options)
    : options_(completed(options)) {
  for (const Input input : {kQuery, kKey, kValue}) inputs_.push_back(input_layer(input));
  key_value_ = Linear::joined(inputs_[kKey], inputs_[kValue]);
  if (key_value_) query_key_value_ = Linear::joined(inputs_[kQuery], *key_value_);
  const AttentionNames& names = options_.names;
  if (!options_.output_projection) return;
  Linear::Part part{.outputs = options_.out_dim, .layout = names.layout};
  part.weight = parameter(
      names.output_weight,
      weight_shape(names.layout, options_.out_dim, options_.heads * options_.value_head_dim));
  if (!names.output_bias.empty()) part.bias = parameter(names.output_bias, {options_.out_dim});
  output_ = Linear(std::move(part));
}

std::array<int64_t, 3> MultiHeadAttention::projected_widths() const {
  return {options_.heads * options_.head_dim, options_.kv_heads * options_.head_dim,
          options_.kv_heads * options_.value_head_dim};
}

std::array<int64_t, 3> MultiHeadAttention::input_widths() const {
  return {options_.query_width, options_.key_width, options_.value_width};
}

// Where the outputs of `input` begin in the parameter that names[input] names, and how many outputs
// it has altogether.
std::pair<int64_t, int64_t> MultiHeadAttention::share(const std::array<std::string, 3>& names,
                                                      Input input) const {
  int64_t begin = 0;
  int64_t all = 0;
  for (const Input other : {kQuery, kKey, kValue}) {
    if (names[other] != names[input]) continue;
    if (other == input) begin = all;
    all += projected_widths()[other];
  }
  return {begin, all};
}

Linear MultiHeadAttention::input_layer(Input input) {
  const AttentionNames& names = options_.names;
  const auto [weight_begin, weight_outputs] = share(names.weights, input);
  Linear::Part part{
      .weight_begin = weight_begin, .outputs = projected_widths()[input], .layout = names.layout};
  part.weight = parameter(names.weights[input],
                          weight_shape(names.layout, weight_outputs, input_widths()[input]));
  if (!names.biases[input].empty()) {
    const auto [bias_begin, bias_outputs] = share(names.biases, input);
    part.bias_begin = bias_begin;
    part.bias = parameter(names.biases[input], {bias_outputs});
  }
  return Linear(std::move(part));
}

// The parameter of this name, made when it is asked for first; a vector starts at zero.
ParameterHandle MultiHeadAttention::parameter(const std::string& name, const Shape& shape) {
  for (const ParameterHandle& known : parameters_) {
    if (known->name() != name) continue;
    if (known->shape() == shape) return known;
    refuse_attention(options_.place, name + " would have to be " + known->shape().text() + " and " +
                                         shape.text() +
                                         " at once: inputs of different widths need weights "
                                         "of their own");
  }
  parameters_.push_back(shape.rank() == 1
                            ? std::make_shared<Parameter>(name, Tensor::zeros(DType::f32, shape))
                            : std::make_shared<Parameter>(name, shape));
  return parameters_.back();
}

MultiHeadAttention::Projected MultiHeadAttention::project(Context& context, const Value& query,
                                                          const Value& key,
                                                          const Value& value) const {
  Projected projected;
  if (query_key_value_ && same(query, key) && same(key, value)) {
    const Value all = query_key_value_->forward(context, query);
    autograd::observe(context, options_.place, "projected", all);
    const auto widths = projected_widths();
    const std::vector<Value> parts = autograd::split(all, {widths.begin(), widths.end()});
    std::copy(parts.begin(), parts.end(), projected.begin());
  } else {
    projected[kQuery] = inputs_[kQuery].forward(context, query);
    project_key_value(context, key, value, projected);
  }
  autograd::observe(context, options_.place, "projected_query", projected[kQuery]);
  autograd::observe(context, options_.place, "projected_key", projected[kKey]);
  autograd::observe(context, options_.place, "projected_value", projected[kValue]);
  return projected;
}

void MultiHeadAttention::project_key_value(Context& context, const Value& key, const Value& value,
                                           Projected& projected) const {
  if (key_value_ && same(key, value)) {
    const auto widths = projected_widths();
    const std::vector<Value> parts =
        autograd::split(key_value_->forward(context, key), {widths[kKey], widths[kValue]});
    projected[kKey] = parts[0];
    projected[kValue] = parts[1];
  } else {
    projected[kKey] = inputs_[kKey].forward(context, key);
    projected[kValue] = inputs_[kValue].forward(context, value);
  }
}

// The call's options with the module's own.
AttentionOptions MultiHeadAttention::op_options(const AttentionOptions& call) const {
  if (call.heads != 1 || call.kv_heads != 0 || call.dropout != 0 || !call.place.empty()) {
    refuse_attention(options_.place,
                     "heads, kv_heads, dropout and place are the module's, not the call's");
  }
  AttentionOptions options = call;
  options.heads = options_.heads;
  options.kv_heads = options_.kv_heads;
  options.dropout = options_.weight_dropout;
  options.place = options_.place;
  if (!options.scale) options.scale = options_.scale;
  if (options.softcap == 0) options.softcap = options_.softcap;
  if (options.window == 0) options.window = options_.window;
  if (!options.gates.defined()) options.gates = gates_;
  return options;
}

Value MultiHeadAttention::forward(Context& context, const Value& query, const Value& key,
                                  const Value& value, const AttentionOptions& call) const {
  const Projected projected = project(context, query, key, value);
  return finish(context, autograd::attention(context, projected[kQuery], projected[kKey],
                                             projected[kValue], op_options(call)));
}

// Merge done; the output projection and dropout.
Value MultiHeadAttention::finish(Context& context, const Value& merged) const {
  const std::string& place = options_.place;
  const Value concatenated = autograd::intervene(context, place, "concatenated", merged);
  autograd::observe(context, place, "concatenated", concatenated);
  Value output = output_ ? output_->forward(context, concatenated) : concatenated;
  output = autograd::dropout(context, output, options_.output_dropout,
                             autograd::place_name(place, "output"));
  output = autograd::intervene(context, place, "output", output);
  autograd::observe(context, place, "output", output);
  return output;
}

}  // namespace headlight::nn
