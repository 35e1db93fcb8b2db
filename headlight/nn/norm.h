// Norm: rows of mean 0 and deviation 1, then scaled and shifted.
#pragma once

#include "headlight/nn/parameter.h"

namespace headlight::nn {

struct NormOptions {
  int64_t width = 0;
  bool bias = true;
  float epsilon = 1e-5F;
  std::string place = {};  // e.g. "decoder.0.norm_1"
};

// Parameters "<name>.weight", ones at first, and "<name>.bias", zeros at first.
class Norm {
 public:
  Norm(const std::string& name, const NormOptions& options);
  Parameters parameters() const;
  const NormOptions& options() const noexcept { return options_; }

  // x is (..., width).
  Value forward(Context& context, const Value& x) const;
  // Of x + residual, which is given back too.
  autograd::ResidualNorm forward(Context& context, const Value& x, const Value& residual) const;

 private:
  Value bias() const { return bias_ ? bias_->value() : Value(); }
  autograd::LayerNormOptions op_options() const { return {options_.epsilon, options_.place}; }

  NormOptions options_;
  ParameterHandle weight_;
  ParameterHandle bias_;
};

using LayerNorm = Norm;
using LayerNormOptions = NormOptions;

}  // namespace headlight::nn
