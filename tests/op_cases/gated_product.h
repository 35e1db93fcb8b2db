// Cases of gated_product.
#pragma once

#include "headlight/kernels/reference/gated_product.h"
#include "tests/op_cases/case.h"

namespace headlight::tests {

// Two inputs, or one fused projection of which they are the halves.
inline OpCase draw_gated_product(Draw& draw) {
  const int64_t width = draw.size(0, 70, 3072);
  const tensor::Shape shape = draw_rows(draw, width);
  const kernels::Activation activation = draw_activation(draw, kernels::Activation::silu);
  const bool fused = draw.chance(0.3);
  OpCase drawn;
  if (fused) {
    const tensor::Shape both = shape.with(-1, 2 * width);
    drawn.inputs = {{"gate_and_up", both, draw.normal(both.elements())}};
  } else {
    drawn.inputs = {{"gate", shape, draw.normal(shape.elements())},
                    {"up", shape, draw.normal(shape.elements())}};
  }
  drawn.engine = [=](autograd::Context& context, const std::vector<autograd::Value>& inputs) {
    if (!fused) return gated_product(context, inputs[0], inputs[1], activation);
    const std::vector<autograd::Value> halves = split(inputs[0], {width, width});
    return gated_product(context, halves[0], halves[1], activation);
  };
  // Calls f(row of gate, of up, first number of the row in y) for the inputs or their gradients.
  const auto each_row = [=](auto& inputs, const auto& f) {
    for (int64_t r = 0; r < rows_of(shape); ++r) {
      if (fused) {
        auto* row = inputs[0].data() + r * 2 * width;
        f(row, row + width, r * width);
      } else {
        f(inputs[0].data() + r * width, inputs[1].data() + r * width, r * width);
      }
    }
  };
  drawn.forward = [=](const References& inputs) {
    Numbers y(static_cast<size_t>(shape.elements()));
    each_row(inputs, [&](const double* gate, const double* up, int64_t at) {
      kernels::reference::gated_product_forward(activation, gate, up, y.data() + at, width);
    });
    return y;
  };
  drawn.backward = [=](const References& inputs, const Numbers& dy) {
    References gradients = zeros_like(inputs);
    std::vector<std::pair<double*, double*>> rows;
    each_row(gradients, [&](double* gate, double* up, int64_t) { rows.emplace_back(gate, up); });
    each_row(inputs, [&](const double* gate, const double* up, int64_t at) {
      const auto [d_gate, d_up] = rows[static_cast<size_t>(at / std::max<int64_t>(1, width))];
      kernels::reference::gated_product_backward(activation, gate, up, dy.data() + at, d_gate, d_up,
                                                 width);
    });
    return gradients;
  };
  return drawn;
}

}  // namespace headlight::tests
