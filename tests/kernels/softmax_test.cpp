// Softmax and log-softmax of rows: against the formulas, on rows shorter and longer than a block,
// at the ends of the number line.
#include "headlight/kernels/reference/softmax.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "headlight/kernels/kernels.h"
#include "tests/kernels/rows.h"

namespace headlight::kernels {
namespace {

using namespace tests;

// Softmax, or its logarithm, by kernel and by reference.
struct Function {
  bool log;

  std::vector<double> forward(const std::vector<double>& x, int64_t rows, int64_t cols) const {
    std::vector<double> y(x.size());
    (log ? reference::log_softmax_forward<double>
         : reference::softmax_forward<double>)(x.data(), y.data(), rows, cols);
    return y;
  }
  std::vector<double> backward(const std::vector<double>& y, const std::vector<double>& dy,
                               std::vector<double> dx, int64_t rows, int64_t cols) const {
    (log ? reference::log_softmax_backward<double>
         : reference::softmax_backward<double>)(y.data(), dy.data(), dx.data(), rows, cols);
    return dx;
  }
  void forward(const Execution& with, tensor::ConstMatrixView x, tensor::MatrixView y) const {
    (log ? log_softmax_forward : softmax_forward)(with, x, y);
  }
  void backward(const Execution& with, tensor::ConstMatrixView y, tensor::ConstMatrixView dy,
                tensor::MatrixView dx) const {
    (log ? log_softmax_backward : softmax_backward)(with, y, dy, dx);
  }
};
constexpr Function kBoth[] = {{false}, {true}};

class SoftmaxKernel : public OnEachTarget {
 protected:
  void check(const Function& function, int64_t rows, int64_t cols) {
    const PaddedRows x(rows, cols, 1, -9, 9);
    PaddedRows y(rows, cols, 2);
    function.forward(execution(), x.view(), y.view());
    expect_close(y.view(), function.forward(x.exact(), rows, cols), 3e-7);
    EXPECT_TRUE(y.gaps_are_whole());
    PaddedRows in_place(x);
    function.forward(execution(), in_place.view(), in_place.view());
    EXPECT_TRUE(same_bits(in_place.view(), y.view()));

    const PaddedRows dy(rows, cols, 3);
    PaddedRows dx(rows, cols, 4);
    const std::vector<double> before = dx.exact();
    function.backward(execution(), y.view(), dy.view(), dx.view());
    expect_close(dx.view(), function.backward(y.exact(), dy.exact(), before, rows, cols), 5e-7);
    EXPECT_TRUE(dx.gaps_are_whole());
  }
};

TEST_P(SoftmaxKernel, equals_the_formula_for_every_size) {
  for (const Function& function : kBoth) {
    for (const int64_t cols : kOddSizes) {
      for (const int64_t rows : {0, 1, 3}) check(function, rows, cols);
    }
  }
}

TEST_P(SoftmaxKernel, equals_the_formula_for_rows_of_several_blocks) {
  for (const Function& function : kBoth) {
    for (const int64_t cols : {2047, 2048, 2049, 4099, 9000}) check(function, 2, cols);
  }
}

TEST_P(SoftmaxKernel, rescales_earlier_blocks_when_the_maximum_grows) {
  for (const float step : {30.0f, -30.0f, 100.0f, -100.0f}) {
    PaddedRows x(1, 6200, 5);
    for (int64_t c = 0; c < 6200; ++c) {
      x.view().at(0, c) += step * static_cast<float>(c / 2048);
    }
    for (const Function& function : kBoth) {
      PaddedRows y(1, 6200, 6);
      function.forward(execution(), x.view(), y.view());
      expect_close(y.view(), function.forward(x.exact(), 1, 6200));
    }
  }
}

TEST_P(SoftmaxKernel, of_a_row_of_only_minus_infinity_is_zero_and_its_logarithm_minus_infinity) {
  for (const int64_t cols : {1, 5, 16, 3000}) {
    PaddedRows x(2, cols, 7);
    for (int64_t c = 0; c < cols; ++c) x.view().at(0, c) = -kInfinity;
    PaddedRows y(x);
    softmax_forward(execution(), x.view(), y.view());
    PaddedRows log_y(x);
    log_softmax_forward(execution(), x.view(), log_y.view());
    double sum = 0;
    for (int64_t c = 0; c < cols; ++c) {
      EXPECT_EQ(y.view().at(0, c), 0);
      EXPECT_EQ(log_y.view().at(0, c), -kInfinity);
      sum += y.view().at(1, c);
    }
    EXPECT_NEAR(sum, 1, 1e-6);
  }
}

TEST_P(SoftmaxKernel, hides_what_is_minus_infinity_in_a_row_of_several_blocks) {
  PaddedRows x(1, 5000, 8);
  for (int64_t c = 0; c < 2500; ++c) x.view().at(0, c) = -kInfinity;
  PaddedRows y(x);
  softmax_forward(execution(), x.view(), y.view());
  std::vector<double> want(x.exact().size());
  reference::softmax_forward(x.exact().data(), want.data(), 1, 5000);
  expect_close(y.view(), want);
  EXPECT_EQ(y.view().at(0, 2499), 0);
}

TEST_P(SoftmaxKernel, of_huge_numbers_is_finite) {
  PaddedRows x(2, 4, 9);
  for (int64_t c = 0; c < 4; ++c) {
    x.view().at(0, c) = static_cast<float>(c);
    x.view().at(1, c) = 1e4f + static_cast<float>(c);
  }
  PaddedRows y(x);
  softmax_forward(execution(), x.view(), y.view());
  for (int64_t c = 0; c < 4; ++c) EXPECT_EQ(y.view().at(0, c), y.view().at(1, c));
}

TEST_P(SoftmaxKernel, of_a_row_with_nan_is_nan_and_leaves_other_rows_alone) {
  for (const int64_t place : {0, 5, 16, 2600}) {
    PaddedRows x(2, 3000, 10);
    PaddedRows clean(x);
    x.view().at(0, place) = std::nanf("123");
    softmax_forward(execution(), x.view(), x.view());
    softmax_forward(execution(), clean.view(), clean.view());
    for (int64_t c = 0; c < 3000; ++c) {
      ASSERT_TRUE(std::isnan(x.view().at(0, c))) << c;
      ASSERT_EQ(x.view().at(1, c), clean.view().at(1, c));
    }
  }
}

TEST_P(SoftmaxKernel, has_the_same_bits_for_any_number_of_threads) {
  const std::vector<float> x = rounded(random_numbers(300 * 333, 11, -9, 9));
  expect_same_bits_for_any_threads([&](const Execution& with) {
    std::vector<float> y(x);
    std::vector<float> dx(x.size(), 0);
    const tensor::MatrixView view{y.data(), 300, 333, 333, 1};
    const tensor::MatrixView d_view{dx.data(), 300, 333, 333, 1};
    const tensor::ConstMatrixView dy{x.data(), 300, 333, 333, 1};
    softmax_forward(with, view, view);
    softmax_backward(with, view, dy, d_view);
    log_softmax_forward(with, view, view);
    log_softmax_backward(with, view, dy, d_view);
    dx.insert(dx.end(), y.begin(), y.end());
    return dx;
  });
}

HEADLIGHT_ON_EACH_TARGET(SoftmaxKernel);

TEST(SoftmaxReference, has_the_gradient_of_its_differences) {
  const base::Random random(12);
  for (uint64_t n = 0; n < 400; ++n) {
    const Function& function = kBoth[n % 2];
    const int64_t rows = 1 + static_cast<int64_t>(random.below(2 * n, 4));
    const int64_t cols = 1 + static_cast<int64_t>(random.below(2 * n + 1, 12));
    const std::vector<double> x = random_numbers(rows * cols, 100 + n);
    const std::vector<double> dy = random_numbers(rows * cols, 900 + n);
    const auto f = [&](const std::vector<double>& at) {
      return dot(function.forward(at, rows, cols), dy);
    };
    const std::vector<double> y = function.forward(x, rows, cols);
    expect_close(function.backward(y, dy, std::vector<double>(x.size()), rows, cols),
                 differences(f, x), 1e-8);
  }
}

}  // namespace
}  // namespace headlight::kernels
