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

Value OutputLayer::logits(Context& context, const Value& x) const {
  Value logits = linear_.forward(context, x);
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
  if (linear_.part().bias) {
    return autograd::cross_entropy(context, linear_.forward(context, x), targets, options);
  }
  return autograd::linear_cross_entropy(context, x, linear_.part().weight->value(), targets,
                                        options);
}

}  // namespace headlight::nn
