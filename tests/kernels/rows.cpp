// What the tests of row kernels share.
#include "tests/kernels/rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace headlight::tests {

PaddedRows::PaddedRows(int64_t rows, int64_t cols, uint64_t seed, float low, float high) {
  numbers_.assign(static_cast<size_t>(kOffset + rows * (cols + kGap) + 1),
                  std::numeric_limits<float>::quiet_NaN());
  view_ = {numbers_.data() + kOffset, rows, cols, cols + kGap, 1};
  const base::Random random(seed);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) {
      view_.at(r, c) = low + (high - low) * random.uniform(static_cast<uint64_t>(r * cols + c));
    }
  }
}

std::vector<double> PaddedRows::exact() const {
  std::vector<double> numbers;
  for (int64_t r = 0; r < view_.rows; ++r) {
    for (int64_t c = 0; c < view_.cols; ++c) numbers.push_back(view_.at(r, c));
  }
  return numbers;
}

void PaddedRows::fill(float value) {
  for (int64_t r = 0; r < view_.rows; ++r) {
    for (int64_t c = 0; c < view_.cols; ++c) view_.at(r, c) = value;
  }
}

bool PaddedRows::gaps_are_whole() const {
  for (int64_t i = 0; i < static_cast<int64_t>(numbers_.size()); ++i) {
    const int64_t column = (i - kOffset) % view_.row_stride;
    const bool inside =
        i >= kOffset && i < kOffset + view_.rows * view_.row_stride && column < view_.cols;
    if (!inside && !std::isnan(numbers_[static_cast<size_t>(i)])) return false;
  }
  return true;
}

bool same_bits(const tensor::MatrixView& a, const tensor::MatrixView& b) {
  for (int64_t r = 0; r < a.rows; ++r) {
    for (int64_t c = 0; c < a.cols; ++c) {
      if (std::memcmp(&a.at(r, c), &b.at(r, c), sizeof(float)) != 0) return false;
    }
  }
  return true;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

void expect_close(const std::vector<double>& got, const std::vector<double>& want,
                  double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  double largest = 1;
  for (const double number : want) {
    if (std::isfinite(number)) largest = std::max(largest, std::abs(number));
  }
  for (size_t i = 0; i < want.size(); ++i) {
    if (std::isfinite(want[i])) {
      ASSERT_NEAR(got[i], want[i], tolerance * largest)
          << "at " << i << " on " << kernels::simd_target();
    } else if (std::isnan(want[i])) {
      ASSERT_TRUE(std::isnan(got[i])) << "at " << i << " on " << kernels::simd_target();
    } else {
      ASSERT_EQ(got[i], want[i]) << "at " << i << " on " << kernels::simd_target();
    }
  }
}

void expect_close(const tensor::MatrixView& got, const std::vector<double>& want,
                  double tolerance) {
  std::vector<double> numbers;
  for (int64_t r = 0; r < got.rows; ++r) {
    for (int64_t c = 0; c < got.cols; ++c) numbers.push_back(got.at(r, c));
  }
  expect_close(numbers, want, tolerance);
}

void expect_close(const float* got, const std::vector<double>& want, double tolerance) {
  expect_close(std::vector<double>(got, got + want.size()), want, tolerance);
}

std::vector<double> differences(const std::function<double(const std::vector<double>&)>& f,
                                const std::vector<double>& x) {
  constexpr double kStep = 1e-5;
  std::vector<double> point = x;
  std::vector<double> result;
  for (size_t i = 0; i < x.size(); ++i) {
    point[i] = x[i] + kStep;
    const double above = f(point);
    point[i] = x[i] - kStep;
    const double below = f(point);
    point[i] = x[i];
    result.push_back((above - below) / (2 * kStep));
  }
  return result;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

std::vector<double> random_numbers(int64_t count, uint64_t seed, double low, double high) {
  const base::Random random(seed);
  std::vector<double> numbers;
  for (int64_t i = 0; i < count; ++i) {
    numbers.push_back(low + (high - low) * random.uniform64(static_cast<uint64_t>(i)));
  }
  return numbers;
}

std::vector<float> rounded(const std::vector<double>& numbers) {
  return std::vector<float>(numbers.begin(), numbers.end());
}

std::vector<double> random_floats(int64_t count, uint64_t seed, float low, float high) {
  const std::vector<float> floats = rounded(random_numbers(count, seed, low, high));
  return std::vector<double>(floats.begin(), floats.end());
}

void OnEachTarget::expect_same_bits_for_any_threads(
    const std::function<std::vector<float>(const kernels::Execution&)>& run) {
  base::ThreadPool one(1);
  const std::vector<float> first = run({one, arena_});
  for (int count = 2; count <= 8; ++count) {
    base::ThreadPool threads(count);
    EXPECT_TRUE(same_bits(run({threads, arena_}), first))
        << count << " threads on " << kernels::simd_target();
  }
}

}  // namespace headlight::tests
