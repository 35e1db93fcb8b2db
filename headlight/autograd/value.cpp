// Value and Gradient: handles, and the sums that gather behind them.
#include "headlight/autograd/value.h"

#include <cassert>

#include "headlight/autograd/checks.h"
#include "headlight/autograd/context.h"

namespace headlight::autograd {
namespace {

// to += from. Views of some axes cannot be read as one matrix; then axis by axis.
void add_to(Context& context, const tensor::Tensor& from, tensor::Tensor to) {
  if (from.rank() == 0) {
    *to.mutable_data<float>() += *from.data<float>();
    return;
  }
  if (is_matrix(from) && is_matrix(to)) {
    kernels::add(context.execution(), 1, from.matrix(), to.matrix(), to.mutable_matrix());
    return;
  }
  int axis = 0;
  while (from.size(axis) == 1) ++axis;
  for (int64_t i = 0; i < from.size(axis); ++i) {
    add_to(context, from.slice(axis, i, 1), to.slice(axis, i, 1));
  }
}

}  // namespace

tensor::Tensor Gradient::tensor() const {
  if (!parent_) return tensor_;
  const tensor::Tensor whole = parent_->tensor();
  return whole.defined() ? view_(whole) : whole;
}

tensor::Tensor Gradient::sum(Context& context) {
  if (parent_) return view_(parent_->sum(context));
  if (!tensor_.defined()) {
    tensor_ = zeros(context, shape_);
  }
  return tensor_;
}

Gradient::Target Gradient::target(Context& context) {
  if (covers_parent()) {
    Target whole = parent_->target(context);
    return {view_(whole.tensor), whole.accumulate};
  }
  if (parent_ || tensor_.defined()) return {sum(context), true};
  tensor_ = tensor::Tensor::uninitialized(context.arena, tensor::DType::f32, shape_);
  return {tensor_, false};
}

void Gradient::add(Context& context, const tensor::Tensor& contribution) {
  assert(contribution.shape() == shape_);
  add_to(context, contribution, sum(context));
}

void Gradient::take(Context& context, tensor::Tensor contribution) {
  assert(contribution.shape() == shape_ && contribution.is_contiguous());
  if (parent_ || tensor_.defined()) {
    add(context, contribution);
  } else {
    tensor_ = std::move(contribution);
  }
}

void Gradient::clear() {
  if (parent_) {
    parent_->clear();
  } else {
    tensor_ = {};
  }
}

Value Value::leaf(tensor::Tensor data, bool requires_grad) {
  if (requires_grad) check_type("leaf", "", data, tensor::DType::f32);
  std::shared_ptr<Gradient> gradient;
  if (requires_grad) gradient = std::make_shared<Gradient>(data.shape());
  return Value(std::move(data), std::move(gradient));
}

float Value::item() const {
  check_type("item", "", data_, tensor::DType::f32);
  if (data_.elements() != 1)
    refuse("item", "", "shape is " + shape().text() + ", one element is needed");
  return *data_.data<float>();
}

Value Value::viewed(const TensorView& view) const {
  tensor::Tensor data = view(data_);
  std::shared_ptr<Gradient> gradient;
  if (gradient_) gradient = std::make_shared<Gradient>(gradient_, view, data.shape());
  return Value(std::move(data), std::move(gradient));
}

tensor::Tensor zeros(Context& context, const tensor::Shape& shape) {
  tensor::Tensor result = tensor::Tensor::uninitialized(context.arena, tensor::DType::f32, shape);
  const int64_t count = shape.elements();
  kernels::clear(context.execution(), {result.mutable_data<float>(), 1, count, count, 1});
  return result;
}

}  // namespace headlight::autograd
