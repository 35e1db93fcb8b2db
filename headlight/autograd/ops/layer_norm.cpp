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
  Value output = Value::leaf(y);
  if (recording(context, {&x, &weight, &bias})) {
    auto node = std::make_unique<NormNode<Normalization>>();
    node->normalization = normalization;
    node->d_x = x.gradient();
    output = context.tape->record(std::move(node), y);
  }
  report_norm(context, normalization,
              {.operation = "layer_norm",
               .place = options.place,
               .x = x,
               .weight = weight,
               .bias = bias,
               .output = output});
  return output;
}

}  // namespace headlight::autograd
