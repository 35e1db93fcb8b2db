// Cases of take_heads.
#pragma once

#include "tests/op_cases/case.h"

namespace headlight::tests {

inline OpCase draw_take_heads(Draw& draw) {
  const int64_t heads = draw.size(1, 6, 12);
  const int64_t width = draw.size(1, 20, 64);
  std::vector<int64_t> taken;
  for (int64_t head = 0; head < heads; ++head) {
    if (head == 0 || draw.chance(0.6)) taken.push_back(head);
  }
  const tensor::Shape shape{draw.size(1, 3, 1), draw.size(0, 40, 512), heads * width};
  const auto count = static_cast<int64_t>(taken.size());
  const int64_t rows = shape[0] * shape[1];
  // f(place in the result, place in the input)
  const auto each = [=](const auto& f) {
    for (int64_t i = 0; i < rows * count * width; ++i) {
      const int64_t head = taken[static_cast<size_t>(i / width % count)];
      f(static_cast<size_t>(i),
        static_cast<size_t>((i / (count * width) * heads + head) * width + i % width));
    }
  };
  OpCase drawn;
  drawn.inputs = {{"x", shape, draw.normal(shape.elements())}};
  drawn.engine = [=](autograd::Context& context, const std::vector<autograd::Value>& inputs) {
    return take_heads(context, inputs[0], heads, tensor::Tensor::of({count}, taken));
  };
  drawn.forward = [=](const References& inputs) {
    Numbers y(static_cast<size_t>(rows * count * width));
    each([&](size_t to, size_t from) { y[to] = inputs[0][from]; });
    return y;
  };
  drawn.backward = [=](const References& inputs, const Numbers& dy) {
    Numbers dx(inputs[0].size());
    each([&](size_t to, size_t from) { dx[from] += dy[to]; });
    return References{dx};
  };
  return drawn;
}

}  // namespace headlight::tests
