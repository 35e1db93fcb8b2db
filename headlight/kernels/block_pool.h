// Blocks of a matrix as one number each: pictures of matrices that are too large to show whole.
#pragma once

#include "headlight/kernels/execution.h"
#include "headlight/tensor/tensor.h"

namespace headlight::kernels {

// Cells of a block; those at the ends of the matrix may have fewer.
struct BlockSize {
  int64_t rows = 1;
  int64_t cols = 1;
};

// The side of blocks of which at most `most` cover so many positions; and how many these are.
inline int64_t block_side(int64_t positions, int64_t most) {
  return positions <= most ? 1 : (positions + most - 1) / most;
}
inline int64_t block_count(int64_t positions, int64_t side) {
  return (positions + side - 1) / side;
}

// The largest number of each block and the mean; both are (block_count(rows), block_count(cols)).
// What is -infinity counts only in blocks that have nothing else; a block with NaN is NaN.
void pool_blocks(tensor::ConstMatrixView x, BlockSize block, tensor::MatrixView largest,
                 tensor::MatrixView mean);

}  // namespace headlight::kernels
