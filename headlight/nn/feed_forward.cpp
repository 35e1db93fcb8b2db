// FeedForward: the layers, and what can be seen between them.
#include "headlight/nn/feed_forward.h"

namespace headlight::nn {
namespace {

// One layer that holds the gate and then the first layer.
Linear gate_and_first(const FeedForwardOptions& options) {
  return Linear(options.first, {.inputs = options.width,
                                .outputs = 2 * options.hidden,
                                .bias = options.bias,
                                .layout = options.layout});
}

// `hidden` of its outputs from `begin` on.
Linear half(const Linear& both, int64_t begin, int64_t hidden) {
  Linear::Part part = both.part();
  part.weight_begin = begin;
  part.bias_begin = begin;
  part.outputs = hidden;
  return Linear(part);
}

}  // namespace

FeedForward::FeedForward(const FeedForwardOptions& options)
    : options_(options),
      first_(options.first,
             {.inputs = options.width,
              .outputs = options.hidden,
              .bias = options.bias,
              .layout = options.layout,
              .activation = options.gate.empty() ? options.activation : Activation::none}),
      second_(options.second, {.inputs = options.hidden,
                               .outputs = options.width,
                               .bias = options.bias,
                               .layout = options.layout}) {
  if (options.gate.empty()) return;
  if (options.gate == options.first) {
    gate_first_.emplace(gate_and_first(options));
    gate_.emplace(half(*gate_first_, 0, options.hidden));
    first_ = half(*gate_first_, options.hidden, options.hidden);
  } else {
    gate_.emplace(options.gate, LinearOptions{.inputs = options.width,
                                              .outputs = options.hidden,
                                              .bias = options.bias,
                                              .layout = options.layout});
  }
}

Parameters FeedForward::parameters() const {
  Parameters all;
  if (gate_) append(all, gate_->parameters());
  append(all, first_.parameters());
  append(all, second_.parameters());
  return all;
}

Value FeedForward::forward(Context& context, const Value& x) const {
  const std::string& place = options_.place;
  const Value hidden = gate_ ? gated_hidden(context, x) : plain_hidden(context, x);
  Value output = autograd::dropout(context, second_.forward(context, hidden),
                                   options_.output_dropout, autograd::place_name(place, "output"));
  output = autograd::intervene(context, place, "output", output);
  autograd::observe(context, place, "output", output);
  return output;
}

Value FeedForward::plain_hidden(Context& context, const Value& x) const {
  const std::string& place = options_.place;
  Value hidden = first_.forward(context, x, autograd::place_name(place, "hidden"));
  hidden = autograd::intervene(context, place, "activated", hidden);
  autograd::observe(context, place, "activated", hidden);
  return autograd::dropout(context, hidden, options_.hidden_dropout,
                           autograd::place_name(place, "activated"));
}

Value FeedForward::gated_hidden(Context& context, const Value& x) const {
  const std::string& place = options_.place;
  Value gate, up;
  if (gate_first_) {
    const std::vector<Value> halves =
        autograd::split(gate_first_->forward(context, x), {options_.hidden, options_.hidden});
    gate = halves[0];
    up = halves[1];
  } else {
    gate = gate_->forward(context, x);
    up = first_.forward(context, x);
  }
  autograd::observe(context, place, "gate", gate);
  autograd::observe(context, place, "up", up);
  Value gated = autograd::gated_product(context, gate, up, options_.activation, place);
  gated = autograd::intervene(context, place, "gated", gated);
  autograd::observe(context, place, "gated", gated);
  return autograd::dropout(context, gated, options_.hidden_dropout,
                           autograd::place_name(place, "gated"));
}

}  // namespace headlight::nn
