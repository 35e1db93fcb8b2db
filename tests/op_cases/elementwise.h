// Cases of add, scale, dropout and embedding.
#pragma once

#include "headlight/kernels/reference/dropout.h"
#include "headlight/kernels/reference/embedding.h"
#include "tests/op_cases/case.h"

namespace headlight::tests {

// The second is as the first or has fewer axes at its beginning.
inline OpCase draw_add(Draw& draw) {
  const tensor::Shape first = draw_rows(draw, draw.size(0, 70, 768));
  const auto dropped = static_cast<size_t>(draw.chance() ? draw.between(0, first.rank() - 1) : 0);
  const tensor::Shape second(first.sizes().subspan(dropped));
  const double alpha = draw.chance() ? draw.uniform(-2, 2) : 1;
  OpCase drawn;
  drawn.inputs = {{"a", first, draw.normal(first.elements())},
                  {"b", second, draw.normal(second.elements())}};
  drawn.engine = [=](autograd::Context& context, const std::vector<autograd::Value>& inputs) {
    return add(context, inputs[0], inputs[1], static_cast<float>(alpha));
  };
  drawn.forward = [=](const References& inputs) {
    Numbers y = inputs[0];
    for (size_t i = 0; i < y.size(); ++i) y[i] = alpha * y[i] + inputs[1][i % inputs[1].size()];
    return y;
  };
  drawn.backward = [=](const References& inputs, const Numbers& dy) {
    References gradients = zeros_like(inputs);
    for (size_t i = 0; i < dy.size(); ++i) {
      gradients[0][i] = alpha * dy[i];
      gradients[1][i % inputs[1].size()] += dy[i];
    }
    return gradients;
  };
  return drawn;
}

// One input, each number multiplied by a factor of its own.
inline OpCase multiplied(const tensor::Shape& shape, Numbers x, const Numbers& factors) {
  OpCase drawn;
  drawn.inputs = {{"x", shape, std::move(x)}};
  const auto multiply = [factors](const Numbers& numbers) {
    Numbers y(numbers.size());
    kernels::reference::dropout(numbers.data(), factors.data(), y.data(),
                                static_cast<int64_t>(y.size()));
    return y;
  };
  drawn.forward = [=](const References& inputs) { return multiply(inputs[0]); };
  drawn.backward = [=](const References&, const Numbers& dy) { return References{multiply(dy)}; };
  return drawn;
}

inline OpCase draw_scale(Draw& draw) {
  const tensor::Shape shape = draw_rows(draw, draw.size(0, 70, 768));
  const double alpha = draw.uniform(-2, 2);
  OpCase drawn = multiplied(shape, draw.normal(shape.elements()),
                            Numbers(static_cast<size_t>(shape.elements()), alpha));
  drawn.engine = [=](autograd::Context& context, const std::vector<autograd::Value>& inputs) {
    return scale(context, inputs[0], static_cast<float>(alpha));
  };
  return drawn;
}

inline OpCase draw_dropout(Draw& draw) {
  constexpr const char* kPlace = "decoder.0.ffn";
  const tensor::Shape shape = draw_rows(draw, draw.size(0, 70, 768));
  const auto probability = static_cast<float>(draw.chance(0.1) ? 0 : draw.uniform(0.05, 0.95));
  const autograd::RandomState random{draw.key(), draw.key()};
  const kernels::DropoutDraw dropped{
      .probability = probability,
      .key = base::mix(base::mix(random.seed, random.step), base::name_key(kPlace))};
  Numbers factors;
  for (int64_t i = 0; i < shape.elements(); ++i) {
    factors.push_back(kernels::reference::dropout_factor(dropped, i / shape[-1], i % shape[-1]));
  }
  OpCase drawn = multiplied(shape, draw.normal(shape.elements()), factors);
  drawn.random = random;
  drawn.engine = [=](autograd::Context& context, const std::vector<autograd::Value>& inputs) {
    return dropout(context, inputs[0], probability, kPlace);
  };
  return drawn;
}

inline OpCase draw_embedding(Draw& draw) {
  const int64_t width = draw.size(0, 70, 768);
  const int64_t table_rows = draw.size(1, 70, 4000);
  const tensor::Shape shape = draw_rows(draw, width);
  const tensor::Shape id_shape(shape.sizes().first(static_cast<size_t>(shape.rank() - 1)));
  const tensor::Tensor ids = draw.integers(id_shape, 0, table_rows - 1);
  OpCase drawn;
  drawn.inputs = {{"table", {table_rows, width}, draw.normal(table_rows * width)}};
  drawn.engine = [=](autograd::Context& context, const std::vector<autograd::Value>& inputs) {
    return embedding(context, ids, inputs[0]);
  };
  drawn.forward = [=](const References& inputs) {
    Numbers y(static_cast<size_t>(shape.elements()));
    kernels::reference::embedding_forward(inputs[0].data(), ids.data<int64_t>(), y.data(),
                                          ids.elements(), width);
    return y;
  };
  drawn.backward = [=](const References& inputs, const Numbers& dy) {
    References gradients = zeros_like(inputs);
    kernels::reference::embedding_backward(ids.data<int64_t>(), dy.data(), gradients[0].data(),
                                           ids.elements(), width);
    return gradients;
  };
  return drawn;
}

}  // namespace headlight::tests
