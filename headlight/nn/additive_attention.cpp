// AdditiveAttention: two projections and the operation.
#include "headlight/nn/additive_attention.h"

#include <utility>

namespace headlight::nn {
namespace {

using base::Error;
using base::ErrorKind;
using tensor::Shape;

const Shape& matrix(const StoredState& state, const std::string& name) {
  const auto found = state.find(name);
  if (found == state.end() || found->second.shape.rank() != 2) {
    throw Error(ErrorKind::bad_input, "additive attention", name,
                found == state.end()
                    ? "is missing"
                    : "shape is " + found->second.shape.text() + ", (outputs, inputs) is needed");
  }
  return found->second.shape;
}

}  // namespace

AdditiveAttention::AdditiveAttention(const AdditiveAttentionOptions& options)
    : options_(options),
      query_(name_prefix(options.prefix) + "W_q",
             {.inputs = options.query_width, .outputs = options.hidden, .bias = false}),
      key_(name_prefix(options.prefix) + "W_k",
           {.inputs = options.key_width, .outputs = options.hidden, .bias = false}),
      score_weights_(std::make_shared<Parameter>(name_prefix(options.prefix) + "w_v.weight",
                                                 Shape{1, options.hidden})) {}

AdditiveAttention AdditiveAttention::load(const StoredState& state,
                                          AdditiveAttentionOptions options) {
  const Shape& query = matrix(state, name_prefix(options.prefix) + "W_q.weight");
  options.query_width = query[1];
  options.key_width = matrix(state, name_prefix(options.prefix) + "W_k.weight")[1];
  options.hidden = query[0];
  AdditiveAttention attention(options);
  load_state(attention.parameters(), state, beside_module(options.prefix), options.where);
  return attention;
}

AdditiveAttention AdditiveAttention::load(const StateDict& state,
                                          AdditiveAttentionOptions options) {
  return load(stored(state), std::move(options));
}

Parameters AdditiveAttention::parameters() const {
  return {query_.part().weight, key_.part().weight, score_weights_};
}

Value AdditiveAttention::forward(Context& context, const Value& query, const Value& key,
                                 const Value& value, const autograd::AttentionOptions& call) const {
  autograd::AttentionOptions options = call;
  options.dropout = options_.dropout;
  options.place = options_.place;
  Value output = autograd::additive_attention(context, query_.forward(context, query),
                                              key_.forward(context, key), value,
                                              score_weights_->value(), options);
  output = autograd::intervene(context, options_.place, "output", output);
  autograd::observe(context, options_.place, "output", output);
  return output;
}

}  // namespace headlight::nn
