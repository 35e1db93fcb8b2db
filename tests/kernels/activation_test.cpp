// Activations: against the formulas, everywhere on the line and at every place of an array.
#include "headlight/kernels/reference/activation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "headlight/kernels/kernels.h"
#include "tests/kernels/rows.h"

namespace headlight::kernels {
namespace {

using namespace tests;

std::vector<double> reference_forward(Activation activation, const std::vector<double>& x) {
  std::vector<double> y(x.size());
  reference::activation_forward(activation, x.data(), y.data(), static_cast<int64_t>(x.size()));
  return y;
}

std::vector<double> reference_backward(Activation activation, const std::vector<double>& x,
                                       const std::vector<double>& dy) {
  std::vector<double> dx(x.size());
  reference::activation_backward(activation, x.data(), dy.data(), dx.data(),
                                 static_cast<int64_t>(x.size()));
  return dx;
}

class ActivationKernel : public OnEachTarget {};

TEST_P(ActivationKernel, equals_the_formula_for_every_size_in_place_and_not) {
  for (const auto& [activation, name, needs] : kActivations) {
    for (const int64_t count : kOddSizes) {
      const PaddedRows x(1, count, 1, -6, 6);
      const PaddedRows dy(1, count, 2);
      PaddedRows y(1, count, 3);
      activation_forward(execution(), activation, x.data(), y.data(), count);
      // tanh is that of the scores' cap, within 1.5e-7.
      const double most = activation == Activation::tanh ? 1.6e-7 : 1e-7;
      expect_close(y.view(), reference_forward(activation, x.exact()), most);
      EXPECT_TRUE(y.gaps_are_whole());
      PaddedRows in_place(x);
      activation_forward(execution(), activation, in_place.data(), in_place.data(), count);
      EXPECT_TRUE(same_bits(in_place.view(), y.view()));

      PaddedRows dx(dy);
      activation_backward(execution(), activation, x.data(), dx.data(), dx.data(), count);
      expect_close(dx.view(), reference_backward(activation, x.exact(), dy.exact()), 2e-7);
      EXPECT_TRUE(dx.gaps_are_whole());
    }
  }
}

TEST_P(ActivationKernel, is_exact_to_the_last_bits_over_the_line) {
  std::vector<double> x;
  for (int i = -60000; i <= 60000; ++i) x.push_back(static_cast<float>(i * 2.5e-4));
  const std::vector<float> given = rounded(x);
  std::vector<float> got(x.size());
  for (const auto& [activation, name, needs] : kActivations) {
    activation_forward(execution(), activation, given.data(), got.data(),
                       static_cast<int64_t>(x.size()));
    for (size_t i = 0; i < x.size(); ++i) {
      const double want = reference::activate(activation, x[i]);
      ASSERT_NEAR(got[i], want, 1e-7 + 6e-8 * std::abs(want))
          << name << " at " << x[i] << " on " << simd_target();
    }
    const std::vector<float> ones(x.size(), 1);
    activation_backward(execution(), activation, given.data(), ones.data(), got.data(),
                        static_cast<int64_t>(x.size()));
    for (size_t i = 0; i < x.size(); ++i) {
      const double want = reference::activation_slope(activation, x[i]);
      ASSERT_NEAR(got[i], want, 2e-7) << name << " at " << x[i] << " on " << simd_target();
    }
  }
}

TEST_P(ActivationKernel, saturates_and_keeps_nan) {
  const std::vector<float> x = {-kInfinity, -3e38f,    -1e10f,         -50,   50, 1e10f,
                                3e38f,      kInfinity, std::nanf("1"), -0.0f, 0};
  std::vector<float> y(x.size()), slope(x.size());
  const std::vector<float> ones(x.size(), 1);
  for (const Activation activation : {Activation::relu, Activation::gelu, Activation::gelu_tanh}) {
    activation_forward(execution(), activation, x.data(), y.data(), 11);
    activation_backward(execution(), activation, x.data(), ones.data(), slope.data(), 11);
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(y[i], 0) << x[i];
      EXPECT_EQ(slope[i], 0) << x[i];
    }
    for (size_t i = 4; i < 8; ++i) {
      EXPECT_EQ(y[i], x[i]);
      EXPECT_EQ(slope[i], 1) << x[i];
    }
    EXPECT_TRUE(std::isnan(y[8]));
    EXPECT_EQ(y[9], 0);
    EXPECT_EQ(y[10], 0);
  }
}

TEST_P(ActivationKernel, silu_falls_to_nothing_only_where_floats_end) {
  const std::vector<float> x = {-kInfinity, -3e38f, -101, -60, -20, 60, 3e38f, kInfinity};
  std::vector<float> y(x.size()), slope(x.size());
  const std::vector<float> ones(x.size(), 1);
  activation_forward(execution(), Activation::silu, x.data(), y.data(), 8);
  activation_backward(execution(), Activation::silu, x.data(), ones.data(), slope.data(), 8);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(y[i], 0) << x[i];
    EXPECT_EQ(slope[i], 0) << x[i];
  }
  for (size_t i = 3; i < 5; ++i) {
    const double want = double{x[i]} * std::exp(double{x[i]});
    EXPECT_NEAR(y[i] / want, 1, 1e-6) << x[i];
    EXPECT_NEAR(slope[i] / (want + std::exp(double{x[i]})), 1, 1e-6) << x[i];
  }
  for (size_t i = 5; i < 8; ++i) {
    EXPECT_EQ(y[i], x[i]);
    EXPECT_EQ(slope[i], 1) << x[i];
  }
  const float nan = std::nanf("1");
  activation_forward(execution(), Activation::silu, &nan, y.data(), 1);
  activation_backward(execution(), Activation::silu, &nan, ones.data(), slope.data(), 1);
  EXPECT_TRUE(std::isnan(y[0]) && std::isnan(slope[0]));
}

