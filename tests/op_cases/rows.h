// Cases of operations on rows: layer_norm, residual_norm, softmax and log_softmax.
#pragma once

#include "headlight/kernels/reference/layer_norm.h"
#include "headlight/kernels/reference/softmax.h"
#include "tests/op_cases/case.h"

namespace headlight::tests {

// layer_norm of the reference: inputs are rows, weight and, when there are three, bias.
struct NormReference {
  tensor::Shape shape;
  float epsilon = 1e-5F;
  int64_t heads = 1;

  int64_t width() const { return shape[-1] / heads; }
  int64_t rows() const { return rows_of(shape) * heads; }

  struct Rows {
    Numbers y, mean, inverse_deviation;
  };
  Rows run(const References& inputs) const {
    Rows result{Numbers(inputs[0].size()), Numbers(static_cast<size_t>(rows())),
                Numbers(static_cast<size_t>(rows()))};
    kernels::reference::layer_norm_forward(
        inputs[0].data(), inputs[1].data(), inputs.size() > 2 ? inputs[2].data() : nullptr,
        double{epsilon}, rows(), width(),
        {result.y.data(), result.mean.data(), result.inverse_deviation.data()});
    return result;
  }
  References backward(const References& inputs, const Numbers& dy) const {
    Rows result = run(inputs);
    References gradients = zeros_like(inputs);
    Numbers unused_bias(inputs[1].size());
    kernels::reference::layer_norm_backward(
        inputs[0].data(), inputs[1].data(),
        {result.y.data(), result.mean.data(), result.inverse_deviation.data()}, dy.data(), rows(),
        width(),
        {gradients[0].data(), gradients[1].data(),
         inputs.size() > 2 ? gradients[2].data() : unused_bias.data()});
    return gradients;
  }
};

inline NormReference draw_norm(Draw& draw) {
  NormReference norm{draw_rows(draw, draw.size(3, 70, 768))};
  if (draw.chance()) norm.epsilon = static_cast<float>(draw.uniform(1e-6, 0.1));
  return norm;
}

inline std::vector<OpInput> draw_norm_parameters(Draw& draw, int64_t width) {
  std::vector<OpInput> inputs = {{"weight", {width}, draw.normal(width)}};
  if (!draw.chance(0.3)) inputs.push_back({"bias", {width}, draw.normal(width)});
  return inputs;
}

// Now and then by heads.
inline OpCase draw_layer_norm(Draw& draw) {
  NormReference norm = draw_norm(draw);
  if (draw.chance(0.3)) {
    norm.heads = draw.between(1, 4);
    norm.shape = norm.shape.with(-1, norm.shape[-1] * norm.heads);
  }
  OpCase drawn;
  drawn.inputs = draw_norm_parameters(draw, norm.width());
  drawn.inputs.insert(drawn.inputs.begin(), {"x", norm.shape, draw.normal(norm.shape.elements())});
  drawn.engine = [=](autograd::Context& context, const std::vector<autograd::Value>& inputs) {
    return layer_norm(context, inputs[0], inputs[1],
                      inputs.size() > 2 ? inputs[2] : autograd::Value(),
                      {.epsilon = norm.epsilon, .heads = norm.heads});
  };
  drawn.forward = [=](const References& inputs) { return norm.run(inputs).y; };
  drawn.backward = [=](const References& inputs, const Numbers& dy) {
    return norm.backward(inputs, dy);
  };
  return drawn;
}

// Both results are used: the output is factor * sum + normalized.
inline OpCase draw_residual_norm(Draw& draw) {
  const NormReference norm = draw_norm(draw);
  const double factor = draw.chance(0.2) ? 0 : draw.uniform(-1, 1);
  OpCase drawn;
  drawn.inputs = draw_norm_parameters(draw, norm.shape[-1]);
  for (const char* name : {"residual", "x"}) {
    drawn.inputs.insert(drawn.inputs.begin(),
                        {name, norm.shape, draw.normal(norm.shape.elements())});
  }
  drawn.engine = [=](autograd::Context& context, const std::vector<autograd::Value>& inputs) {
    const autograd::ResidualNorm both =
        residual_norm(context, inputs[0], inputs[1], inputs[2],
                      inputs.size() > 3 ? inputs[3] : autograd::Value(), {.epsilon = norm.epsilon});
    if (factor == 0) return both.normalized;
    return add(context, both.sum, both.normalized, static_cast<float>(factor));
  };
  const auto summed = [](const References& inputs) {
    References result(inputs.begin() + 1, inputs.end());
    for (size_t i = 0; i < result[0].size(); ++i) result[0][i] += inputs[0][i];
    return result;
  };
  drawn.forward = [=](const References& inputs) {
    const References of_sum = summed(inputs);
    Numbers y = norm.run(of_sum).y;
    for (size_t i = 0; i < y.size(); ++i) y[i] += factor * of_sum[0][i];
    return y;
  };
  drawn.backward = [=](const References& inputs, const Numbers& dy) {
    References gradients = norm.backward(summed(inputs), dy);
    for (size_t i = 0; i < dy.size(); ++i) gradients[0][i] += factor * dy[i];
    gradients.insert(gradients.begin(), gradients[0]);
    return gradients;
  };
  return drawn;
}

// Rows of scores, some of them hidden, now and then all of a row.
inline Numbers draw_scores(Draw& draw, const tensor::Shape& shape) {
  Numbers scores = draw.normal(shape.elements(), 2);
  if (draw.chance(0.6)) return scores;
  const double hidden = draw.chance() ? 0.2 : 0.9;
  for (double& score : scores) {
    if (draw.chance(hidden)) score = -std::numeric_limits<double>::infinity();
  }
  return scores;
}

using SoftmaxForward = void (*)(const double* x, double* y, int64_t rows, int64_t cols);
using SoftmaxBackward = void (*)(const double* y, const double* dy, double* dx, int64_t rows,
                                 int64_t cols);

template <class Engine>
OpCase draw_softmax_case(Draw& draw, Engine engine, SoftmaxForward forward,
                         SoftmaxBackward backward) {
  const tensor::Shape shape = draw_rows(draw, draw.size(1, 70, 1024));
  OpCase drawn;
  drawn.inputs = {{"x", shape, draw_scores(draw, shape)}};
  drawn.engine = [=](autograd::Context& context, const std::vector<autograd::Value>& inputs) {
    return engine(context, inputs[0]);
  };
  drawn.forward = [=](const References& inputs) {
    Numbers y(inputs[0].size());
    forward(inputs[0].data(), y.data(), rows_of(shape), shape[-1]);
    return y;
  };
  const auto run = drawn.forward;
  drawn.backward = [=](const References& inputs, const Numbers& dy) {
    References gradients = zeros_like(inputs);
    backward(run(inputs).data(), dy.data(), gradients[0].data(), rows_of(shape), shape[-1]);
    return gradients;
  };
  return drawn;
}

inline OpCase draw_softmax(Draw& draw) {
  return draw_softmax_case(draw, autograd::softmax, kernels::reference::softmax_forward<double>,
                           kernels::reference::softmax_backward<double>);
}

inline OpCase draw_log_softmax(Draw& draw) {
  return draw_softmax_case(draw, autograd::log_softmax,
                           kernels::reference::log_softmax_forward<double>,
                           kernels::reference::log_softmax_backward<double>);
}

}  // namespace headlight::tests
