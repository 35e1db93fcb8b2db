// Row by row, so that memory is read in its order.
#include "headlight/kernels/block_pool.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace headlight::kernels {
namespace {

constexpr float kHidden = -std::numeric_limits<float>::infinity();

struct BlockSum {
  float largest = kHidden;
  double sum = 0;
  int64_t count = 0;

  void add(float value) {
    if (value == kHidden) return;
    largest = std::max(largest, value);
    sum += static_cast<double>(value);
    ++count;
  }
};

}  // namespace

void pool_blocks(tensor::ConstMatrixView x, BlockSize block, tensor::MatrixView largest,
                 tensor::MatrixView mean) {
  std::vector<BlockSum> sums(static_cast<size_t>(largest.cols));
  for (int64_t first = 0; first < x.rows; first += block.rows) {
    std::fill(sums.begin(), sums.end(), BlockSum());
    for (int64_t row = first; row < std::min(x.rows, first + block.rows); ++row) {
      for (int64_t at = 0; at < largest.cols; ++at) {
        BlockSum& sum = sums[static_cast<size_t>(at)];
        const int64_t end = std::min(x.cols, (at + 1) * block.cols);
        for (int64_t col = at * block.cols; col < end; ++col) sum.add(x.at(row, col));
      }
    }
    for (int64_t at = 0; at < largest.cols; ++at) {
      const BlockSum& sum = sums[static_cast<size_t>(at)];
      const bool is_number = !std::isnan(sum.sum);
      const auto average = static_cast<float>(sum.sum / static_cast<double>(sum.count));
      largest.at(first / block.rows, at) =
          is_number ? sum.largest : std::numeric_limits<float>::quiet_NaN();
      mean.at(first / block.rows, at) = sum.count == 0 ? kHidden : average;
    }
  }
}

}  // namespace headlight::kernels
