// The common part of the losses.
#include "headlight/autograd/ops/loss.h"

#include <numeric>
#include <string>

#include "headlight/autograd/checks.h"

namespace headlight::autograd {

using tensor::Tensor;

CountedTargets::CountedTargets(std::string_view operation, const Tensor& given, const Tensor& rows,
                               int64_t classes, const kernels::CrossEntropyOptions& options)
    : targets(checked_integers(operation, "targets", given)) {
  const tensor::Shape expected(rows.shape().sizes().first(static_cast<size_t>(rows.rank() - 1)));
  if (targets.shape() != expected) {
    refuse(operation, "targets",
           "shape is " + targets.shape().text() + ", the rows are " + expected.text());
  }
  if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1)) {
    refuse(operation, "label_smoothing",
           "is " + std::to_string(options.label_smoothing) + ", it must be from 0 to 1");
  }
  const int64_t* values = targets.data<int64_t>();
  for (int64_t i = 0; i < targets.elements(); ++i) {
    if (values[i] == options.ignored) continue;
    ++counted;
    if (values[i] >= 0 && values[i] < classes) continue;
    refuse(operation, "targets",
           "target " + std::to_string(values[i]) + " at position " + std::to_string(i) +
               " is outside the " + std::to_string(classes) + " classes");
  }
}

Tensor CountedTargets::mean(Context& context, const Tensor& losses) const {
  const float* begin = losses.data<float>();
  const double sum = std::accumulate(begin, begin + losses.elements(), 0.0);
  Tensor loss = Tensor::uninitialized(context.arena, tensor::DType::f32, {});
  *loss.mutable_data<float>() =
      counted == 0 ? 0 : static_cast<float>(sum / static_cast<double>(counted));
  return loss;
}

std::vector<Attribute> loss_attributes(const kernels::CrossEntropyOptions& options) {
  return {{"ignored", options.ignored},
          {"label_smoothing", static_cast<double>(options.label_smoothing)}};
}

void LossNode::add(Tensor gradient, const std::shared_ptr<Gradient>& to) {
  ready_.push_back({std::move(gradient), to});
}

// loss = f(x), with df/dx ready:  dx += dloss * df/dx.
void LossNode::backward(Context& context) {
  const float d_loss = *output_gradient().data<float>();
  for (Ready& ready : ready_) {
    if (d_loss != 1) {
      kernels::scale(context.execution(), d_loss, ready.gradient.matrix(),
                     ready.gradient.mutable_matrix());
    }
    ready.to->take(context, std::move(ready.gradient));
  }
}

}  // namespace headlight::autograd
