// What layer_norm and residual_norm share: checks, statistics of the rows, observation and the
// gradient of normalised rows. Inside autograd only.
#pragma once

#include <string_view>

#include "headlight/autograd/ops/layer_norm.h"

namespace headlight::autograd {

void check_normalization(std::string_view operation, const Value& x, const Value& weight,
                         const Value& bias, const LayerNormOptions& options);

// The rows that are normalised, with what is needed to go back.
struct Normalization {
  tensor::Tensor rows;  // the input, or the sum with the residual
  tensor::Tensor weight;
  tensor::Tensor bias;  // may be absent
  tensor::Tensor mean;  // one number per row
  tensor::Tensor inverse_deviation;
  std::shared_ptr<Gradient> d_weight, d_bias;

  Normalization() = default;
  Normalization(Context& context, tensor::Tensor rows, const Value& weight, const Value& bias);

  const float* bias_data() const { return bias.defined() ? bias.data<float>() : nullptr; }
  kernels::LayerNormOutputs outputs(const tensor::Tensor& y) const;
  // Adds to the gradients of weight and bias and, when it is defined, to d_rows.
  void add_gradients(Context& context, const tensor::Tensor& dy,
                     const tensor::Tensor& d_rows) const;
  void observe_at(Context& context, const LayerNormOptions& options, const tensor::Tensor& y) const;
};

}  // namespace headlight::autograd
