// The common part of layer_norm and residual_norm.
#include "headlight/autograd/ops/normalization.h"

#include <algorithm>
#include <string>

#include "headlight/autograd/checks.h"
#include "headlight/autograd/observer.h"

namespace headlight::autograd {
namespace {

using tensor::DType;
using tensor::Tensor;

tensor::Shape statistics_shape(const Tensor& rows) {
  return tensor::Shape(rows.shape().sizes().first(static_cast<size_t>(rows.rank() - 1)));
}

}  // namespace

void check_normalization(std::string_view operation, const Value& x, const Value& weight,
                         const Value& bias, const LayerNormOptions& options) {
  check_rows(operation, "input", x.data());
  const std::string expected = "input rows have " + std::to_string(x.size(-1));
  check_vector(operation, "weight", weight.data(), x.size(-1), expected);
  if (bias.defined()) check_vector(operation, "bias", bias.data(), x.size(-1), expected);
  if (!(options.epsilon >= 0)) {
    refuse(operation, "epsilon",
           "is " + std::to_string(options.epsilon) + ", it must be at least 0");
  }
}

Normalization::Normalization(Context& context, Tensor normalized_rows, const Value& weight_value,
                             const Value& bias_value)
    : rows(std::move(normalized_rows)),
      weight(weight_value.data()),
      bias(bias_value.data()),
      mean(Tensor::uninitialized(context.arena, DType::f32, statistics_shape(rows))),
      inverse_deviation(Tensor::uninitialized(context.arena, DType::f32, mean.shape())),
      d_weight(weight_value.gradient()),
      d_bias(bias_value.gradient()) {}

kernels::LayerNormOutputs Normalization::outputs(const Tensor& y) const {
  return {.y = y.matrix(),
          .mean = mean.data<float>(),
          .inverse_deviation = inverse_deviation.data<float>()};
}

void Normalization::add_gradients(Context& context, const Tensor& dy, const Tensor& d_rows) const {
  const kernels::LayerNormGradients gradients{
      .x = d_rows.defined() ? d_rows.matrix() : tensor::MatrixView(),
      .weight = d_weight ? d_weight->sum(context).data<float>() : nullptr,
      .bias = d_bias ? d_bias->sum(context).data<float>() : nullptr};
  kernels::layer_norm_backward(context.execution(), rows.matrix(), weight.data<float>(),
                               mean.data<float>(), inverse_deviation.data<float>(), dy.matrix(),
                               gradients);
}

void Normalization::observe_at(Context& context, const LayerNormOptions& options,
                               const Tensor& y) const {
  if (context.observer == nullptr || options.place.empty()) return;
  observe(context, options.place, "input", rows);
  observe(context, options.place, "mean", mean);
  if (context.observer->wants(place_name(options.place, "deviation"))) {
    Tensor deviation = Tensor::uninitialized(context.arena, DType::f32, mean.shape());
    const float* inverse = inverse_deviation.data<float>();
    std::transform(inverse, inverse + deviation.elements(), deviation.data<float>(),
                   [](float value) { return 1 / value; });
    context.observer->see(place_name(options.place, "deviation"), deviation);
  }
  if (context.observer->wants(place_name(options.place, "normalized"))) {
    Tensor normalized = Tensor::uninitialized(context.arena, DType::f32, y.shape());
    Tensor ones = Tensor::uninitialized(context.arena, DType::f32, weight.shape());
    std::fill_n(ones.data<float>(), ones.elements(), 1.0F);
    Normalization plain = *this;
    plain.mean = Tensor::uninitialized(context.arena, DType::f32, mean.shape());
    plain.inverse_deviation = Tensor::uninitialized(context.arena, DType::f32, mean.shape());
    kernels::layer_norm_forward(context.execution(), rows.matrix(), ones.data<float>(), nullptr,
                                options.epsilon, plain.outputs(normalized));
    context.observer->see(place_name(options.place, "normalized"), normalized);
  }
  observe(context, options.place, "output", y);
}

}  // namespace headlight::autograd
