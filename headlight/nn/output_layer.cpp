// OutputLayer: one linear layer, two uses.
#include "headlight/nn/output_layer.h"

#include <utility>

namespace headlight::nn {
namespace {

Linear::Part whole(ParameterHandle weight, ParameterHandle bias) {
  const int64_t outputs = weight->shape()[0];
  return {.weight = std::move(weight), .bias = std::move(bias), .outputs = outputs};
}

}  // namespace

OutputLayer::OutputLayer(ParameterHandle weight, ParameterHandle bias)
    : linear_(whole(std::move(weight), std::move(bias))) {}

void OutputLayer::set_constant(ParameterHandle constant) {
  constant_ = std::move(constant);
  constant_->set_frozen(true);
}

Parameters OutputLayer::parameters() const {
  Parameters all;
  if (projection_) append(all, projection_->parameters());
  append(all, linear_.parameters());
  if (constant_) all.push_back(constant_);
  return all;
}

Value OutputLayer::read(Context& context, const Value& x) const {
  if (projection_) {
    const Value narrowed = projection_->forward(context, x);
    autograd::observe(context, "prediction", "narrowed", narrowed);
    return narrowed;
  }
  if (input_scale_ == 1) return x;
  const Value scaled = autograd::scale(context, x, input_scale_);
  autograd::observe(context, "prediction", "scaled_output", scaled);
  return scaled;
}

Value OutputLayer::product(Context& context, const Value& x) const {
  const Value logits = linear_.forward(context, read(context, x));
  if (!constant_) return logits;
  autograd::observe(context, "prediction", "plain_logits", logits);
  return autograd::add(context, logits, autograd::reshape(constant_->value(), {linear_.outputs()}));
}

Value OutputLayer::logits(Context& context, const Value& x) const {
  Value logits = product(context, x);
  autograd::observe(context, "", "logits", logits);
  if (autograd::watched(context, "", "probabilities")) {
    autograd::observe(context, "", "probabilities",
                      autograd::softmax(context, Value::leaf(logits.data())));
  }
  return logits;
}

Value OutputLayer::loss(Context& context, const Value& x, const tensor::Tensor& targets,
                        float label_smoothing) const {
  const kernels::CrossEntropyOptions options{.label_smoothing = label_smoothing};
  if (linear_.part().bias || constant_) {
    return autograd::cross_entropy(context, product(context, x), targets, options);
  }
  const Linear::Part& part = linear_.part();
  const Value input = read(context, x);
  if (context.tape == nullptr && context.observer == nullptr && part.weight->is_packed_alone()) {
    return autograd::packed_linear_cross_entropy(
        context, input, part.weight->packed(context.execution(), part.layout), targets, options);
  }
  return autograd::linear_cross_entropy(context, input, part.weight->value(), targets, options);
}

}  // namespace headlight::nn
