// rms_norm: rows to a root mean square of 1, then the weight.
#include "headlight/autograd/ops/rms_norm.h"

#include "headlight/autograd/ops/normalization.h"

namespace headlight::autograd {

using tensor::DType;
using tensor::Tensor;

Value rms_norm(Context& context, const Value& x, const Value& weight,
               const RmsNormOptions& options) {
  check_normalization("rms_norm", x, weight, options);
  Tensor y = Tensor::uninitialized(context.arena, DType::f32, x.shape());
  RmsNormalization normalization(context, x.data(), weight, options);
  normalization.run(context, y);
  normalization.observe_at(context, options.place, y);
  Value output = Value::leaf(y);
  if (recording(context, {&x, &weight})) {
    auto node = std::make_unique<NormNode<RmsNormalization>>();
    node->normalization = normalization;
    node->d_x = x.gradient();
    output = context.tape->record(std::move(node), y);
  }
  report_norm(context, normalization,
              {.operation = "rms_norm",
               .place = options.place,
               .x = x,
               .weight = weight,
               .output = output});
  return output;
}

ResidualNorm residual_rms_norm(Context& context, const Value& x, const Value& residual,
                               const Value& weight, const RmsNormOptions& options) {
  check_normalization("residual_rms_norm", x, weight, options);
  check_residual("residual_rms_norm", x, residual, options.heads);
  Tensor sum = Tensor::uninitialized(context.arena, DType::f32, x.shape());
  Tensor y = Tensor::uninitialized(context.arena, DType::f32, x.shape());
  RmsNormalization normalization(context, sum, weight, options);
  kernels::residual_rms_norm_forward(
      context.execution(), x.data().matrix(), residual.data().matrix(), sum.mutable_matrix(),
      normalization.weight_data(), options.epsilon, normalization.outputs(y));
  normalization.observe_at(context, options.place, y);
  ResidualNorm result{Value::leaf(sum), Value::leaf(y)};
  if (recording(context, {&x, &residual, &weight})) {
    auto node = std::make_unique<ResidualNormNode<RmsNormalization>>();
    node->normalization = normalization;
    node->d_x = x.gradient();
    node->d_residual = residual.gradient();
    auto [sum_value, normalized] = context.tape->record(std::move(node), sum, y);
    result = {sum_value, normalized};
  }
  report_norm(context, normalization,
              {.operation = "residual_rms_norm",
               .place = options.place,
               .x = x,
               .residual = residual,
               .weight = weight,
               .sum = result.sum,
               .output = result.normalized});
  return result;
}

}  // namespace headlight::autograd
