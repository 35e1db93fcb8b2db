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

// Shows rows in which heads lie beside each other, and of each query head the columns that it
// reads.
void observe_heads(Context& context, const std::string& place, const HeadSet& heads, bool is_query,
                   const char* name, const Value& x) {
  autograd::observe(context, place, name, x);
  if (context.observer == nullptr) return;
  const int64_t width = x.size(-1) / (is_query ? heads.count() : heads.kv_count());
  for (size_t head = 0; head < heads.numbers.size(); ++head) {
    const int64_t at = is_query ? static_cast<int64_t>(head) : heads.kv_head_of[head];
    autograd::observe(context, place + ".head." + std::to_string(heads.numbers[head]), name,
                      x.data().slice(-1, at * width, width));
  }
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttentionOptions& options)
    : options_(with_defaults(options)),
      heads_(head_set(options_.place, options_.heads, options_.kv_heads, options_.heads_left)) {
  if (!heads_.is_whole() && heads_.count() > 0) {
    pruned_ = {.original = heads_.original,
               .numbers = Tensor::of({heads_.count()}, heads_.numbers),
               .kv_original = options_.kv_heads,
               .kv_numbers = Tensor::of({heads_.kv_count()}, heads_.kv_numbers),
               .kv_head_of =
                   heads_.is_even() ? Tensor() : Tensor::of({heads_.count()}, heads_.kv_head_of)};
  }
  make_input_layers();
  make_output_layer();
  make_input_norms();
  make_position_bias();
  if (!options_.rotation.rates.empty()) {
    const std::vector<float>& rates = options_.rotation.rates;
    rates_ = Tensor::of({static_cast<int64_t>(rates.size())}, rates);
  }
}

void MultiHeadAttention::make_input_layers() {
  for (const Input input : {kQuery, kKey, kValue}) inputs_.push_back(input_layer(input));
  key_value_ = Linear::joined(inputs_[kKey], inputs_[kValue]);
  if (key_value_) query_key_value_ = Linear::joined(inputs_[kQuery], *key_value_);
  if (!options_.names.interleaved) return;
  key_value_.reset();
  std::ranges::fill(inputs_, *query_key_value_);
  for (const Input input : {kQuery, kKey, kValue}) {
    std::vector<int64_t> pieces;
    for (int64_t head = 0; head < heads_.count(); ++head) pieces.push_back(3 * head + input);
    turns_[input] = Tensor::of({heads_.count()}, pieces);
  }
}

int64_t MultiHeadAttention::head_begin(size_t projection, int64_t head) const {
  const int64_t width = projection == kValue ? options_.value_head_dim : options_.head_dim;
  if (options_.names.interleaved) return (3 * head + static_cast<int64_t>(projection)) * width;
  return inputs_[projection].part().weight_begin + head * width;
}

void MultiHeadAttention::make_output_layer() {
  if (!options_.output_projection) return;
  const AttentionNames& names = options_.names;
  Linear::Part part{.outputs = options_.out_dim, .layout = names.layout};
  part.weight = parameter(
      names.output_weight,
      weight_shape(names.layout, options_.out_dim, heads_.count() * options_.value_head_dim));
  if (!names.output_bias.empty()) part.bias = parameter(names.output_bias, {options_.out_dim});
  output_ = Linear(std::move(part));
}

void MultiHeadAttention::make_input_norms() {
  if (heads_.count() == 0) return;  // nothing is left to normalise
  const QueryKeyNormOptions& norm = options_.query_key_norm;
  const std::string* names[] = {&options_.names.query_norm, &options_.names.key_norm};
  for (const Input input : {kQuery, kKey}) {
    if (names[input]->empty()) continue;
    input_norms_[input].emplace(
        *names[input],
        NormOptions{.width = norm.each_head ? options_.head_dim : projected_widths()[input],
                    .kind = norm.kind,
                    .bias = norm.bias,
                    .epsilon = norm.epsilon,
                    .weight_offset = norm.weight_offset,
                    .heads = norm.each_head ? projected_heads(input) : 1});
    append(parameters_, input_norms_[input]->parameters());
  }
}

