// Norm: rows scaled to one size, by their deviation or their root mean square.
#pragma once

#include "headlight/nn/parameter.h"

namespace headlight::nn {

enum class NormKind {
  layer_norm,  // (x - mean) / deviation * weight + bias
  rms_norm,    // x / root_mean_square * (weight_offset + weight)
};

struct NormOptions {
  int64_t width = 0;
  NormKind kind = NormKind::layer_norm;
  bool bias = true;  // of a layer norm; the other kind has none
  float epsilon = 1e-5F;
  float weight_offset = 0;  // 1 where rows are multiplied by 1 + weight; rms_norm only
  int64_t heads = 1;        // > 1: rows are this many parts of `width`, each normalised by itself
  std::string place = {};   // e.g. "decoder.0.norm_1"
};

// Parameters "<name>.weight", which at first multiplies by 1, and "<name>.bias", zeros at first;
// both (width,).
class Norm {
 public:
  Norm(const std::string& name, const NormOptions& options);
  Parameters parameters() const;
  const NormOptions& options() const noexcept { return options_; }
  void set_place(std::string place) { options_.place = std::move(place); }

  // x is (..., heads * width).
  Value forward(Context& context, const Value& x) const;
  // Of x + residual, which is given back too; for one head.
  autograd::ResidualNorm forward(Context& context, const Value& x, const Value& residual) const;

 private:
  Value bias() const { return bias_ ? bias_->value() : Value(); }
  autograd::LayerNormOptions layer_norm_options() const;
  autograd::RmsNormOptions rms_norm_options() const;

  NormOptions options_;
  ParameterHandle weight_;
  ParameterHandle bias_;
};

}  // namespace headlight::nn
