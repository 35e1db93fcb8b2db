// The product of a gated feed-forward layer, forward and backward.
#include "headlight/kernels/reference/gated_product.h"

#include <gtest/gtest.h>

#include "headlight/kernels/kernels.h"
#include "tests/kernels/rows.h"

namespace headlight::kernels {
namespace {

using namespace tests;

class GatedProductKernel : public OnEachTarget {
 protected:
  void check(Activation activation, int64_t rows, int64_t cols) {
    const PaddedRows gate(rows, cols, 1, -6, 6), up(rows, cols, 2), dy(rows, cols, 3);
    PaddedRows y(rows, cols, 4), dgate(rows, cols, 5), dup(rows, cols, 6);
    const std::vector<double> g = gate.exact(), u = up.exact();
    std::vector<double> want(g.size()), want_dgate = dgate.exact(), want_dup = dup.exact();
    const auto count = static_cast<int64_t>(g.size());
    reference::gated_product_forward(activation, g.data(), u.data(), want.data(), count);
    reference::gated_product_backward(activation, g.data(), u.data(), dy.exact().data(),
                                      want_dgate.data(), want_dup.data(), count);
    gated_product_forward(execution(), activation, gate.view(), up.view(), y.view());
    expect_close(y.view(), want, 3e-7);
    gated_product_backward(execution(), activation, gate.view(), up.view(), dy.view(),
                           {dgate.view(), true, dup.view(), true});
    expect_close(dgate.view(), want_dgate, 3e-7);
    expect_close(dup.view(), want_dup, 3e-7);
    EXPECT_TRUE(y.gaps_are_whole() && dgate.gaps_are_whole() && dup.gaps_are_whole());
  }
};

TEST_P(GatedProductKernel, equals_the_formula_for_every_activation_and_size) {
  for (const auto& [activation, name, needs] : kActivations) {
    SCOPED_TRACE(std::string(name));
    for (const int64_t cols : kOddSizes) {
      for (const int64_t rows : {0, 1, 5}) check(activation, rows, cols);
    }
    check(activation, 3, 9000);
  }
}

TEST_P(GatedProductKernel, is_the_activation_times_the_other_half_to_the_bit) {
  const PaddedRows gate(1, 129, 1, -6, 6), up(1, 129, 2);
  for (const auto& [activation, name, needs] : kActivations) {
    PaddedRows y(1, 129, 3), activated(1, 129, 4), in_gate(gate), in_up(up);
    gated_product_forward(execution(), activation, gate.view(), up.view(), y.view());
    activation_forward(execution(), activation, gate.data(), activated.data(), 129);
    for (int64_t c = 0; c < 129; ++c) {
      ASSERT_EQ(y.view().at(0, c), activated.view().at(0, c) * up.view().at(0, c)) << name;
    }
    gated_product_forward(execution(), activation, in_gate.view(), up.view(), in_gate.view());
    gated_product_forward(execution(), activation, gate.view(), in_up.view(), in_up.view());
    EXPECT_TRUE(same_bits(in_gate.view(), y.view()) && same_bits(in_up.view(), y.view())) << name;
  }
}

TEST_P(GatedProductKernel, writes_adds_and_leaves_out_gradients_as_it_is_told) {
  const PaddedRows gate(7, 33, 1), up(7, 33, 2), dy(7, 33, 3);
  const auto run = [&](const GatedProductGradients& gradients) {
    gated_product_backward(execution(), Activation::silu, gate.view(), up.view(), dy.view(),
                           gradients);
  };
  PaddedRows dgate(7, 33, 4), dup(7, 33, 5), dgate_alone(7, 33, 6), dup_alone(7, 33, 7);
  run({dgate.view(), false, dup.view(), false});
  run({dgate_alone.view(), false, {}, false});
  run({{}, false, dup_alone.view(), false});
  EXPECT_TRUE(same_bits(dgate_alone.view(), dgate.view()));
  EXPECT_TRUE(same_bits(dup_alone.view(), dup.view()));
  PaddedRows added(7, 33, 8), both(7, 33, 9);
  added.fill(0);
  run({added.view(), true, {}, false});
  EXPECT_TRUE(same_bits(added.view(), dgate.view()));
  run({both.view(), false, both.view(), true});
  add(execution(), 1, dgate.view(), dup.view(), added.view());
  EXPECT_TRUE(same_bits(both.view(), added.view()));
}

TEST_P(GatedProductKernel, has_the_same_bits_for_any_number_of_threads) {
  const std::vector<float> x = rounded(random_numbers(900 * 140, 5, -6, 6));
  const tensor::ConstMatrixView gate{x.data(), 900, 70, 140, 1}, up{x.data() + 70, 900, 70, 140, 1};
  expect_same_bits_for_any_threads([&](const Execution& with) {
    std::vector<float> y(900 * 70), dx(x.size());
    gated_product_forward(with, Activation::silu, gate, up, {y.data(), 900, 70, 70, 1});
    gated_product_backward(
        with, Activation::gelu, gate, up, tensor::ConstMatrixView{y.data(), 900, 70, 70, 1},
        {{dx.data(), 900, 70, 140, 1}, false, {dx.data() + 70, 900, 70, 140, 1}, false});
    y.insert(y.end(), dx.begin(), dx.end());
    return y;
  });
}

HEADLIGHT_ON_EACH_TARGET(GatedProductKernel);

}  // namespace
}  // namespace headlight::kernels