bool MultiHeadAttention::normalizes_whole_rows(bool is_query) const {
  const std::string& name = is_query ? options_.names.query_norm : options_.names.key_norm;
  return !name.empty() && !options_.query_key_norm.each_head;
}

int64_t MultiHeadAttention::projected_heads(Input input) const {
  const bool is_query = input == kQuery;
  const bool all = input != kValue && heads_.count() > 0 && normalizes_whole_rows(is_query);
  if (is_query) return all ? options_.heads : heads_.count();
  return all ? options_.kv_heads : heads_.kv_count();
}

std::array<int64_t, 3> MultiHeadAttention::projected_widths() const {
  return {projected_heads(kQuery) * options_.head_dim, projected_heads(kKey) * options_.head_dim,
          projected_heads(kValue) * options_.value_head_dim};
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
    if (options_.names.interleaved) return take_turns(context, all);
    const auto widths = projected_widths();
    const std::vector<Value> parts = autograd::split(all, {widths.begin(), widths.end()});
    std::copy(parts.begin(), parts.end(), projected.begin());
  } else {
    if (options_.names.interleaved) {
      refuse_attention(options_.place, "heads that lie in turns are of self-attention alone");
    }
    projected[kQuery] = inputs_[kQuery].forward(context, query);
    project_key_value(context, key, value, projected);
  }
  name_projected(context, projected);
  return projected;
}

MultiHeadAttention::Projected MultiHeadAttention::take_turns(Context& context,
                                                             const Value& all) const {
  Projected projected;
  for (const Input input : {kQuery, kKey, kValue}) {
    projected[input] = autograd::take_heads(context, all, 3 * heads_.count(), turns_[input]);
  }
  name_projected(context, projected);
  return projected;
}

void MultiHeadAttention::name_projected(Context& context, const Projected& projected) const {
  constexpr const char* kNames[] = {"projected_query", "projected_key", "projected_value"};
  for (const Input input : {kQuery, kKey, kValue}) {
    if (!projected[input].defined()) continue;
    autograd::observe(context, options_.place, kNames[input], projected[input]);
  }
}

