// layer_norm: rows to mean 0 and deviation 1, then weight and bias.
#include "headlight/autograd/ops/layer_norm.h"

#include "headlight/autograd/ops/normalization.h"
#include "headlight/autograd/tape.h"

namespace headlight::autograd {
namespace {

using tensor::Tensor;

struct LayerNormNode : Node {
  Normalization normalization;
  std::shared_ptr<Gradient> d_x;

  // n = (x - mean) / deviation, y = n * weight + bias, g = dy * weight:
  // dx += (g - mean(g) - n * mean(g * n)) / deviation;  dweight += sum of dy * n;
  // dbias += sum of dy.
  void backward(Context& context) override {
    normalization.add_gradients(context, output_gradient(), d_x ? d_x->sum(context) : Tensor());
  }
};

}  // namespace

Value layer_norm(Context& context, const Value& x, const Value& weight, const Value& bias,
                 const LayerNormOptions& options) {
  check_normalization("layer_norm", x, weight, bias, options);
  Tensor y = Tensor::uninitialized(context.arena, tensor::DType::f32, x.shape());
  Normalization normalization(context, x.data(), weight, bias);
  kernels::layer_norm_forward(context.execution(), x.data().matrix(), weight.data().data<float>(),
                              normalization.bias_data(), options.epsilon, normalization.outputs(y));
  normalization.observe_at(context, options, y);
  if (!recording(context, {&x, &weight, &bias})) return Value::leaf(y);
  auto node = std::make_unique<LayerNormNode>();
  node->normalization = std::move(normalization);
  node->d_x = x.gradient();
  return context.tape->record(std::move(node), y);
}

}  // namespace headlight::autograd
