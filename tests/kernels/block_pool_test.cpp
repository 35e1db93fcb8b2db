// Blocks of matrices: sizes that do and do not divide, numbers that hide.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "headlight/kernels/kernels.h"

namespace headlight::kernels {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

struct Pooled {
  std::vector<float> largest;
  std::vector<float> mean;
};

Pooled pooled(const std::vector<float>& x, int64_t rows, int64_t cols, BlockSize block) {
  const int64_t down = block_count(rows, block.rows);
  const int64_t across = block_count(cols, block.cols);
  Pooled result{std::vector<float>(static_cast<size_t>(down * across)),
                std::vector<float>(static_cast<size_t>(down * across))};
  pool_blocks({x.data(), rows, cols, cols}, block, {result.largest.data(), down, across, across},
              {result.mean.data(), down, across, across});
  return result;
}

TEST(BlockPool, takes_the_largest_and_the_mean_of_each_block) {
  std::vector<float> x;
  for (int i = 0; i < 5 * 7; ++i) x.push_back(static_cast<float>((i * 37) % 23) - 9);
  for (const BlockSize block : {BlockSize{1, 1}, {2, 3}, {5, 7}, {4, 2}, {9, 9}}) {
    const Pooled found = pooled(x, 5, 7, block);
    size_t at = 0;
    for (int64_t row = 0; row < 5; row += block.rows) {
      for (int64_t col = 0; col < 7; col += block.cols, ++at) {
        float largest = kNothing;
        double sum = 0;
        int count = 0;
        for (int64_t i = row; i < std::min<int64_t>(5, row + block.rows); ++i) {
          for (int64_t j = col; j < std::min<int64_t>(7, col + block.cols); ++j) {
            const float value = x[static_cast<size_t>(i * 7 + j)];
            largest = std::max(largest, value);
            sum += value;
            ++count;
          }
        }
        EXPECT_EQ(found.largest[at], largest) << block.rows << "x" << block.cols << " " << at;
        EXPECT_FLOAT_EQ(found.mean[at], static_cast<float>(sum / count));
      }
    }
    EXPECT_EQ(at, found.largest.size());
  }
}

TEST(BlockPool, leaves_out_what_is_hidden_unless_a_block_has_nothing_else) {
  const Pooled found =
      pooled({kNothing, 2, kNothing, kNothing, 4, kNothing, kNothing, kNothing}, 2, 4, {2, 2});
  EXPECT_EQ(found.largest, (std::vector<float>{4, kNothing}));
  EXPECT_EQ(found.mean, (std::vector<float>{3, kNothing}));
}

TEST(BlockPool, shows_a_block_that_has_something_that_is_no_number) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::vector<float>& x : {std::vector<float>{1, nan, 3}, {nan, 1, 3}, {1, 3, nan}}) {
    const Pooled found = pooled(x, 1, 3, {1, 3});
    EXPECT_TRUE(std::isnan(found.largest[0]));
    EXPECT_TRUE(std::isnan(found.mean[0]));
  }
}

TEST(BlockPool, has_blocks_as_small_as_fit) {
  EXPECT_EQ(block_side(7, 7), 1);
  EXPECT_EQ(block_side(8, 7), 2);
  EXPECT_EQ(block_side(2048, 512), 4);
  EXPECT_EQ(block_side(2049, 512), 5);
  for (int64_t positions = 1; positions < 70; ++positions) {
    for (int64_t most = 1; most < 20; ++most) {
      const int64_t count = block_count(positions, block_side(positions, most));
      EXPECT_LE(count, most);
      EXPECT_GE(count, 1);
    }
  }
}

}  // namespace
}  // namespace headlight::kernels
