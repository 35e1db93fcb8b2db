// Cases of cross_entropy, and its reference, the mean over targets that count.
#pragma once

#include <numeric>

#include "headlight/kernels/reference/cross_entropy.h"
#include "tests/op_cases/case.h"

namespace headlight::tests {

struct LossReference {
  tensor::Tensor targets;
  kernels::CrossEntropyOptions options;
  int64_t classes = 0;

  double counted() const {
    const int64_t* begin = targets.data<int64_t>();
    const int64_t ignored = std::count(begin, begin + targets.elements(), options.ignored);
    return static_cast<double>(targets.elements() - ignored);
  }
  Numbers forward(const Numbers& logits) const {
    Numbers losses(static_cast<size_t>(targets.elements()));
    kernels::reference::cross_entropy_forward(logits.data(), targets.data<int64_t>(), options,
                                              losses.data(), targets.elements(), classes);
    const double sum = std::accumulate(losses.begin(), losses.end(), 0.0);
    return {counted() == 0 ? 0 : sum / counted()};
  }
  Numbers backward(const Numbers& logits, const Numbers& d_loss) const {
    Numbers d_logits(logits.size());
    const double factor = counted() == 0 ? 0 : d_loss[0] / counted();
    kernels::reference::cross_entropy_backward(logits.data(), targets.data<int64_t>(), options,
                                               factor, d_logits.data(), targets.elements(),
                                               classes);
    return d_logits;
  }
};

// For rows of this shape.
inline LossReference draw_loss(Draw& draw, const tensor::Shape& shape, int64_t classes) {
  LossReference loss;
  loss.classes = classes;
  loss.options.ignored = draw.chance() ? -1 : draw.between(-100, classes - 1);
  if (draw.chance()) loss.options.label_smoothing = static_cast<float>(draw.uniform(0, 0.5));
  const tensor::Shape target_shape(shape.sizes().first(static_cast<size_t>(shape.rank() - 1)));
  loss.targets = draw.integers(target_shape, 0, classes - 1);
  for (int64_t i = 0; i < loss.targets.elements(); ++i) {
    if (draw.chance(0.2)) loss.targets.mutable_data<int64_t>()[i] = loss.options.ignored;
  }
  return loss;
}

inline OpCase draw_cross_entropy(Draw& draw) {
  const int64_t classes = draw.size(1, 70, 4000);
  const tensor::Shape shape = draw_rows(draw, classes);
  const LossReference loss = draw_loss(draw, shape, classes);
  OpCase drawn;
  drawn.inputs = {{"logits", shape, draw.normal(shape.elements(), 2)}};
  drawn.engine = [=](autograd::Context& context, const std::vector<autograd::Value>& inputs) {
    return cross_entropy(context, inputs[0], loss.targets, loss.options);
  };
  drawn.forward = [=](const References& inputs) { return loss.forward(inputs[0]); };
  drawn.backward = [=](const References& inputs, const Numbers& d_loss) {
    return References{loss.backward(inputs[0], d_loss)};
  };
  return drawn;
}

}  // namespace headlight::tests
