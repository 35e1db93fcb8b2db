// Sums, copies, zeros, dropout, embedding rows and sinusoidal positions.
#pragma once

#include "headlight/kernels/execution.h"

namespace headlight::kernels {

// y = alpha * a + b, same sizes; y may be a or b.
void add(const Execution& execution, float alpha, tensor::ConstMatrixView a,
         tensor::ConstMatrixView b, tensor::MatrixView y);
// y = alpha * x; y may be x.
void scale(const Execution& execution, float alpha, tensor::ConstMatrixView x,
           tensor::MatrixView y);
// y = 0.
void clear(const Execution& execution, tensor::MatrixView y);
// sums[c] += sum over rows of x[r][c], in an order fixed by the number of rows (gradient of a
// bias).
void add_column_sums(const Execution& execution, tensor::ConstMatrixView x, float* sums);

// y = x * keep / (1 - probability), where keep is drawn from (key, row, column): row r of x is row
// first_row + r of the draw. The same call on dy is the backward pass. With `accumulate` the result
// is added to y; y may be x. Column c of row r is kept when number c % 4 of base::philox({c / 4,
// low half of r, high half of r, kDropoutTag}, key) is at least probability * 2^32.
constexpr uint32_t kDropoutTag = 0x64726f70;
struct DropoutDraw {
  float probability = 0;
  uint64_t key = 0;
  int64_t first_row = 0;
};
void dropout(const Execution& execution, const DropoutDraw& draw, tensor::ConstMatrixView x,
             tensor::MatrixView y, bool accumulate);

// y[r] = table[ids[r]]; ids are within the table (checked by the caller).
void embedding_forward(const Execution& execution, tensor::ConstMatrixView table,
                       const int64_t* ids, tensor::MatrixView y);
// d_table[ids[r]] += dy[r], rows in increasing order for each id.
void embedding_backward(const Execution& execution, const int64_t* ids, tensor::ConstMatrixView dy,
                        tensor::MatrixView d_table);

// Sinusoidal positions: row r is for position p = first + r.
//   interleaved:  columns 2i and 2i + 1 are sine and cosine of p / base^(i / divisor)
//   halves:       the first half of a row is the sines, the second the cosines
// An odd row has one sine more than cosines.
// The divisor is cols / 2, or cols / 2 - 1 with `half_minus_one`.
struct SinusoidOptions {
  int64_t first = 0;
  double base = 10000;
  bool halves = false;
  bool half_minus_one = false;
};
void sinusoids(const SinusoidOptions& options, tensor::MatrixView y);

}  // namespace headlight::kernels
