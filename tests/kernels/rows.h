// What the tests of row kernels share: matrices that start off alignment with gaps between their
// rows, comparison with the reference, gradients by differences, and running on every instruction
// set.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "headlight/kernels/kernels.h"

namespace headlight::tests {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Sizes around those of vectors and tiles.
inline constexpr int64_t kOddSizes[] = {0, 1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 64, 65, 100, 129};

// A matrix of uniform random numbers. Before, between and after its rows lie NaNs, which kernels
// must neither use nor write over.
class PaddedRows {
 public:
  PaddedRows(int64_t rows, int64_t cols, uint64_t seed, float low = -2, float high = 2);
  PaddedRows(const PaddedRows& other) : numbers_(other.numbers_), view_(other.view_) {
    view_.data = numbers_.data() + kOffset;
  }
  PaddedRows& operator=(const PaddedRows&) = delete;

  const tensor::MatrixView& view() const { return view_; }
  float* data() const { return view_.data; }
  std::vector<double> exact() const;  // contiguous
  void fill(float value);
  // True while all that is not the matrix is still NaN.
  bool gaps_are_whole() const;

 private:
  static constexpr int64_t kOffset = 3;
  static constexpr int64_t kGap = 5;
  std::vector<float> numbers_;
  tensor::MatrixView view_;
};

bool same_bits(const tensor::MatrixView& a, const tensor::MatrixView& b);
bool same_bits(const std::vector<float>& a, const std::vector<float>& b);

// Each number within `tolerance`, relative to the largest wanted (or to 1).
void expect_close(const tensor::MatrixView& got, const std::vector<double>& want,
                  double tolerance = 1e-6);
void expect_close(const float* got, const std::vector<double>& want, double tolerance = 1e-6);
void expect_close(const std::vector<double>& got, const std::vector<double>& want,
                  double tolerance);

// Central differences of a function of a vector, one coordinate after the other.
std::vector<double> differences(const std::function<double(const std::vector<double>&)>& f,
                                const std::vector<double>& x);
double dot(const std::vector<double>& a, const std::vector<double>& b);
std::vector<double> random_numbers(int64_t count, uint64_t seed, double low = -2, double high = 2);
std::vector<float> rounded(const std::vector<double>& numbers);
// The doubles that floats can hold, so that kernels and references are given the same numbers.
std::vector<double> random_floats(int64_t count, uint64_t seed, float low = -2, float high = 2);

// Runs each test on every instruction set this machine has.
class OnEachTarget : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { kernels::limit_simd(GetParam()); }
  void TearDown() override { kernels::limit_simd(kernels::simd_targets().front()); }

  kernels::Execution execution() { return {threads_, arena_}; }
  // Calls run(execution) with 1 to 8 threads; it returns the result's numbers, whose bits must be
  // the same.
  void expect_same_bits_for_any_threads(
      const std::function<std::vector<float>(const kernels::Execution&)>& run);

 private:
  base::ThreadPool threads_{2};
  tensor::Arena arena_;
};

#define HEADLIGHT_ON_EACH_TARGET(suite)                                           \
  INSTANTIATE_TEST_SUITE_P(on, suite, testing::ValuesIn(kernels::simd_targets()), \
                           [](const auto& target) { return target.param; })

}  // namespace headlight::tests
