// Norm: parameters for the operation.
#include "headlight/nn/norm.h"

#include <algorithm>

namespace headlight::nn {

using tensor::DType;
using tensor::Tensor;

Norm::Norm(const std::string& name, const NormOptions& options) : options_(options) {
  const Tensor ones = Tensor::uninitialized(DType::f32, {options.width});
  std::fill_n(ones.data<float>(), options.width, 1.0F);
  weight_ = std::make_shared<Parameter>(name + ".weight", ones);
  if (options.bias) {
    bias_ = std::make_shared<Parameter>(name + ".bias", Tensor::zeros(DType::f32, {options.width}));
  }
}

Parameters Norm::parameters() const {
  return bias_ ? Parameters{weight_, bias_} : Parameters{weight_};
}

Value Norm::forward(Context& context, const Value& x) const {
  Value y = autograd::layer_norm(context, x, weight_->value(), bias(), op_options());
  autograd::hold(context, options_.place, "output", y);
  return y;
}

autograd::ResidualNorm Norm::forward(Context& context, const Value& x,
                                     const Value& residual) const {
  autograd::ResidualNorm y =
      autograd::residual_norm(context, x, residual, weight_->value(), bias(), op_options());
  autograd::hold(context, options_.place, "output", y.normalized);
  return y;
}

}  // namespace headlight::nn
