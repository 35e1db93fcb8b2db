// Layer norm, alone and after a residual sum, forward and backward.
#include "headlight/kernels/reference/layer_norm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "headlight/kernels/kernels.h"
#include "tests/kernels/rows.h"

namespace headlight::kernels {
namespace {

using namespace tests;

constexpr double kEpsilon = 1e-5f;

// The reference's results and gradients for given numbers.
struct ExactNorm {
  ExactNorm(const std::vector<double>& x, const std::vector<double>& weight,
            const std::vector<double>& bias, int64_t rows, int64_t cols)
      : rows(rows),
        cols(cols),
        x(x),
        weight(weight),
        y(x.size()),
        mean(static_cast<size_t>(rows)),
        inverse_deviation(static_cast<size_t>(rows)),
        dx(x.size()),
        dweight(weight.size()),
        dbias(weight.size()) {
    reference::layer_norm_forward(x.data(), weight.data(), bias.empty() ? nullptr : bias.data(),
                                  kEpsilon, rows, cols, result());
  }
  reference::LayerNormResult<double> result() {
    return {y.data(), mean.data(), inverse_deviation.data()};
  }
  void backward(const std::vector<double>& dy) {
    reference::layer_norm_backward(x.data(), weight.data(), result(), dy.data(), rows, cols,
                                   {dx.data(), dweight.data(), dbias.data()});
  }