Value MultiHeadAttention::prepared(Context& context, Input input, const Value& projected,
                                   const Tensor& past) const {
  const bool is_query = input == kQuery;
  const std::string& place = options_.place;
  Value x = projected;
  if (const std::optional<Norm>& norm = input_norms_[input]) x = norm->forward(context, x);
  const int64_t projected_count = projected_heads(input);
  if ((is_query ? heads_.count() : heads_.kv_count()) < projected_count) {
    x = autograd::take_heads(context, x, projected_count,
                             is_query ? pruned_.numbers : pruned_.kv_numbers);
  }
  if (input_norms_[input]) {
    observe_heads(context, place, heads_, is_query, is_query ? "query_normed" : "key_normed", x);
  }
  if (!rates_.defined()) return x;
  x = autograd::rotate(context, x,
                       {.heads = is_query ? heads_.count() : heads_.kv_count(),
                        .rates = rates_,
                        .interleaved = options_.rotation.interleaved,
                        .past = past,
                        .magnitude = options_.rotation.magnitude});
  observe_heads(context, place, heads_, is_query, is_query ? "query_rotated" : "key_rotated", x);
  return x;
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

void MultiHeadAttention::make_position_bias() {
  PositionBiasOptions& bias = options_.position_bias;
  if (!bias.slopes.empty()) {
    std::vector<float> slopes;
    for (const int64_t head : heads_.numbers) {
      slopes.push_back(bias.slopes[static_cast<size_t>(head)]);
    }
    slopes_ = Value::leaf(Tensor::of({heads_.count()}, slopes));
  }
  if (!options_.names.position_bias.empty()) {
    bias.table = std::make_shared<Parameter>(options_.names.position_bias,
                                             Shape{bias.buckets, options_.heads});
  }
  if (bias.table) append(parameters_, {bias.table});
}

autograd::PositionBias MultiHeadAttention::position_bias(Context& context) const {
  const PositionBiasOptions& bias = options_.position_bias;
  if (slopes_.defined()) {
    return {.kind = autograd::PositionBiasKind::linear, .coefficients = slopes_};
  }
  if (!bias.table) return {};
  Value table = bias.table->value();
  if (!heads_.is_whole()) {
    table = autograd::take_heads(context, table, table.size(1), pruned_.numbers);
    autograd::observe(context, options_.place, "position_bias_table", table);
  }
  return {.kind = autograd::PositionBiasKind::buckets,
          .coefficients = table,
          .bidirectional = bias.bidirectional,
          .max_distance = bias.max_distance};
}

void MultiHeadAttention::check_call(const AttentionOptions& call) const {
  const bool names_heads = call.heads != 1 || call.kv_heads != 0 || call.pruned != nullptr;
  if (names_heads || call.dropout != 0 || !call.place.empty()) {
    refuse_attention(options_.place,
                     "heads, kv_heads, dropout and place are the module's, not the call's");
  }
}

// The call's options with the module's own.
AttentionOptions MultiHeadAttention::op_options(Context& context,
                                                const AttentionOptions& call) const {
  check_call(call);
  AttentionOptions options = call;
  options.heads = heads_.count();
  options.kv_heads = heads_.kv_count();
  options.pruned = pruned_.original > 0 ? &pruned_ : nullptr;
  options.dropout = options_.weight_dropout;
  options.place = options_.place;
  if (!options.scale) options.scale = options_.scale;
  if (options.softcap == 0) options.softcap = options_.softcap;
  if (options.window == 0) options.window = options_.window;
  if (options.position_bias.kind == autograd::PositionBiasKind::none) {
    options.position_bias = position_bias(context);
  }
  if (!options.gates.defined()) options.gates = gates_;
  return options;
}

Value MultiHeadAttention::forward(Context& context, const Value& query, const Value& key,
                                  const Value& value, const AttentionOptions& call) const {
  if (heads_.count() == 0) return without_heads(context, query, call);
  const Projected projected = project(context, query, key, value);
  const Value queries = prepared(context, kQuery, projected[kQuery], call.past);
  const Value keys = prepared(context, kKey, projected[kKey], {});
  return finish(context, autograd::attention(context, queries, keys, projected[kValue],
                                             op_options(context, call)));
}

// Merge done; the output projection and dropout.
Value MultiHeadAttention::finish(Context& context, const Value& merged) const {
  const std::string& place = options_.place;
  const Value concatenated = autograd::intervene(context, place, "concatenated", merged);
  autograd::observe(context, place, "concatenated", concatenated);
  return project_output(context, concatenated);
}

Value MultiHeadAttention::without_heads(Context& context, const Value& query,
                                        const AttentionOptions& call) const {
  check_call(call);
  if (query.rank() != 3 || query.size(2) != options_.query_width) {
    refuse_attention(options_.place, "the query is " + query.shape().text() + ", rows of " +
                                         std::to_string(options_.query_width) + " are needed");
  }
  return project_output(context, Value::leaf(Tensor::uninitialized(context.arena, DType::f32,
                                                                   query.shape().with(2, 0))));
}

// A product over no heads at all is zero: the bias is what remains.
Value MultiHeadAttention::project_output(Context& context, const Value& merged) const {
  const std::string& place = options_.place;
  Value output = output_ ? output_->forward(context, merged) : merged;
  output = autograd::dropout(context, output, options_.output_dropout,
                             autograd::place_name(place, "output"));
  output = autograd::intervene(context, place, "output", output);
  autograd::observe(context, place, "output", output);
  return output;
}

}  // namespace headlight::nn
