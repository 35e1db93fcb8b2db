// linear: y = activation(x * weight^T + bias).
#pragma once

#include <string_view>

#include "headlight/autograd/context.h"
#include "headlight/autograd/value.h"

namespace headlight::autograd {

enum class WeightLayout {
  out_in,  // (outputs, inputs), as torch.nn.Linear keeps it
  in_out,  // (inputs, outputs), as GPT-2 keeps it
};

struct LinearOptions {
  WeightLayout layout = WeightLayout::out_in;
  kernels::Activation activation = kernels::Activation::none;
  // The weight as (inputs x outputs), packed beforehand, with the same numbers as `weight`: for
  // inference and for reuse in a step.
  kernels::PackedMatrix packed = {};
  // The whole name under which an observer may want the numbers before the activation, e.g.
  // "decoder.0.ffn.hidden".
  std::string_view hidden_place = {};
};

// x is (..., inputs), bias is (outputs,) or absent; the result is (..., outputs).
Value linear(Context& context, const Value& x, const Value& weight, const Value& bias,
             const LinearOptions& options = {});

// The same with no weight but the packed one, for inference: nothing is recorded, observed or
// reported.
Value packed_linear(Context& context, const Value& x, const kernels::PackedMatrix& weight,
                    const Value& bias, kernels::Activation activation);

// The weight as the product of `linear` reads it: (inputs x outputs).
tensor::ConstMatrixView forward_operand(const tensor::Tensor& weight, WeightLayout layout);

}  // namespace headlight::autograd
