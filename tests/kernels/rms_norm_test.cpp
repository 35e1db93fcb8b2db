// Root-mean-square norm, alone and after a residual sum, forward and backward.
#include "headlight/kernels/reference/rms_norm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "headlight/kernels/kernels.h"
#include "tests/kernels/rows.h"

namespace headlight::kernels {
namespace {

using namespace tests;

constexpr float kRmsEpsilon = 1e-5f;

class RmsNormKernel : public OnEachTarget {
 protected:
  void check(int64_t rows, int64_t cols, float offset) {
    const PaddedRows x(rows, cols, 1, -1, 3), weight(1, cols, 2), dy(rows, cols, 3);
    PaddedRows y(rows, cols, 4), inverse(1, rows, 5), dx(rows, cols, 6), dweight(1, cols, 7);
    std::vector<double> want(x.exact().size()), want_inverse(static_cast<size_t>(rows)),
        want_dx = dx.exact(), want_dweight = dweight.exact();
    const std::vector<double> numbers = x.exact(), weights = weight.exact();
    const reference::RmsNorm<double> exact{weights.data(), offset, kRmsEpsilon, cols};
    exact.forward(numbers.data(), want.data(), want_inverse.data(), rows);
    exact.backward(numbers.data(), dy.exact().data(), want_dx.data(), want_dweight.data(), rows);

    const RmsNormWeight given{weight.data(), offset};
    rms_norm_forward(execution(), x.view(), given, kRmsEpsilon, {y.view(), inverse.data()});
    expect_close(y.view(), want);
    expect_close(inverse.view(), want_inverse, 2e-6);
    rms_norm_backward(execution(), x.view(), given, inverse.data(), dy.view(),
                      {dx.view(), dweight.data()});
    expect_close(dx.view(), want_dx, 2e-6);
    expect_close(dweight.view(), want_dweight);
    EXPECT_TRUE(y.gaps_are_whole() && inverse.gaps_are_whole());
    EXPECT_TRUE(dx.gaps_are_whole() && dweight.gaps_are_whole());
  }
};

TEST_P(RmsNormKernel, equals_the_formula_for_every_size) {
  for (const int64_t cols : kOddSizes) {
    for (const int64_t rows : {0, 1, 4, 37}) check(rows, cols, rows % 2 == 0 ? 0 : 1);
  }
}

TEST_P(RmsNormKernel, equals_the_formula_for_many_and_for_long_rows) {
  check(700, 65, 1);
  check(3000, 7, 0);
  check(5, 3000, 0);
}

TEST_P(RmsNormKernel, of_equal_numbers_is_their_sign_times_the_weight) {
  PaddedRows x(2, 33, 1);
  const PaddedRows weight(1, 33, 2);
  for (int64_t c = 0; c < 33; ++c) x.view().at(0, c) = 3, x.view().at(1, c) = -3;
  PaddedRows y(2, 33, 3), inverse(1, 2, 4);
  rms_norm_forward(execution(), x.view(), {weight.data(), 0}, 0, {y.view(), inverse.data()});
  for (int64_t c = 0; c < 33; ++c) {
    EXPECT_FLOAT_EQ(y.view().at(0, c), weight.view().at(0, c));
    EXPECT_FLOAT_EQ(y.view().at(1, c), -weight.view().at(0, c));
  }
}

TEST_P(RmsNormKernel, leaves_out_the_gradients_not_asked_for) {
  const PaddedRows x(9, 33, 1), weight(1, 33, 2), dy(9, 33, 3);
  PaddedRows y(9, 33, 4), inverse(1, 9, 5);
  const RmsNormWeight given{weight.data(), 1};
  rms_norm_forward(execution(), x.view(), given, kRmsEpsilon, {y.view(), inverse.data()});
  PaddedRows dx(9, 33, 6), dweight(1, 33, 7);
  dx.fill(0), dweight.fill(0);
  PaddedRows dx_alone(dx), dweight_alone(dweight);
  const auto run = [&](const RmsNormGradients& gradients) {
    rms_norm_backward(execution(), x.view(), given, inverse.data(), dy.view(), gradients);
  };
  run({dx.view(), dweight.data()});
  run({dx_alone.view(), nullptr});
  run({{}, dweight_alone.data()});
  EXPECT_TRUE(same_bits(dx.view(), dx_alone.view()));
  EXPECT_TRUE(same_bits(dweight.view(), dweight_alone.view()));
}

TEST_P(RmsNormKernel, has_the_same_bits_for_any_number_of_threads) {
  const std::vector<float> x = rounded(random_numbers(1500 * 70, 5));
  const std::vector<float> weight = rounded(random_numbers(70, 6));
  expect_same_bits_for_any_threads([&](const Execution& with) {
    std::vector<float> y(x.size()), dx(x.size()), inverse(1500), dweight(70);
    const tensor::ConstMatrixView in{x.data(), 1500, 70, 70, 1};
    rms_norm_forward(with, in, {weight.data(), 1}, kRmsEpsilon,
                     {{y.data(), 1500, 70, 70, 1}, inverse.data()});
    rms_norm_backward(with, in, {weight.data(), 1}, inverse.data(),
                      tensor::ConstMatrixView{y.data(), 1500, 70, 70, 1},
                      {{dx.data(), 1500, 70, 70, 1}, dweight.data()});
    for (const auto& more : {dx, inverse, dweight}) y.insert(y.end(), more.begin(), more.end());
    return y;
  });
}

TEST_P(RmsNormKernel, after_a_residual_is_the_norm_of_the_sum) {
  for (const int64_t cols : kOddSizes) {
    const PaddedRows x(6, cols, 1), residual(6, cols, 2), weight(1, cols, 3);
    PaddedRows sum(6, cols, 4), y(6, cols, 5), inverse(1, 6, 6);
    const RmsNormWeight given{weight.data(), 1};
    residual_rms_norm_forward(execution(), x.view(), residual.view(), sum.view(), given,
                              kRmsEpsilon, {y.view(), inverse.data()});
    PaddedRows want_sum(x), want(y), want_inverse(inverse);
    add(execution(), 1, x.view(), residual.view(), want_sum.view());
    rms_norm_forward(execution(), want_sum.view(), given, kRmsEpsilon,
                     {want.view(), want_inverse.data()});
    EXPECT_TRUE(same_bits(sum.view(), want_sum.view()));
    EXPECT_TRUE(same_bits(y.view(), want.view()));
    EXPECT_TRUE(same_bits(inverse.view(), want_inverse.view()));
    EXPECT_TRUE(sum.gaps_are_whole() && y.gaps_are_whole());

    PaddedRows in_place(x);
    residual_rms_norm_forward(execution(), in_place.view(), residual.view(), in_place.view(), given,
                              kRmsEpsilon, {y.view(), inverse.data()});
    EXPECT_TRUE(same_bits(in_place.view(), sum.view()));
    EXPECT_TRUE(same_bits(y.view(), want.view()));
  }
}

HEADLIGHT_ON_EACH_TARGET(RmsNormKernel);

}  // namespace
}  // namespace headlight::kernels
