// Door of tensor: DType, Shape, Arena, Tensor, views. No arithmetic here.
#pragma once

#include <cassert>
#include <initializer_list>
#include <vector>

#include "headlight/tensor/arena.h"
#include "headlight/tensor/convert.h"
#include "headlight/tensor/shape.h"
#include "headlight/tensor/views.h"

namespace headlight::tensor {

// A shape with strides over a shared block. Copying a Tensor copies the handle, not the numbers;
// slices and reshapes share memory. Who writes says so: `data`, `raw`, `matrix` and `heads` read,
// their `mutable_` twins write and need a handle that is not const. A function that writes takes a
// Tensor& or a Tensor; one that takes a const Tensor& only reads. A default-made Tensor is empty:
// it has no memory and `defined()` is false. Reading from several threads is safe.
class Tensor {
 public:
  Tensor() = default;
  Tensor(DType dtype, Shape shape, Block block);  // contiguous, from the block's start

  static Tensor uninitialized(Arena& arena, DType dtype, const Shape& shape);
  static Tensor zeros(Arena& arena, DType dtype, const Shape& shape);
  // The same without an arena: for parameters, files and tests.
  static Tensor uninitialized(DType dtype, const Shape& shape);
  static Tensor zeros(DType dtype, const Shape& shape);
  // Copies the values; throws Error when their number is not the shape's.
  static Tensor of(const Shape& shape, const std::vector<float>& values);
  static Tensor of(const Shape& shape, const std::vector<int64_t>& values);
  // A list in braces is of floats.
  static Tensor of(const Shape& shape, std::initializer_list<float> values) {
    return of(shape, std::vector<float>(values));
  }

  bool defined() const noexcept { return block_ != nullptr; }
  DType dtype() const noexcept { return dtype_; }
  const Shape& shape() const noexcept { return shape_; }
  int rank() const noexcept { return shape_.rank(); }
  int64_t size(int axis) const noexcept { return shape_[axis]; }
  int64_t stride(int axis) const noexcept {
    return strides_[static_cast<size_t>(axis < 0 ? axis + shape_.rank() : axis)];
  }
  int64_t elements() const noexcept { return shape_.elements(); }
  // Where its block begins, for telling whether two tensors share memory.
  const void* memory() const noexcept { return block_.get(); }
  // Whether this is the only handle on its memory.
  bool is_sole_owner() const noexcept { return block_.use_count() == 1; }
  size_t bytes() const noexcept { return static_cast<size_t>(elements()) * size_of(dtype_); }
  bool is_contiguous() const noexcept;

  // The first element. T must be the dtype's type (float, int64_t, bool); f16 and bf16 are read as
  // uint16_t.
  template <class T>
  const T* data() const noexcept {
    return first<T>();
  }
  const std::byte* raw() const noexcept { return first_byte(); }
  // The same for writing, which every handle on the block then sees.
  template <class T>
  T* mutable_data() noexcept {
    return first<T>();
  }
  std::byte* mutable_raw() noexcept { return first_byte(); }

  // `count` positions of `axis` from `begin`; shares memory.
  Tensor slice(int axis, int64_t begin, int64_t count) const;
  // Axes in another order; shares memory.
  Tensor permuted(std::initializer_list<int> axes) const;
  // Another shape over the same elements; shares memory. The tensor must be contiguous.
  Tensor reshaped(const Shape& shape) const;
  // A contiguous copy (or itself where it already is).
  Tensor contiguous() const;
  Tensor contiguous(Arena& arena) const;

  // All axes but the last as rows, the last as columns, for float32. The last axis must have stride
  // 1 and the others must collapse to one row stride (contiguous tensors and slices of the last
  // axis do).
  ConstMatrixView matrix() const;
  MatrixView mutable_matrix();
  // (B, T, H*W) or (B, H, T, W) as heads of width W; `heads` is needed for rank 3 and checked for
  // rank 4.
  ConstHeadsView heads(int64_t heads) const;
  HeadsView mutable_heads(int64_t heads);

 private:
  template <class T>
  bool matches() const noexcept {
    if constexpr (std::is_same_v<T, uint16_t>)
      return true;
    else
      return DTypeOf<T>::value == dtype_;
  }
  template <class T>
  T* first() const noexcept {
    assert((std::is_same_v<T, uint16_t> ? size_of(dtype_) == 2 : matches<T>()));
    return reinterpret_cast<T*>(block_.get()) + offset_;
  }
  std::byte* first_byte() const noexcept {
    return block_.get() + offset_ * static_cast<int64_t>(size_of(dtype_));
  }
  MatrixView rows_and_columns() const;
  HeadsView rows_by_head(int64_t heads) const;

  DType dtype_ = DType::f32;
  Shape shape_;
  std::array<int64_t, Shape::kMaxRank> strides_{};
  int64_t offset_ = 0;
  Block block_;
};

}  // namespace headlight::tensor
