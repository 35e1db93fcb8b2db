// OutputLayer: hidden states to logits, or straight to the loss.
#pragma once

#include "headlight/nn/linear.h"

namespace headlight::nn {

// The weight is (V, C), often the embedding table itself.
class OutputLayer {
 public:
  explicit OutputLayer(ParameterHandle weight, ParameterHandle bias = {});
  Parameters parameters() const { return linear_.parameters(); }
  const Linear& linear() const noexcept { return linear_; }

  // x is (..., C), the result (..., V). Observed as "logits" and, where wanted, "probabilities".
  Value logits(Context& context, const Value& x) const;
  // The mean cross-entropy over targets (...) that are not -1. Without a bias, logits are computed
  // in chunks and never held as a whole.
  Value loss(Context& context, const Value& x, const tensor::Tensor& targets,
             float label_smoothing) const;

 private:
  Linear linear_;
};

}  // namespace headlight::nn
