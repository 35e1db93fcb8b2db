// residual_norm: both results are used, the sum by the next residual, the norm by the next layer.
#include "headlight/autograd/ops/residual_norm.h"

#include "headlight/autograd/ops/normalization.h"

namespace headlight::autograd {

using tensor::DType;
using tensor::Tensor;

ResidualNorm residual_norm(Context& context, const Value& x, const Value& residual,
                           const Value& weight, const Value& bias,
                           const LayerNormOptions& options) {
  check_normalization("residual_norm", x, weight, bias, options);
  check_residual("residual_norm", x, residual, options.heads);
  Tensor sum = Tensor::uninitialized(context.arena, DType::f32, x.shape());
  Tensor y = Tensor::uninitialized(context.arena, DType::f32, x.shape());
  Normalization normalization(context, sum, weight, bias, options);
  kernels::residual_norm_forward(context.execution(), x.data().matrix(), residual.data().matrix(),
                                 sum.mutable_matrix(), weight.data().data<float>(),
                                 normalization.bias_data(), options.epsilon,
                                 normalization.outputs(y));
  normalization.observe_at(context, options.place, y);
  ResidualNorm result{Value::leaf(sum), Value::leaf(y)};
  if (recording(context, {&x, &residual, &weight, &bias})) {
    auto node = std::make_unique<ResidualNormNode<Normalization>>();
    node->normalization = normalization;
    node->d_x = x.gradient();
    node->d_residual = residual.gradient();
    auto [sum_value, normalized] = context.tape->record(std::move(node), sum, y);
    result = {sum_value, normalized};
  }
  report_norm(context, normalization,
              {.operation = "residual_norm",
               .place = options.place,
               .x = x,
               .residual = residual,
               .weight = weight,
               .bias = bias,
               .sum = result.sum,
               .output = result.normalized});
  return result;
}

}  // namespace headlight::autograd