TEST_P(ActivationKernel, backward_needs_no_more_than_it_says) {
  const std::vector<float> x = rounded(random_numbers(301, 9, -6, 6));
  for (const auto& [activation, name, needs] : kActivations) {
    std::vector<float> from_input(x.size()), kept(x.size()), from_kept(x.size());
    activation_backward(execution(), activation, x.data(), x.data(), from_input.data(), 301);
    if (needs == ActivationNeeds::nothing) {
      EXPECT_TRUE(same_bits(from_input, x)) << name;
    }
    if (needs != ActivationNeeds::output) continue;
    activation_forward(execution(), activation, x.data(), kept.data(), 301);
    activation_backward(execution(), activation, kept.data(), x.data(), from_kept.data(), 301);
    EXPECT_TRUE(same_bits(from_kept, from_input)) << name;
  }
}

TEST_P(ActivationKernel, gives_an_element_the_same_bits_at_every_place) {
  for (const auto& [activation, name, needs] : kActivations) {
    const std::vector<float> x = rounded(random_numbers(67, 5, -6, 6));
    std::vector<float> whole(67), dwhole(67);
    activation_forward(execution(), activation, x.data(), whole.data(), 67);
    activation_backward(execution(), activation, x.data(), x.data(), dwhole.data(), 67);
    for (int64_t first = 0; first < 67; ++first) {
      std::vector<float> part(static_cast<size_t>(67 - first)), dpart(part.size());
      activation_forward(execution(), activation, x.data() + first, part.data(), 67 - first);
      activation_backward(execution(), activation, x.data() + first, x.data() + first, dpart.data(),
                          67 - first);
      EXPECT_TRUE(same_bits(part, {whole.begin() + first, whole.end()})) << first;
      EXPECT_TRUE(same_bits(dpart, {dwhole.begin() + first, dwhole.end()})) << first;
    }
  }
}

TEST_P(ActivationKernel, has_the_same_bits_for_any_number_of_threads) {
  const std::vector<float> x = rounded(random_numbers(50000, 6, -6, 6));
  expect_same_bits_for_any_threads([&](const Execution& with) {
    std::vector<float> y(x.size());
    activation_forward(with, Activation::gelu, x.data(), y.data(), 50000);
    activation_backward(with, Activation::gelu_tanh, x.data(), y.data(), y.data(), 50000);
    return y;
  });
}

HEADLIGHT_ON_EACH_TARGET(ActivationKernel);

TEST(Activations, stand_in_the_table_at_their_own_places) {
  for (const ActivationFacts& facts : kActivations) {
    EXPECT_EQ(facts_of(facts.activation).name, facts.name);
  }
  EXPECT_EQ(name_of(Activation::none), "none");
  EXPECT_EQ(name_of(Activation::relu), "relu");
  EXPECT_EQ(name_of(Activation::gelu), "gelu");
  EXPECT_EQ(name_of(Activation::gelu_tanh), "gelu_new");
  EXPECT_EQ(name_of(Activation::silu), "silu");
  EXPECT_EQ(name_of(Activation::tanh), "tanh");
}

TEST(ActivationReference, has_the_slope_of_its_differences) {
  for (const auto& [activation, name, needs] : kActivations) {
    const std::vector<double> x = random_numbers(400, 7, -8, 8);
    const std::vector<double> dy = random_numbers(400, 8);
    const auto f = [&](const std::vector<double>& at) {
      return dot(reference_forward(activation, at), dy);
    };
    expect_close(reference_backward(activation, x, dy), differences(f, x), 1e-8);
  }
}

}  // namespace
}  // namespace headlight::kernels
