// The common part of the norms.
#include "headlight/autograd/ops/normalization.h"

#include <algorithm>
#include <string>

#include "headlight/autograd/checks.h"
#include "headlight/autograd/observer.h"

namespace headlight::autograd {
namespace {

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

void check_norm_heads(std::string_view operation, const Value& x, int64_t heads) {
  check_rows(operation, "input", x.data());
  if (heads >= 1 && x.size(-1) % heads == 0) return;
  refuse(operation, "heads",
         "is " + std::to_string(heads) + ", it must divide rows of " + std::to_string(x.size(-1)));
}

void check_norm_parameter(std::string_view operation, std::string_view name, const Value& parameter,
                          const Value& x, int64_t heads) {
  const int64_t width = x.size(-1) / heads;
  check_vector(operation, name, parameter.data(), width,
               (heads == 1 ? "input rows have " : "heads have ") + std::to_string(width));
}

void check_epsilon(std::string_view operation, float epsilon) {
  if (epsilon >= 0) return;
  refuse(operation, "epsilon", "is " + std::to_string(epsilon) + ", it must be at least 0");
}

Value ones_like(Context& context, const Tensor& weight) {
  Tensor ones = Tensor::uninitialized(context.arena, DType::f32, weight.shape());
  std::fill_n(ones.mutable_data<float>(), ones.elements(), 1.0F);
  return Value::leaf(ones);
}

tensor::MatrixView matrix_or_none(Tensor x) {
  return x.defined() ? x.mutable_matrix() : tensor::MatrixView();
}

float* sum_or_none(Context& context, const std::shared_ptr<Gradient>& gradient) {
  return gradient ? gradient->sum(context).mutable_data<float>() : nullptr;
}

// Shows what make() gives as "<place>.<name>", when it is wanted.
template <class Make>
void show(Context& context, std::string_view place, std::string_view name, const Make& make) {
  if (context.observer->wants(place_name(place, name))) observe(context, place, name, make());
}

}  // namespace

void check_normalization(std::string_view operation, const Value& x, const Value& weight,
                         const Value& bias, const LayerNormOptions& options) {
  check_norm_heads(operation, x, options.heads);
  check_norm_parameter(operation, "weight", weight, x, options.heads);
  if (bias.defined()) check_norm_parameter(operation, "bias", bias, x, options.heads);
  check_epsilon(operation, options.epsilon);
}

void check_normalization(std::string_view operation, const Value& x, const Value& weight,
                         const RmsNormOptions& options) {
  check_norm_heads(operation, x, options.heads);
  check_norm_parameter(operation, "weight", weight, x, options.heads);
  check_epsilon(operation, options.epsilon);
}

void check_residual(std::string_view operation, const Value& x, const Value& residual,
                    int64_t heads) {
  check_rows(operation, "residual", residual.data());
  check_same_shape(operation, "residual", residual.data(), "the input", x.data());
  if (heads == 1) return;
  refuse(operation, "heads",
         "is " + std::to_string(heads) + ", rows of a residual sum are normalised whole");
}

Tensor NormalizedRows::head_of(const Tensor& x, int64_t head) const {
  if (heads == 1 || !x.defined()) return x;
  const int64_t width = x.size(-1) / heads;
  return x.slice(-1, head * width, width);
}

Tensor NormalizedRows::statistics(Context& context) const {
  const Shape per_row(rows.shape().sizes().first(static_cast<size_t>(rows.rank() - 1)));
  const Shape shape = heads == 1 ? per_row : Shape{heads, per_row.elements()};
  return Tensor::uninitialized(context.arena, DType::f32, shape);
}

Tensor NormalizedRows::head_of_statistics(const Tensor& statistics, int64_t head) const {
  return heads == 1 ? statistics : statistics.slice(0, head, 1);
}

Tensor NormalizedRows::shown(Context& context, const Tensor& statistics) const {
  if (heads == 1) return statistics;
  const Tensor by_row = statistics.permuted({1, 0}).contiguous(context.arena);
  return by_row.reshaped(rows.shape().with(-1, heads));
}

Tensor NormalizedRows::shown_inverse(Context& context, const Tensor& inverse) const {
  Tensor statistics = Tensor::uninitialized(context.arena, DType::f32, inverse.shape());
  std::transform(inverse.data<float>(), inverse.data<float>() + inverse.elements(),
                 statistics.mutable_data<float>(), [](float value) { return 1 / value; });
  return shown(context, statistics);
}

Normalization::Normalization(Context& context, Tensor normalized_rows, const Value& weight_value,
                             const Value& bias_value, const LayerNormOptions& options)
    : NormalizedRows{.rows = std::move(normalized_rows),
                     .weight = weight_value.data(),
                     .heads = options.heads,
                     .epsilon = options.epsilon,
                     .d_weight = weight_value.gradient()},
      bias(bias_value.data()),
      mean(statistics(context)),
      inverse_deviation(statistics(context)),
      d_bias(bias_value.gradient()) {}

kernels::LayerNormOutputs Normalization::outputs(Tensor& y, int64_t head) {
  return {.y = head_of(y, head).mutable_matrix(),
          .mean = head_of_statistics(mean, head).mutable_data<float>(),
          .inverse_deviation = head_of_statistics(inverse_deviation, head).mutable_data<float>()};
}

void Normalization::run(Context& context, Tensor& y) {
  for (int64_t head = 0; head < heads; ++head) {
    kernels::layer_norm_forward(context.execution(), head_of(rows, head).matrix(),
                                weight.data<float>(), bias_data(), epsilon, outputs(y, head));
  }
}

void Normalization::add_gradients(Context& context, const Tensor& dy, Tensor d_rows) const {
  for (int64_t head = 0; head < heads; ++head) {
    kernels::layer_norm_backward(context.execution(), head_of(rows, head).matrix(),
                                 weight.data<float>(), head_of_statistics(mean, head).data<float>(),
                                 head_of_statistics(inverse_deviation, head).data<float>(),
                                 head_of(dy, head).matrix(),
                                 {.x = matrix_or_none(head_of(d_rows, head)),
                                  .weight = sum_or_none(context, d_weight),
                                  .bias = sum_or_none(context, d_bias)});
  }
}

void Normalization::observe_at(Context& context, std::string_view place, const Tensor& y) const {
  if (context.observer == nullptr || place.empty()) return;
  observe(context, place, "input", rows);
  show(context, place, "mean", [&] { return shown(context, mean); });
  show(context, place, "deviation", [&] { return shown_inverse(context, inverse_deviation); });
  show(context, place, "normalized", [&] { return normalized(context); });
  observe(context, place, "output", y);
}

Tensor Normalization::normalized(Context& context) const {
  Normalization plain(context, rows, ones_like(context, weight), Value(),
                      {.epsilon = epsilon, .heads = heads});
  Tensor result = Tensor::uninitialized(context.arena, DType::f32, rows.shape());
  plain.run(context, result);
  return result;
}

void Normalization::add_to(Context& context, Report& report) const {
  report.outputs.push_back({"mean", Value::leaf(shown(context, mean))});
  report.outputs.push_back({"deviation", Value::leaf(shown_inverse(context, inverse_deviation))});
  report.outputs.push_back({"normalized", Value::leaf(normalized(context))});
  report.attributes = {{"epsilon", static_cast<double>(epsilon)}, {"heads", heads}};
}

RmsNormalization::RmsNormalization(Context& context, Tensor normalized_rows,
                                   const Value& weight_value, const RmsNormOptions& options)
    : NormalizedRows{.rows = std::move(normalized_rows),
                     .weight = weight_value.data(),
                     .heads = options.heads,
                     .epsilon = options.epsilon,
                     .d_weight = weight_value.gradient()},
      weight_offset(options.weight_offset),
      inverse_root(statistics(context)) {}

kernels::RmsNormOutputs RmsNormalization::outputs(Tensor& y, int64_t head) {
  return {.y = head_of(y, head).mutable_matrix(),
          .inverse_root = head_of_statistics(inverse_root, head).mutable_data<float>()};
}

void RmsNormalization::run(Context& context, Tensor& y) {
  for (int64_t head = 0; head < heads; ++head) {
    kernels::rms_norm_forward(context.execution(), head_of(rows, head).matrix(), weight_data(),
                              epsilon, outputs(y, head));
  }
}

void RmsNormalization::add_gradients(Context& context, const Tensor& dy, Tensor d_rows) const {
  for (int64_t head = 0; head < heads; ++head) {
    kernels::rms_norm_backward(
        context.execution(), head_of(rows, head).matrix(), weight_data(),
        head_of_statistics(inverse_root, head).data<float>(), head_of(dy, head).matrix(),
        {.x = matrix_or_none(head_of(d_rows, head)), .weight = sum_or_none(context, d_weight)});
  }
}

void RmsNormalization::observe_at(Context& context, std::string_view place, const Tensor& y) const {
  if (context.observer == nullptr || place.empty()) return;
  observe(context, place, "input", rows);
  show(context, place, "root_mean_square", [&] { return shown_inverse(context, inverse_root); });
  show(context, place, "normalized", [&] { return normalized(context); });
  observe(context, place, "output", y);
}

Tensor RmsNormalization::normalized(Context& context) const {
  RmsNormalization plain(context, rows, ones_like(context, weight),
                         {.epsilon = epsilon, .heads = heads});
  Tensor result = Tensor::uninitialized(context.arena, DType::f32, rows.shape());
  plain.run(context, result);
  return result;
}

void RmsNormalization::add_to(Context& context, Report& report) const {
  report.outputs.push_back({"root_mean_square", Value::leaf(shown_inverse(context, inverse_root))});
  report.outputs.push_back({"normalized", Value::leaf(normalized(context))});
  report.attributes = {{"epsilon", static_cast<double>(epsilon)},
                       {"heads", heads},
                       {"weight_offset", static_cast<double>(weight_offset)}};
}

}  // namespace headlight::autograd
