// Tensor: handles on blocks.
#include "headlight/tensor/tensor.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "headlight/base/base.h"

namespace headlight::tensor {
namespace {

using base::Error;
using base::ErrorKind;

size_t bytes_of(DType dtype, const Shape& shape) {
  return static_cast<size_t>(shape.elements()) * size_of(dtype);
}

template <class T>
Tensor copied(const Shape& shape, const std::vector<T>& values) {
  if (shape.elements() != static_cast<int64_t>(values.size())) {
    throw Error(ErrorKind::bad_input, "tensor", "",
                "shape " + shape.text() + " needs " + std::to_string(shape.elements()) +
                    " values, " + std::to_string(values.size()) + " are given");
  }
  Tensor result = Tensor::uninitialized(DTypeOf<T>::value, shape);
  std::copy(values.begin(), values.end(), result.mutable_data<T>());
  return result;
}

void copy_strided(const Tensor& from, int axis, const std::byte* source, std::byte*& destination) {
  const auto width = static_cast<int64_t>(size_of(from.dtype()));
  if (axis == from.rank()) {
    std::memcpy(destination, source, static_cast<size_t>(width));
    destination += width;
    return;
  }
  if (axis == from.rank() - 1 && from.stride(axis) == 1) {
    std::memcpy(destination, source, static_cast<size_t>(from.size(axis) * width));
    destination += from.size(axis) * width;
    return;
  }
  for (int64_t i = 0; i < from.size(axis); ++i) {
    copy_strided(from, axis + 1, source + i * from.stride(axis) * width, destination);
  }
}

}  // namespace

Tensor::Tensor(DType dtype, Shape shape, Block block)
    : dtype_(dtype), shape_(shape), block_(std::move(block)) {
  int64_t stride = 1;
  for (int axis = shape_.rank() - 1; axis >= 0; --axis) {
    strides_[static_cast<size_t>(axis)] = stride;
    stride *= std::max<int64_t>(shape_[axis], 1);
  }
}

Tensor Tensor::uninitialized(Arena& arena, DType dtype, const Shape& shape) {
  return Tensor(dtype, shape, arena.allocate(bytes_of(dtype, shape)));
}

Tensor Tensor::uninitialized(DType dtype, const Shape& shape) {
  return Tensor(dtype, shape, allocate_block(bytes_of(dtype, shape)));
}

Tensor Tensor::zeros(Arena& arena, DType dtype, const Shape& shape) {
  Tensor result = uninitialized(arena, dtype, shape);
  std::memset(result.mutable_raw(), 0, result.bytes());
  return result;
}

Tensor Tensor::zeros(DType dtype, const Shape& shape) {
  Tensor result = uninitialized(dtype, shape);
  std::memset(result.mutable_raw(), 0, result.bytes());
  return result;
}

Tensor Tensor::of(const Shape& shape, const std::vector<float>& values) {
  return copied(shape, values);
}
Tensor Tensor::of(const Shape& shape, const std::vector<int64_t>& values) {
  return copied(shape, values);
}

bool Tensor::is_contiguous() const noexcept {
  if (elements() == 0) return true;
  int64_t expected = 1;
  for (int axis = rank() - 1; axis >= 0; --axis) {
    if (size(axis) != 1 && stride(axis) != expected) return false;
    expected *= size(axis);
  }
  return true;
}

Tensor Tensor::slice(int axis, int64_t begin, int64_t count) const {
  const int counted = axis < 0 ? axis + rank() : axis;
  if (counted < 0 || counted >= rank() || begin < 0 || count < 0 || begin > size(counted) - count) {
    throw Error(ErrorKind::bad_input, "slice", "",
                std::to_string(count) + " from " + std::to_string(begin) + " on of axis " +
                    std::to_string(axis) + " is outside " + shape_.text());
  }
  Tensor result = *this;
  result.shape_ = shape_.with(counted, count);
  result.offset_ += begin * stride(counted);
  return result;
}

Tensor Tensor::permuted(std::initializer_list<int> axes) const {
  assert(static_cast<int>(axes.size()) == rank());
  Tensor result = *this;
  std::vector<int64_t> sizes;
  size_t position = 0;
  for (const int axis : axes) {
    sizes.push_back(size(axis));
    result.strides_[position++] = stride(axis);
  }
  result.shape_ = Shape(sizes);
  return result;
}

Tensor Tensor::reshaped(const Shape& shape) const {
  if (shape.elements() != elements() || !is_contiguous()) {
    throw Error(ErrorKind::bad_input, "reshape", "",
                shape_.text() + " cannot be read as " + shape.text());
  }
  Tensor result(dtype_, shape, block_);
  result.offset_ = offset_;
  return result;
}

Tensor Tensor::contiguous() const {
  if (is_contiguous()) return *this;
  Tensor result = uninitialized(dtype_, shape_);
  std::byte* destination = result.mutable_raw();
  copy_strided(*this, 0, raw(), destination);
  return result;
}

Tensor Tensor::contiguous(Arena& arena) const {
  if (is_contiguous()) return *this;
  Tensor result = uninitialized(arena, dtype_, shape_);
  std::byte* destination = result.mutable_raw();
  copy_strided(*this, 0, raw(), destination);
  return result;
}

ConstMatrixView Tensor::matrix() const { return rows_and_columns(); }
MatrixView Tensor::mutable_matrix() { return rows_and_columns(); }
ConstHeadsView Tensor::heads(int64_t heads) const { return rows_by_head(heads); }
HeadsView Tensor::mutable_heads(int64_t heads) { return rows_by_head(heads); }

MatrixView Tensor::rows_and_columns() const {
  assert(rank() >= 1 && (stride(-1) == 1 || size(-1) <= 1));
  const int64_t cols = size(-1);
  int64_t rows = 1;
  for (int axis = 0; axis < rank() - 1; ++axis) rows *= size(axis);
  // The row stride is that of the innermost axis before the last that is longer than one.
  int64_t row_stride = cols;
  for (int axis = rank() - 2; axis >= 0; --axis) {
    if (size(axis) > 1) {
      row_stride = stride(axis);
      break;
    }
  }
#ifndef NDEBUG
  int64_t expected = row_stride;
  for (int axis = rank() - 2; axis >= 0 && rows > 0; --axis) {
    assert(size(axis) == 1 || stride(axis) == expected);
    if (size(axis) != 1) expected *= size(axis);
  }
#endif
  return {first<float>(), rows, cols, row_stride, 1};
}

HeadsView Tensor::rows_by_head(int64_t heads) const {
  assert(rank() == 3 || (rank() == 4 && size(1) == heads));
  assert(stride(-1) == 1 || size(-1) <= 1);
  if (rank() == 4) return {first<float>(), stride(0), stride(1), stride(2)};
  assert(heads > 0 && size(2) % heads == 0);
  return {first<float>(), stride(0), size(2) / heads, stride(1)};
}

}  // namespace headlight::tensor
