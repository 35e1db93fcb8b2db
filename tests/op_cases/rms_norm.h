// Cases of rms_norm and residual_rms_norm.
#pragma once

#include "headlight/kernels/reference/rms_norm.h"
#include "tests/op_cases/case.h"

namespace headlight::tests {

// rms_norm of the reference: inputs are rows and weight.
struct RmsNormReference {
  tensor::Shape shape;
  autograd::RmsNormOptions options;

  kernels::reference::RmsNorm<double> norm(const Numbers& weight) const {
    return {weight.data(), double{options.weight_offset}, double{options.epsilon},
            shape[-1] / options.heads};
  }
  int64_t rows() const { return rows_of(shape) * options.heads; }

  Numbers forward(const References& inputs) const {
    Numbers y(inputs[0].size()), inverse_roots(static_cast<size_t>(rows()));
    norm(inputs[1]).forward(inputs[0].data(), y.data(), inverse_roots.data(), rows());
    return y;
  }
  References backward(const References& inputs, const Numbers& dy) const {
    References gradients = zeros_like(inputs);
    norm(inputs[1]).backward(inputs[0].data(), dy.data(), gradients[0].data(), gradients[1].data(),
                             rows());
    return gradients;
  }
};

inline RmsNormReference draw_rms_norm_reference(Draw& draw, int64_t heads) {
  RmsNormReference reference{draw_rows(draw, heads * draw.size(1, 70, 768)), {.heads = heads}};
  if (draw.chance()) reference.options.weight_offset = 1;
  if (draw.chance()) reference.options.epsilon = static_cast<float>(draw.uniform(1e-6, 0.1));
  return reference;
}

// Now and then by heads.
inline OpCase draw_rms_norm(Draw& draw) {
  const int64_t heads = draw.chance(0.3) ? draw.between(1, 4) : 1;
  const RmsNormReference norm = draw_rms_norm_reference(draw, heads);
  const int64_t width = norm.shape[-1] / heads;
  OpCase drawn;
  drawn.inputs = {{"x", norm.shape, draw.normal(norm.shape.elements())},
                  {"weight", {width}, draw.normal(width)}};
  drawn.engine = [=](autograd::Context& context, const std::vector<autograd::Value>& inputs) {
    return rms_norm(context, inputs[0], inputs[1], norm.options);
  };
  drawn.forward = [=](const References& inputs) { return norm.forward(inputs); };
  drawn.backward = [=](const References& inputs, const Numbers& dy) {
    return norm.backward(inputs, dy);
  };
  return drawn;
}

// Both results are used: the output is factor * sum + normalized.
inline OpCase draw_residual_rms_norm(Draw& draw) {
  const RmsNormReference norm = draw_rms_norm_reference(draw, 1);
  const double factor = draw.chance(0.2) ? 0 : draw.uniform(-1, 1);
  OpCase drawn;
  drawn.inputs = {{"x", norm.shape, draw.normal(norm.shape.elements())},
                  {"residual", norm.shape, draw.normal(norm.shape.elements())},
                  {"weight", {norm.shape[-1]}, draw.normal(norm.shape[-1])}};
  drawn.engine = [=](autograd::Context& context, const std::vector<autograd::Value>& inputs) {
    const autograd::ResidualNorm both =
        residual_rms_norm(context, inputs[0], inputs[1], inputs[2], norm.options);
    if (factor == 0) return both.normalized;
    return add(context, both.sum, both.normalized, static_cast<float>(factor));
  };
  const auto summed = [](const References& inputs) {
    References result = {inputs[0], inputs[2]};
    for (size_t i = 0; i < result[0].size(); ++i) result[0][i] += inputs[1][i];
    return result;
  };
  drawn.forward = [=](const References& inputs) {
    const References of_sum = summed(inputs);
    Numbers y = norm.forward(of_sum);
    for (size_t i = 0; i < y.size(); ++i) y[i] += factor * of_sum[0][i];
    return y;
  };
  drawn.backward = [=](const References& inputs, const Numbers& dy) {
    References gradients = norm.backward(summed(inputs), dy);
    for (size_t i = 0; i < dy.size(); ++i) gradients[0][i] += factor * dy[i];
    return References{gradients[0], gradients[0], gradients[1]};
  };
  return drawn;
}

}  // namespace headlight::tests
