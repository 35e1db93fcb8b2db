// Cases of mean_rows.
#pragma once

#include "tests/op_cases/case.h"

namespace headlight::tests {

inline OpCase draw_mean_rows(Draw& draw) {
  const tensor::Shape shape{draw.size(0, 4, 4), draw.size(1, 20, 128), draw.size(0, 70, 768)};
  std::vector<autograd::RowRange> ranges;
  for (int64_t b = 0; b < shape[0]; ++b) {
    const int64_t count = draw.chance(0.4) ? 1 : draw.between(1, shape[1]);
    ranges.push_back({.first = draw.between(0, shape[1] - count), .count = count});
  }
  // f(place in the result, place in the input, share)
  const auto each = [=](const auto& f) {
    for (int64_t b = 0; b < shape[0]; ++b) {
      const auto [first, count] = ranges[static_cast<size_t>(b)];
      for (int64_t i = 0; i < count * shape[2]; ++i) {
        f(static_cast<size_t>(b * shape[2] + i % shape[2]),
          static_cast<size_t>((b * shape[1] + first) * shape[2] + i),
          1 / static_cast<double>(count));
      }
    }
  };
  OpCase drawn;
  drawn.inputs = {{"x", shape, draw.normal(shape.elements())}};
  drawn.engine = [=](autograd::Context& context, const std::vector<autograd::Value>& inputs) {
    return mean_rows(context, inputs[0], ranges);
  };
  drawn.forward = [=](const References& inputs) {
    Numbers y(static_cast<size_t>(shape[0] * shape[2]));
    each([&](size_t to, size_t from, double share) { y[to] += share * inputs[0][from]; });
    return y;
  };
  drawn.backward = [=](const References& inputs, const Numbers& dy) {
    Numbers dx(inputs[0].size());
    each([&](size_t to, size_t from, double share) { dx[from] += share * dy[to]; });
    return References{dx};
  };
  return drawn;
}

}  // namespace headlight::tests
