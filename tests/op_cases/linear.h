// Cases of linear and linear_cross_entropy.
#pragma once

#include "headlight/kernels/reference/linear.h"
#include "tests/op_cases/losses.h"

namespace headlight::tests {

inline Numbers transposed(const Numbers& x, int64_t rows, int64_t cols) {
  Numbers y;
  y.reserve(x.size());
  for (int64_t c = 0; c < cols; ++c) {
    for (int64_t r = 0; r < rows; ++r) y.push_back(x[static_cast<size_t>(r * cols + c)]);
  }
  return y;
}

// A linear layer of the reference; its weight is (inputs x outputs).
struct LinearReference {
  kernels::reference::LinearShape shape;
  kernels::Activation activation = kernels::Activation::none;
  autograd::WeightLayout layout = autograd::WeightLayout::out_in;

  Numbers operand(const Numbers& weight) const {
    const bool stored = layout == autograd::WeightLayout::in_out;
    return stored ? weight : transposed(weight, shape.outputs, shape.inputs);
  }
  Numbers forward(const References& inputs, Numbers& before) const {
    Numbers y(static_cast<size_t>(shape.rows * shape.outputs));
    before.resize(y.size());
    kernels::reference::linear_forward(
        shape, activation, inputs[0].data(), operand(inputs[1]).data(),
        inputs.size() > 2 ? inputs[2].data() : nullptr, before.data(), y.data());
    return y;
  }
  References backward(const References& inputs, const Numbers& dy) const {
    Numbers before;
    forward(inputs, before);
    References gradients = zeros_like(inputs);
    kernels::reference::linear_backward(shape, activation, inputs[0].data(),
                                        operand(inputs[1]).data(), before.data(), dy.data(),
                                        gradients[0].data(), gradients[1].data(),
                                        inputs.size() > 2 ? gradients[2].data() : nullptr);
    if (layout == autograd::WeightLayout::out_in) {
      gradients[1] = transposed(gradients[1], shape.inputs, shape.outputs);
    }
    return gradients;
  }
};

inline OpCase draw_linear(Draw& draw) {
  LinearReference layer;
  layer.shape.inputs = draw.size(0, 70, 768);
  layer.shape.outputs = draw.size(1, 70, 768);
  const tensor::Shape shape = draw_rows(draw, layer.shape.inputs);
  layer.shape.rows = rows_of(shape);
  layer.activation = draw_activation(draw, kernels::Activation::gelu);
  if (draw.chance()) layer.layout = autograd::WeightLayout::in_out;
  const bool in_out = layer.layout == autograd::WeightLayout::in_out;
  const tensor::Shape weight_shape = in_out
                                         ? tensor::Shape{layer.shape.inputs, layer.shape.outputs}
                                         : tensor::Shape{layer.shape.outputs, layer.shape.inputs};
  const bool packed = draw.chance();

  OpCase drawn;
  drawn.inputs = {{"x", shape, draw.normal(shape.elements())},
                  {"weight", weight_shape, draw.normal(weight_shape.elements(), 0.3)}};
  if (!draw.chance(0.3)) {
    drawn.inputs.push_back({"bias", {layer.shape.outputs}, draw.normal(layer.shape.outputs)});
  }
  drawn.engine = [=](autograd::Context& context, const std::vector<autograd::Value>& inputs) {
    autograd::LinearOptions options{.layout = layer.layout, .activation = layer.activation};
    if (packed) {
      options.packed = {context.execution(), forward_operand(inputs[1].data(), layer.layout)};
    }
    return linear(context, inputs[0], inputs[1], inputs.size() > 2 ? inputs[2] : autograd::Value(),
                  options);
  };
  drawn.forward = [=](const References& inputs) {
    Numbers before;
    return layer.forward(inputs, before);
  };
  drawn.backward = [=](const References& inputs, const Numbers& dy) {
    return layer.backward(inputs, dy);
  };
  return drawn;
}

inline OpCase draw_linear_cross_entropy(Draw& draw) {
  LinearReference layer;
  layer.shape.inputs = draw.size(1, 20, 256);
  layer.shape.outputs = draw.size(2, 40, 4000);
  const tensor::Shape shape = draw_rows(draw, layer.shape.inputs);
  layer.shape.rows = rows_of(shape);
  const LossReference loss = draw_loss(draw, shape, layer.shape.outputs);

  OpCase drawn;
  const tensor::Shape weight_shape = {layer.shape.outputs, layer.shape.inputs};
  drawn.inputs = {{"x", shape, draw.normal(shape.elements())},
                  {"weight", weight_shape, draw.normal(weight_shape.elements(), 0.5)}};
  drawn.engine = [=](autograd::Context& context, const std::vector<autograd::Value>& inputs) {
    return linear_cross_entropy(context, inputs[0], inputs[1], loss.targets, loss.options);
  };
  drawn.forward = [=](const References& inputs) {
    Numbers before;
    return loss.forward(layer.forward(inputs, before));
  };
  drawn.backward = [=](const References& inputs, const Numbers& d_loss) {
    Numbers before;
    return layer.backward(inputs, loss.backward(layer.forward(inputs, before), d_loss));
  };
  return drawn;
}

}  // namespace headlight::tests