  int64_t rows, cols;
  std::vector<double> x, weight, y, mean, inverse_deviation, dx, dweight, dbias;
};

class LayerNormKernel : public OnEachTarget {
 protected:
  void check(int64_t rows, int64_t cols, bool with_bias) {
    const PaddedRows x(rows, cols, 1, -1, 3), weight(1, cols, 2), bias(1, cols, 3);
    PaddedRows y(rows, cols, 4), mean(1, rows, 5), inverse(1, rows, 6);
    layer_norm_forward(execution(), x.view(), weight.data(), with_bias ? bias.data() : nullptr,
                       static_cast<float>(kEpsilon), {y.view(), mean.data(), inverse.data()});
    ExactNorm exact(x.exact(), weight.exact(), with_bias ? bias.exact() : std::vector<double>(),
                    rows, cols);
    expect_close(y.view(), exact.y);
    expect_close(mean.view(), exact.mean);
    expect_close(inverse.view(), exact.inverse_deviation, 2e-6);
    EXPECT_TRUE(y.gaps_are_whole() && mean.gaps_are_whole() && inverse.gaps_are_whole());

    const PaddedRows dy(rows, cols, 7);
    PaddedRows dx(rows, cols, 8), dweight(1, cols, 9), dbias(1, cols, 10);
    exact.dx = dx.exact();
    exact.dweight = dweight.exact();
    exact.dbias = dbias.exact();
    exact.backward(dy.exact());
    layer_norm_backward(execution(), x.view(), weight.data(), mean.data(), inverse.data(),
                        dy.view(), {dx.view(), dweight.data(), dbias.data()});
    expect_close(dx.view(), exact.dx, 2e-6);
    expect_close(dweight.view(), exact.dweight);
    expect_close(dbias.view(), exact.dbias);
    EXPECT_TRUE(dx.gaps_are_whole() && dweight.gaps_are_whole() && dbias.gaps_are_whole());
  }
};

TEST_P(LayerNormKernel, equals_the_formula_for_every_size) {
  for (const int64_t cols : kOddSizes) {
    if (cols == 1) continue;  // everything is 0 then: see below
    for (const int64_t rows : {0, 1, 4, 37}) check(rows, cols, rows % 2 == 0);
  }
}

TEST_P(LayerNormKernel, equals_the_formula_for_many_and_for_long_rows) {
  check(700, 65, true);
  check(3000, 7, false);
  check(5, 3000, true);
}

TEST_P(LayerNormKernel, of_one_column_is_the_bias) {
  const PaddedRows x(3, 1, 1), weight(1, 1, 2), bias(1, 1, 3);
  PaddedRows y(3, 1, 4), mean(1, 3, 5), inverse(1, 3, 6), dx(3, 1, 7);
  dx.fill(0);
  layer_norm_forward(execution(), x.view(), weight.data(), bias.data(), 1e-5f,
                     {y.view(), mean.data(), inverse.data()});
  layer_norm_backward(execution(), x.view(), weight.data(), mean.data(), inverse.data(), x.view(),
                      {dx.view(), nullptr, nullptr});
  for (int64_t r = 0; r < 3; ++r) {
    EXPECT_EQ(y.view().at(r, 0), bias.view().at(0, 0));
    EXPECT_EQ(dx.view().at(r, 0), 0);
  }
}

TEST_P(LayerNormKernel, keeps_its_variance_when_the_mean_is_large) {
  PaddedRows x(1, 200, 1, 4095, 4097);
  PaddedRows y(1, 200, 2), mean(1, 1, 3), inverse(1, 1, 4);
  const std::vector<float> ones(200, 1);
  layer_norm_forward(execution(), x.view(), ones.data(), nullptr, static_cast<float>(kEpsilon),
                     {y.view(), mean.data(), inverse.data()});
  const ExactNorm exact(x.exact(), std::vector<double>(200, 1), {}, 1, 200);
  expect_close(y.view(), exact.y, 5e-4);  // a mean of 4096 is itself rounded to 2.4e-4
  expect_close(inverse.view(), exact.inverse_deviation);
}

TEST_P(LayerNormKernel, leaves_out_the_gradients_not_asked_for) {
  const PaddedRows x(9, 33, 1), weight(1, 33, 2), dy(9, 33, 3);
  PaddedRows y(9, 33, 4), mean(1, 9, 5), inverse(1, 9, 6);
  layer_norm_forward(execution(), x.view(), weight.data(), nullptr, 1e-5f,
                     {y.view(), mean.data(), inverse.data()});
  PaddedRows dx(9, 33, 7), dweight(1, 33, 8), dbias(1, 33, 9);
  dx.fill(0), dweight.fill(0), dbias.fill(0);
  PaddedRows dx_alone(dx), dweight_alone(dweight), dbias_alone(dbias);
  const auto run = [&](const LayerNormGradients& gradients) {
    layer_norm_backward(execution(), x.view(), weight.data(), mean.data(), inverse.data(),
                        dy.view(), gradients);
  };
  run({dx.view(), dweight.data(), dbias.data()});
  run({dx_alone.view(), nullptr, nullptr});
  run({{}, dweight_alone.data(), nullptr});
  run({{}, nullptr, dbias_alone.data()});
  EXPECT_TRUE(same_bits(dx.view(), dx_alone.view()));
  EXPECT_TRUE(same_bits(dweight.view(), dweight_alone.view()));
  EXPECT_TRUE(same_bits(dbias.view(), dbias_alone.view()));
}

TEST_P(LayerNormKernel, has_the_same_bits_for_any_number_of_threads) {
  const std::vector<float> x = rounded(random_numbers(1500 * 70, 5));
  const std::vector<float> weight = rounded(random_numbers(70, 6));
  expect_same_bits_for_any_threads([&](const Execution& with) {
    std::vector<float> y(x.size()), dx(x.size()), mean(1500), inverse(1500), sums(140);
    const tensor::ConstMatrixView in{x.data(), 1500, 70, 70, 1};
    layer_norm_forward(with, in, weight.data(), weight.data(), 1e-5f,
                       {{y.data(), 1500, 70, 70, 1}, mean.data(), inverse.data()});
    layer_norm_backward(with, in, weight.data(), mean.data(), inverse.data(),
                        tensor::ConstMatrixView{y.data(), 1500, 70, 70, 1},
                        {{dx.data(), 1500, 70, 70, 1}, sums.data(), sums.data() + 70});
    for (const auto& more : {dx, mean, inverse, sums}) y.insert(y.end(), more.begin(), more.end());
    return y;
  });
}

TEST_P(LayerNormKernel, after_a_residual_is_the_norm_of_the_sum) {
  for (const int64_t cols : kOddSizes) {
    const PaddedRows x(6, cols, 1), residual(6, cols, 2), weight(1, cols, 3), bias(1, cols, 4);
    PaddedRows sum(6, cols, 5), y(6, cols, 6), mean(1, 6, 7), inverse(1, 6, 8);
    residual_norm_forward(execution(), x.view(), residual.view(), sum.view(), weight.data(),
                          bias.data(), 1e-5f, {y.view(), mean.data(), inverse.data()});
    PaddedRows want_sum(x), want(y), want_mean(mean), want_inverse(inverse);
    add(execution(), 1, x.view(), residual.view(), want_sum.view());
    layer_norm_forward(execution(), want_sum.view(), weight.data(), bias.data(), 1e-5f,
                       {want.view(), want_mean.data(), want_inverse.data()});
    EXPECT_TRUE(same_bits(sum.view(), want_sum.view()));
    EXPECT_TRUE(same_bits(y.view(), want.view()));
    EXPECT_TRUE(same_bits(mean.view(), want_mean.view()));
    EXPECT_TRUE(sum.gaps_are_whole() && y.gaps_are_whole());

    PaddedRows in_place(x);
    residual_norm_forward(execution(), in_place.view(), residual.view(), in_place.view(),
                          weight.data(), bias.data(), 1e-5f,
                          {y.view(), mean.data(), inverse.data()});
    EXPECT_TRUE(same_bits(in_place.view(), sum.view()));
    EXPECT_TRUE(same_bits(y.view(), want.view()));
  }
}

HEADLIGHT_ON_EACH_TARGET(LayerNormKernel);

TEST(LayerNormReference, has_the_gradients_of_its_differences) {
  const base::Random random(12);
  for (uint64_t n = 0; n < 300; ++n) {
    const int64_t rows = 1 + static_cast<int64_t>(random.below(2 * n, 4));
    const int64_t cols = 2 + static_cast<int64_t>(random.below(2 * n + 1, 9));
    const std::vector<double> x = random_numbers(rows * cols, 100 + n);
    const std::vector<double> weight = random_numbers(cols, 500 + n);
    const std::vector<double> bias = random_numbers(cols, 900 + n);
    const std::vector<double> dy = random_numbers(rows * cols, 1300 + n);
    ExactNorm exact(x, weight, bias, rows, cols);
    exact.backward(dy);
    const auto loss = [&](const std::vector<double>& at, const std::vector<double>& w,
                          const std::vector<double>& b) {
      return dot(ExactNorm(at, w, b, rows, cols).y, dy);
    };
    expect_close(exact.dx, differences([&](const auto& at) { return loss(at, weight, bias); }, x),
                 1e-6);
    expect_close(exact.dweight,
                 differences([&](const auto& at) { return loss(x, at, bias); }, weight), 1e-8);
    expect_close(exact.dbias,
                 differences([&](const auto& at) { return loss(x, weight, at); }, bias), 1e-8);
  }
}

TEST(ResidualNormReference, has_the_gradients_of_its_differences) {
  const base::Random random(13);
  for (uint64_t n = 0; n < 300; ++n) {
    const int64_t cols = 2 + static_cast<int64_t>(random.below(n, 9));
    const std::vector<double> x = random_numbers(2 * cols, 100 + n);
    const std::vector<double> residual = random_numbers(2 * cols, 500 + n);
    const std::vector<double> weight = random_numbers(cols, 900 + n);
    const std::vector<double> dy = random_numbers(2 * cols, 1300 + n);
    const std::vector<double> d_sum = random_numbers(2 * cols, 1700 + n);
    const auto loss = [&](const std::vector<double>& u, const std::vector<double>& v) {
      std::vector<double> sum(u.size()), y(u.size()), mean(2), inverse(2);
      reference::residual_norm_forward<double>(u.data(), v.data(), sum.data(), weight.data(),
                                               nullptr, kEpsilon, 2, cols,
                                               {y.data(), mean.data(), inverse.data()});
      return dot(y, dy) + dot(sum, d_sum);
    };
    // Both inputs have the gradient of the sum: the norm's, and what comes to the sum directly.
    std::vector<double> sum(x);
    for (size_t i = 0; i < x.size(); ++i) sum[i] += residual[i];
    ExactNorm exact(sum, weight, {}, 2, cols);
    exact.dx = d_sum;
    exact.backward(dy);
    expect_close(exact.dx, differences([&](const auto& at) { return loss(at, residual); }, x),
                 1e-6);
    expect_close(exact.dx, differences([&](const auto& at) { return loss(x, at); }, residual),
                 1e-6);
  }
}

}  // namespace
}  // namespace headlight::kernels
