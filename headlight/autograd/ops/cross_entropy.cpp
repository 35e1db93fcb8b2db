// cross_entropy: the gradient of the logits is computed with the loss and kept in their stead.
#include "headlight/autograd/ops/cross_entropy.h"

#include "headlight/autograd/checks.h"
#include "headlight/autograd/ops/loss.h"
#include "headlight/autograd/tape.h"

namespace headlight::autograd {

using tensor::DType;
using tensor::Tensor;

// p = softmax(logits), q = the smoothed target distribution, over the rows that count:
// dlogits += dloss * (p - q) / counted.
Value cross_entropy(Context& context, const Value& logits, const Tensor& targets,
                    const kernels::CrossEntropyOptions& options) {
  check_rows("cross_entropy", "logits", logits.data());
  const CountedTargets counted("cross_entropy", targets, logits.data(), logits.size(-1), options);
  const bool record = recording(context, {&logits});
  Tensor losses = Tensor::uninitialized(context.arena, DType::f32, {counted.targets.elements()});
  Tensor gradient;
  if (record) gradient = Tensor::uninitialized(context.arena, DType::f32, logits.shape());
  kernels::cross_entropy(context.execution(), logits.data().matrix(),
                         counted.targets.data<int64_t>(), options, losses.mutable_data<float>(),
                         counted.factor(),
                         record ? gradient.mutable_matrix() : tensor::MatrixView());
  Tensor loss = counted.mean(context, losses);
  Value result = Value::leaf(loss);
  if (record) {
    auto node = std::make_unique<LossNode>();
    node->add(gradient, logits.gradient());
    result = context.tape->record(std::move(node), loss);
  }
  report(context, [&] {
    return Report{.operation = "cross_entropy",
                  .inputs = {{"logits", logits}, {"targets", Value::leaf(targets)}},
                  .outputs = {{"output", result}},
                  .attributes = loss_attributes(options)};
  });
  return result;
}

}  // namespace headlight::autograd
