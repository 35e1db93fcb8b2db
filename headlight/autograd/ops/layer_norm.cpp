// layer_norm: rows to mean 0 and deviation 1, then weight and bias.
#include "headlight/autograd/ops/layer_norm.h"

#include "headlight/autograd/ops/normalization.h"

namespace headlight::autograd {

using tensor::Tensor;

Value layer_norm(Context& context, const Value& x, const Value& weight, const Value& bias,
                 const LayerNormOptions& options) {
  check_normalization("layer_norm", x, weight, bias, options);
  Tensor y = Tensor::uninitialized(context.arena, tensor::DType::f32, x.shape());
  Normalization normalization(context, x.data(), weight, bias, options);
  normalization.run(context, y);
  normalization.observe_at(context, options.place, y);
  if (!recording(context, {&x, &weight, &bias})) return Value::leaf(y);
  auto node = std::make_unique<NormNode<Normalization>>();
  node->normalization = std::move(normalization);
  node->d_x = x.gradient();
  return context.tape->record(std::move(node), y);
}

}  // namespace headlight::autograd
