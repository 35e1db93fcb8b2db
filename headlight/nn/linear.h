// Linear: y = activation(x W^T + b), over whole parameters or over a range of their outputs.
#pragma once

#include <optional>
#include <string_view>

#include "headlight/nn/parameter.h"

namespace headlight::nn {

using kernels::Activation;

struct LinearOptions {
  int64_t inputs = 0;
  int64_t outputs = 0;
  bool bias = true;
  WeightLayout layout = WeightLayout::out_in;
  Activation activation = Activation::none;
};

// Outside training the weight is kept packed for the kernel; the packed form is made at the first
// call and again after the numbers have changed, by the parameter itself where the layer has all
// of its outputs.
class Linear {
 public:
  // Parameters "<name>.weight" and "<name>.bias". The bias starts at zero.
  Linear(const std::string& name, const LinearOptions& options);
  // Of parameters that others use too (tied weights, fused projections): `outputs` outputs of each
  // from `begin` on. `bias` may be null.
  struct Part {
    ParameterHandle weight = {};
    int64_t weight_begin = 0;
    ParameterHandle bias = {};
    int64_t bias_begin = 0;
    int64_t outputs = 0;
    WeightLayout layout = WeightLayout::out_in;
  };
  explicit Linear(Part part, Activation activation = Activation::none);

  int64_t inputs() const;
  int64_t outputs() const noexcept { return part_.outputs; }
  const Part& part() const noexcept { return part_; }
  Activation activation() const noexcept { return activation_; }
  Parameters parameters() const;  // the whole parameters

  // x is (..., inputs); the result is (..., outputs). An observer may want what is there before the
  // activation under the name `hidden_place`.
  Value forward(Context& context, const Value& x, std::string_view hidden_place = {}) const;

  // One layer that gives the outputs of `first` and then those of `second`, when they are
  // neighbours in the same parameters.
  static std::optional<Linear> joined(const Linear& first, const Linear& second);

 private:
  struct Packed;
  Value weight() const;
  Value bias() const;
  bool is_whole() const;
  kernels::PackedMatrix packed(const Context& context) const;

  Part part_;
  Activation activation_;
  std::shared_ptr<Packed> packed_;  // of a range; shared by copies, which have the same part
};

}  // namespace headlight::nn
