// Value: a tensor that may want a gradient, and Gradient: where that gradient gathers.
#pragma once

#include <functional>
#include <memory>

#include "headlight/tensor/tensor.h"

namespace headlight::autograd {

struct Context;

// Reads a tensor in another way without copying, e.g. a slice or another shape.
using TensorView = std::function<tensor::Tensor(const tensor::Tensor&)>;

// The gradient of one Value; memory comes from the Context's arena when the first contribution
// arrives. The gradient of a view is the same view of its parent's gradient, so that views need no
// backward of their own. Not thread-safe.
class Gradient {
 public:
  explicit Gradient(const tensor::Shape& shape) : shape_(shape) {}
  Gradient(std::shared_ptr<Gradient> parent, TensorView view, const tensor::Shape& shape)
      : shape_(shape), parent_(std::move(parent)), view_(std::move(view)) {}

  // What has gathered so far; not defined when nothing has.
  tensor::Tensor tensor() const;
  // The tensor to add to; zeros at first.
  tensor::Tensor sum(Context& context);
  // The tensor to write to: when `accumulate` is false it is uninitialised and the caller writes
  // all of it.
  struct Target {
    tensor::Tensor tensor;
    bool accumulate = false;
  };
  Target target(Context& context);
  // Adds `contribution`, of the same shape.
  void add(Context& context, const tensor::Tensor& contribution);
  // The same of a contiguous tensor that nobody else uses: it may become the gradient itself.
  void take(Context& context, tensor::Tensor contribution);
  void clear();

 private:
  bool covers_parent() const { return parent_ && shape_.elements() == parent_->shape_.elements(); }

  tensor::Shape shape_;
  tensor::Tensor tensor_;
  std::shared_ptr<Gradient> parent_;
  TensorView view_;
};

// A handle: copies share the numbers and the gradient. A default-made Value is absent (`defined()`
// is false), which optional inputs use. The numbers of a Value must not change between an operation
// that used it and the backward pass.
class Value {
 public:
  Value() = default;
  // A value without history: an input or a parameter.
  static Value leaf(tensor::Tensor data, bool requires_grad = false);

  bool defined() const noexcept { return data_.defined(); }
  const tensor::Tensor& data() const noexcept { return data_; }
  const tensor::Shape& shape() const noexcept { return data_.shape(); }
  int rank() const noexcept { return data_.rank(); }
  int64_t size(int axis) const noexcept { return data_.size(axis); }
  // The number of a Value of one element, such as a loss; Error(bad_input) for any other.
  float item() const;
  bool requires_grad() const noexcept { return gradient_ != nullptr; }

  // What the backward passes since the last clear_grad() have added up; not defined when nothing
  // has arrived. Values in the middle of a computation have theirs too for as long as the caller
  // keeps the handle.
  tensor::Tensor grad() const { return gradient_ ? gradient_->tensor() : tensor::Tensor(); }
  void clear_grad() {
    if (gradient_) gradient_->clear();
  }

  // For operations: where to add to; null when no gradient is wanted.
  const std::shared_ptr<Gradient>& gradient() const noexcept { return gradient_; }
  // Other numbers of the same shape, with this Value's gradient.
  Value with_data(tensor::Tensor data) const { return Value(std::move(data), gradient_); }
  // A view of the numbers and, later, of the gradient.
  Value viewed(const TensorView& view) const;

 private:
  friend class Tape;
  Value(tensor::Tensor data, std::shared_ptr<Gradient> gradient)
      : data_(std::move(data)), gradient_(std::move(gradient)) {}

  tensor::Tensor data_;
  std::shared_ptr<Gradient> gradient_;
};

// A tensor of zeros in the Context's memory.
tensor::Tensor zeros(Context& context, const tensor::Shape& shape);

}  // namespace headlight::autograd
