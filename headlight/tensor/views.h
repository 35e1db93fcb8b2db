// Views: pointers with strides, what kernels work on. They own nothing; who makes one keeps the
// memory alive.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

namespace headlight::tensor {

// rows x cols numbers with any strides; a transposed matrix is the same memory with sizes and
// strides exchanged.
template <class T>
struct Matrix {
  T* data = nullptr;
  int64_t rows = 0;
  int64_t cols = 0;
  int64_t row_stride = 0;
  int64_t col_stride = 1;

  Matrix transposed() const { return {data, cols, rows, col_stride, row_stride}; }
  T& at(int64_t row, int64_t col) const { return data[row * row_stride + col * col_stride]; }
  operator Matrix<const T>() const requires(!std::is_const_v<T>) {
    return {data, rows, cols, row_stride, col_stride};
  }
};
using MatrixView = Matrix<float>;
using ConstMatrixView = Matrix<const float>;

// Rows of one width for each sequence and head; the numbers of a row are adjacent.
template <class T>
struct Heads {
  T* data = nullptr;
  int64_t batch_stride = 0;
  int64_t head_stride = 0;
  int64_t row_stride = 0;

  T* row(int64_t batch, int64_t head, int64_t index) const {
    return data + batch * batch_stride + head * head_stride + index * row_stride;
  }
  operator Heads<const T>() const requires(!std::is_const_v<T>) {
    return {data, batch_stride, head_stride, row_stride};
  }
};
using HeadsView = Heads<float>;
using ConstHeadsView = Heads<const float>;

// A (batch, head, query, key) array in which an axis of size 1 is repeated: its stride is 0. No
// data: absent.
template <class T>
struct Broadcast {
  T* data = nullptr;
  std::array<int64_t, 4> strides{};

  explicit operator bool() const { return data != nullptr; }
  T& at(int64_t batch, int64_t head, int64_t query, int64_t key) const {
    return data[batch * strides[0] + head * strides[1] + query * strides[2] + key * strides[3]];
  }
};

}  // namespace headlight::tensor
