// Linear: the operation on parts of parameters, with the weight packed for inference.
#include "headlight/nn/linear.h"

#include <mutex>
#include <utility>

namespace headlight::nn {
namespace {

using base::Error;
using base::ErrorKind;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

Linear::Part new_part(const std::string& name, const LinearOptions& options) {
  const bool out_in = options.layout == WeightLayout::out_in;
  const Shape shape =
      out_in ? Shape{options.outputs, options.inputs} : Shape{options.inputs, options.outputs};
  Linear::Part part{.weight = std::make_shared<Parameter>(name + ".weight", shape),
                    .outputs = options.outputs,
                    .layout = options.layout};
  if (options.bias) {
    part.bias =
        std::make_shared<Parameter>(name + ".bias", Tensor::zeros(DType::f32, {options.outputs}));
  }
  return part;
}

// Positions [begin, begin + count) of an axis; the Value itself when that is all of it.
Value range(const Value& value, int axis, int64_t begin, int64_t count) {
  if (count == value.size(axis)) return value;
  return autograd::slice(value, axis, begin, count);
}

}  // namespace

// Of a range of outputs; a whole weight keeps its packed form itself. Several threads may run the
// same layer, the first of them packs.
struct Linear::Packed {
  std::mutex mutex;
  uint64_t version = 0;
  kernels::PackedMatrix matrix;
};

Linear::Linear(const std::string& name, const LinearOptions& options)
    : Linear(new_part(name, options), options.activation) {}

Linear::Linear(Part part, Activation activation) : part_(std::move(part)), activation_(activation) {
  if (is_whole()) {
    part_.weight->expect_packing(part_.layout);
  } else {
    packed_ = std::make_shared<Packed>();
  }
}

int64_t Linear::inputs() const {
  return part_.weight->shape()[part_.layout == WeightLayout::out_in ? 1 : 0];
}

Parameters Linear::parameters() const {
  return part_.bias ? Parameters{part_.weight, part_.bias} : Parameters{part_.weight};
}

Value Linear::weight() const {
  return range(part_.weight->value(), part_.layout == WeightLayout::out_in ? 0 : 1,
               part_.weight_begin, part_.outputs);
}

Value Linear::bias() const {
  if (!part_.bias) return {};
  return range(part_.bias->value(), 0, part_.bias_begin, part_.outputs);
}

bool Linear::is_whole() const {
  const int axis = part_.layout == WeightLayout::out_in ? 0 : 1;
  return part_.weight_begin == 0 && part_.outputs == part_.weight->shape()[axis];
}

kernels::PackedMatrix Linear::packed(const Context& context) const {
  if (is_whole()) return part_.weight->packed(context.execution(), part_.layout);
  const std::lock_guard lock(packed_->mutex);
  if (!packed_->matrix.defined() || packed_->version != part_.weight->version()) {
    const int axis = part_.layout == WeightLayout::out_in ? 0 : 1;
    const Tensor weight = part_.weight->borrowed().slice(axis, part_.weight_begin, part_.outputs);
    packed_->matrix = {context.execution(), autograd::forward_operand(weight, part_.layout)};
    packed_->version = part_.weight->version();
  }
  return packed_->matrix;
}

Value Linear::forward(Context& context, const Value& x, std::string_view hidden_place) const {
  if (x.rank() == 0 || x.size(-1) != inputs()) {
    throw Error(ErrorKind::bad_input, "linear", part_.weight->name(),
                "shape " + part_.weight->shape().text() + " takes rows of " +
                    std::to_string(inputs()) + ", the input is " + x.shape().text());
  }
  if (context.tape == nullptr && context.observer == nullptr) {
    return autograd::packed_linear(context, x, packed(context), bias(), activation_);
  }
  const Value weight = this->weight();
  autograd::LinearOptions options{
      .layout = part_.layout, .activation = activation_, .hidden_place = hidden_place};
  // In training the numbers change at each step, and the product packs what it needs itself.
  if (context.tape == nullptr) options.packed = packed(context);
  return autograd::linear(context, x, weight, bias(), options);
}

std::optional<Linear> Linear::joined(const Linear& first, const Linear& second) {
  const Part& a = first.part_;
  const Part& b = second.part_;
  const bool weights = a.weight == b.weight && a.weight_begin + a.outputs == b.weight_begin;
  const bool biases = a.bias == b.bias && (!a.bias || a.bias_begin + a.outputs == b.bias_begin);
  if (!weights || !biases) return std::nullopt;
  Part both = a;
  both.outputs += b.outputs;
  return Linear(std::move(both), first.activation_);
}

}  // namespace headlight::nn
