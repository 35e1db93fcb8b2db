// Cases of rotate.
#pragma once

#include "headlight/kernels/reference/rotation.h"
#include "tests/op_cases/case.h"

namespace headlight::tests {

inline OpCase draw_rotate(Draw& draw) {
  const int64_t heads = draw.size(1, 5, 12);
  const int64_t pairs = draw.size(0, 40, 32);
  const int64_t width = 2 * pairs + (draw.chance(0.4) ? draw.between(0, 20) : 0);
  const tensor::Shape shape{draw.size(1, 3, 1), draw.size(0, 40, 512), heads * width};
  autograd::RotateOptions options{.heads = heads};
  options.rates = tensor::Tensor::of({pairs}, kernels::rotary_rates({.width = 2 * pairs}));
  options.interleaved = draw.chance();
  if (draw.chance()) options.past = draw.integers({shape[0]}, -3, 5000);
  if (draw.chance(0.3)) options.magnitude = static_cast<float>(draw.uniform(0.5, 2));
  const auto rotated = [=](const Numbers& x, bool backwards) {
    const kernels::Rotation rotation{
        .rates = options.rates.data<float>(),
        .pairs = pairs,
        .heads = heads,
        .sequence_rows = shape[1],
        .past = options.past.defined() ? options.past.data<int64_t>() : nullptr,
        .interleaved = options.interleaved,
        .magnitude = options.magnitude,
        .backwards = backwards};
    Numbers y(x.size());
    kernels::reference::rotate(rotation, x.data(), y.data(), rows_of(shape), width);
    return y;
  };
  OpCase drawn;
  drawn.inputs = {{"x", shape, draw.normal(shape.elements())}};
  drawn.engine = [=](autograd::Context& context, const std::vector<autograd::Value>& inputs) {
    return rotate(context, inputs[0], options);
  };
  drawn.forward = [=](const References& inputs) { return rotated(inputs[0], false); };
  drawn.backward = [=](const References&, const Numbers& dy) {
    return References{rotated(dy, true)};
  };
  return drawn;
}

}  // namespace headlight::tests
