// Norm: parameters for either operation.
#include "headlight/nn/norm.h"

#include <algorithm>

namespace headlight::nn {

using base::Error;
using base::ErrorKind;
using tensor::DType;
using tensor::Tensor;

Norm::Norm(const std::string& name, const NormOptions& options) : options_(options) {
  const bool is_layer_norm = options.kind == NormKind::layer_norm;
  if (is_layer_norm && options.weight_offset != 0) {
    throw Error(ErrorKind::bad_input, "norm", name,
                "weight_offset is " + std::to_string(options.weight_offset) +
                    ", a layer norm multiplies by the weight alone");
  }
  Tensor numbers = Tensor::uninitialized(DType::f32, {options.width});
  std::fill_n(numbers.mutable_data<float>(), options.width, 1 - options.weight_offset);
  weight_ = std::make_shared<Parameter>(name + ".weight", numbers);
  if (is_layer_norm && options.bias) {
    bias_ = std::make_shared<Parameter>(name + ".bias", Tensor::zeros(DType::f32, {options.width}));
  }
}

Parameters Norm::parameters() const {
  return bias_ ? Parameters{weight_, bias_} : Parameters{weight_};
}

autograd::LayerNormOptions Norm::layer_norm_options() const {
  return {.epsilon = options_.epsilon, .place = options_.place, .heads = options_.heads};
}

autograd::RmsNormOptions Norm::rms_norm_options() const {
  return {.epsilon = options_.epsilon,
          .weight_offset = options_.weight_offset,
          .place = options_.place,
          .heads = options_.heads};
}

Value Norm::forward(Context& context, const Value& x) const {
  const Value& weight = weight_->value();
  return options_.kind == NormKind::layer_norm
             ? autograd::layer_norm(context, x, weight, bias(), layer_norm_options())
             : autograd::rms_norm(context, x, weight, rms_norm_options());
}

autograd::ResidualNorm Norm::forward(Context& context, const Value& x,
                                     const Value& residual) const {
  const Value& weight = weight_->value();
  return options_.kind == NormKind::layer_norm
             ? autograd::residual_norm(context, x, residual, weight, bias(), layer_norm_options())
             : autograd::residual_rms_norm(context, x, residual, weight, rms_norm_options());
}

}  // namespace headlight::nn
