// OutputLayer: hidden states to logits, or straight to the loss.
#pragma once

#include "headlight/nn/linear.h"

namespace headlight::nn {

// The weight is (V, C), often the embedding table itself.
class OutputLayer {
 public:
  explicit OutputLayer(ParameterHandle weight, ParameterHandle bias = {});
  // What is read goes through this layer first; what it gives is "prediction.narrowed".
  void set_projection(Linear projection) { projection_ = std::move(projection); }
  // Without such a layer: what is read is multiplied by this first; observed as
  // "prediction.scaled_output".
  void set_input_scale(float scale) { input_scale_ = scale; }
  // (1, V), added to the logits and never trained; without it they are "prediction.plain_logits".
  void set_constant(ParameterHandle constant);
  Parameters parameters() const;
  const Linear& linear() const noexcept { return linear_; }

  // x is (..., C), the result (..., V). Observed as "logits" and, where wanted, "probabilities".
  Value logits(Context& context, const Value& x) const;
  // The mean cross-entropy over targets (...) that are not -1. With nothing to add, logits are
  // computed in chunks and never held as a whole.
  Value loss(Context& context, const Value& x, const tensor::Tensor& targets,
             float label_smoothing) const;

 private:
  Value read(Context& context, const Value& x) const;
  Value product(Context& context, const Value& x) const;

  Linear linear_;
  std::optional<Linear> projection_;
  float input_scale_ = 1;
  ParameterHandle constant_ = {};
};

}  // namespace headlight::nn
