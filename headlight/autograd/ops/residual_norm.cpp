// residual_norm: both results are used, the sum by the next residual, the norm by the next layer.
#include "headlight/autograd/ops/residual_norm.h"

#include "headlight/autograd/checks.h"
#include "headlight/autograd/ops/normalization.h"
#include "headlight/autograd/tape.h"

namespace headlight::autograd {
namespace {

using tensor::DType;
using tensor::Tensor;

struct ResidualNormNode : Node {
  Normalization normalization;
  std::shared_ptr<Gradient> d_x, d_residual;

  // s = x + residual, n = layer_norm(s):  ds' = ds + layer_norm's gradient;  dx += ds';
  // dresidual += ds'.
  void backward(Context& context) override {
    Tensor d_sum;
    if (d_x || d_residual) d_sum = sum_gradient(context);
    if (const Tensor d_normalized = output_gradient(1); d_normalized.defined()) {
      normalization.add_gradients(context, d_normalized, d_sum);
    }
    if (d_x && d_residual) d_residual->add(context, d_sum);
    if (d_sum.defined()) (d_x ? d_x : d_residual)->take(context, d_sum);
  }

  // The gradient that arrived at the sum, in memory that is ours to add to.
  Tensor sum_gradient(Context& context) const {
    const Tensor arrived = output_gradient(0);
    if (!arrived.defined()) {
      return zeros(context, normalization.rows.shape());
    }
    Tensor d_sum = workspace(context, 0);
    if (d_sum.data<float>() != arrived.data<float>()) {
      kernels::scale(context.execution(), 1, arrived.matrix(), d_sum.matrix());
    }
    return d_sum;
  }
};

}  // namespace

ResidualNorm residual_norm(Context& context, const Value& x, const Value& residual,
                           const Value& weight, const Value& bias,
                           const LayerNormOptions& options) {
  check_normalization("residual_norm", x, weight, bias, options);
  check_rows("residual_norm", "residual", residual.data());
  check_same_shape("residual_norm", "residual", residual.data(), "the input", x.data());
  Tensor sum = Tensor::uninitialized(context.arena, DType::f32, x.shape());
  Tensor y = Tensor::uninitialized(context.arena, DType::f32, x.shape());
  Normalization normalization(context, sum, weight, bias);
  kernels::residual_norm_forward(context.execution(), x.data().matrix(), residual.data().matrix(),
                                 sum.matrix(), weight.data().data<float>(),
                                 normalization.bias_data(), options.epsilon,
                                 normalization.outputs(y));
  normalization.observe_at(context, options, y);
  if (!recording(context, {&x, &residual, &weight, &bias})) {
    return {Value::leaf(sum), Value::leaf(y)};
  }
  auto node = std::make_unique<ResidualNormNode>();
  node->normalization = std::move(normalization);
  node->d_x = x.gradient();
  node->d_residual = residual.gradient();
  auto [sum_value, normalized] = context.tape->record(std::move(node), sum, y);
  return {sum_value, normalized};
}

}  // namespace headlight::autograd
