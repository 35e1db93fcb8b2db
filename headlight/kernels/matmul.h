// Matrix products c = a * b on fixed tiles. Every output is one chain of multiply-adds over k in
// increasing order, so its bits depend neither on threads nor on the other rows and columns; packed
// and plain operands, one row and many, give the same.
#pragma once

#include <functional>

#include "headlight/kernels/activation.h"
#include "headlight/kernels/execution.h"

namespace headlight::kernels {

// What happens to a sum before it is stored, in this order.
struct Epilogue {
  bool accumulate = false;      // the chain starts at what c holds instead of at zero
  const float* bias = nullptr;  // (cols,) added to each row
  // When set, the value before the activation is stored here too, laid out as c.
  float* before_activation = nullptr;
  Activation activation = Activation::none;
};

// The right-hand operand rearranged into column panels for the instruction set in use; made once,
// used by many products. float16 and bfloat16 stay so, which halves what a product has to read, and
// are widened as they are used: it gives the bits that it gives for float32.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  // Columns are packed in runs; after each, `on_packed` is told how many from the first on are done
  // and not read again.
  PackedMatrix(const Execution& execution, tensor::ConstMatrixView b,
               const std::function<void(int64_t)>& on_packed = {});
  // Without numbers yet, in memory of bytes_for(rows, cols, dtype); set() or set_narrow() gives
  // them. Of float16 and bfloat16, rows are even.
  PackedMatrix(int64_t rows, int64_t cols, tensor::DType dtype, tensor::Block memory);
  static size_t bytes_for(int64_t rows, int64_t cols, tensor::DType dtype);
  static int64_t columns_together();  // how many columns lie interleaved
  // Takes the numbers of a part that begins at (row, col): a multiple of columns_together(), and so
  // is the part's width unless it reaches the last column. Threads may set different parts.
  void set(int64_t row, int64_t col, tensor::ConstMatrixView part);
  // Whole columns, `count` of them, one after the other, of a matrix of float16 or bfloat16.
  void set_narrow(int64_t col, int64_t count, const uint16_t* columns);
  int64_t rows() const noexcept { return rows_; }  // k
  int64_t cols() const noexcept { return cols_; }  // n
  bool defined() const noexcept { return panels_ != nullptr; }
  tensor::DType dtype() const noexcept { return dtype_; }
  const std::byte* panels() const noexcept { return panels_.get(); }
  // The numbers as they were, number (i, j) at to[i * row_stride + j * col_stride].
  void unpack(float* to, int64_t row_stride, int64_t col_stride) const;
  // Those of one row or column, one after the other.
  void unpack_row(int64_t row, float* to) const;
  void unpack_column(int64_t column, float* to) const;

 private:
  float number(int64_t row, int64_t col) const;

  int64_t rows_ = 0;
  int64_t cols_ = 0;
  tensor::DType dtype_ = tensor::DType::f32;
  tensor::Block panels_;
};

// a is (m x k), b is (k x n), both with any strides; c is (m x n) with col_stride 1. Sizes may be
// 0; k = 0 gives the epilogue of zero.
void matmul(const Execution& execution, tensor::ConstMatrixView a, tensor::ConstMatrixView b,
            tensor::MatrixView c, const Epilogue& epilogue = {});
void matmul(const Execution& execution, tensor::ConstMatrixView a, const PackedMatrix& b,
            tensor::MatrixView c, const Epilogue& epilogue = {});

}  // namespace headlight::kernels
