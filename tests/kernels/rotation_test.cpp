// Rotary positions: rates, and rows turned forward and back.
#include "headlight/kernels/reference/rotation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "headlight/kernels/kernels.h"
#include "tests/kernels/rows.h"

namespace headlight::kernels {
namespace {

using namespace tests;

class RotationKernel : public OnEachTarget {
 protected:
  // Two sequences; `passed` columns of each head are not rotated.
  void check(Rotation rotation, int64_t passed) {
    const int64_t width = 2 * rotation.pairs + passed;
    const int64_t past[] = {0, 41};
    const std::vector<float> rates = rotary_rates({.width = 2 * rotation.pairs, .base = 100});
    rotation.rates = rates.data();
    rotation.past = past;
    const int64_t rows = 2 * rotation.sequence_rows;
    const PaddedRows x(rows, rotation.heads * width, 1);
    for (const bool accumulate : {false, true}) {
      PaddedRows y(rows, rotation.heads * width, 2);
      if (!accumulate) y.fill(0);
      std::vector<double> want = y.exact();
      reference::rotate(rotation, x.exact().data(), want.data(), rows, width);
      if (!accumulate) y.fill(std::nanf(""));
      rotate(execution(), rotation, x.view(), y.view(), accumulate);
      expect_close(y.view(), want, 3e-7);
      EXPECT_TRUE(y.gaps_are_whole());
    }
    PaddedRows apart(rows, rotation.heads * width, 3), in_place(x);
    rotate(execution(), rotation, x.view(), apart.view(), false);
    rotate(execution(), rotation, in_place.view(), in_place.view(), false);
    EXPECT_TRUE(same_bits(in_place.view(), apart.view()));
  }
};

TEST_P(RotationKernel, equals_the_formula_for_every_size_and_layout) {
  for (const bool interleaved : {false, true}) {
    for (const bool backwards : {false, true}) {
      for (const int64_t pairs : kOddSizes) {
        for (const int64_t passed : {0, 1, 20}) {
          check({.pairs = pairs,
                 .heads = 1 + pairs % 3,
                 .sequence_rows = 4,
                 .interleaved = interleaved,
                 .magnitude = passed == 1 ? 1.5f : 1,
                 .backwards = backwards},
                passed);
        }
      }
    }
  }
}

TEST_P(RotationKernel, turns_a_quarter_where_the_angle_is_one) {
  const float rate = static_cast<float>(M_PI / 2);
  const int64_t past = 1;
  std::vector<float> halves = {2, 3, 7}, neighbours = halves;
  Rotation rotation{.rates = &rate, .pairs = 1, .past = &past};
  for (std::vector<float>* x : {&halves, &neighbours}) {
    const tensor::MatrixView view{x->data(), 1, 3, 3, 1};
    rotate(execution(), rotation, view, view, false);
    rotation.interleaved = true;
    EXPECT_NEAR((*x)[0], -3, 1e-6);
    EXPECT_NEAR((*x)[1], 2, 1e-6);
    EXPECT_EQ((*x)[2], 7);
  }
}

TEST_P(RotationKernel, is_exact_at_a_million) {
  const std::vector<float> rates = rotary_rates({.width = 64});
  for (const int64_t past : {int64_t{999000}, int64_t{123457}, int64_t{-77}}) {
    const Rotation rotation{
        .rates = rates.data(), .pairs = 32, .sequence_rows = 1000, .past = &past};
    std::vector<float> x(1000 * 64);  // (1, 0): the cosine and the sine themselves
    for (size_t i = 0; i < x.size(); ++i) x[i] = i % 64 < 32 ? 1 : 0;
    std::vector<float> y(x.size());
    rotate(execution(), rotation, tensor::ConstMatrixView{x.data(), 1000, 64, 64, 1},
           {y.data(), 1000, 64, 64, 1}, false);
    for (int64_t row = 0; row < 1000; row += 7) {
      for (int64_t i = 0; i < 32; ++i) {
        const long double angle =
            static_cast<long double>(past + row) * rates[static_cast<size_t>(i)];
        const size_t at = static_cast<size_t>(row * 64 + i);
        ASSERT_NEAR(y[at], std::cos(angle), 6e-8) << row << " " << i;
        ASSERT_NEAR(y[at + 32], std::sin(angle), 6e-8) << row << " " << i;
      }
    }
  }
}

TEST_P(RotationKernel, gives_a_row_the_bits_of_its_position_wherever_it_is) {
  const std::vector<float> rates = rotary_rates({.width = 20});
  const std::vector<float> x = rounded(random_numbers(60 * 50, 1));
  for (const bool interleaved : {false, true}) {
    Rotation rotation{.rates = rates.data(),
                      .pairs = 10,
                      .heads = 2,
                      .sequence_rows = 60,
                      .interleaved = interleaved};
    std::vector<float> whole(x.size());
    rotate(execution(), rotation, tensor::ConstMatrixView{x.data(), 60, 50, 50, 1},
           {whole.data(), 60, 50, 50, 1}, false);
    // Rows 10 to 12 and 57 to 59 as two sequences that go on from there.
    const int64_t past[] = {10, 57};
    std::vector<float> given, got(6 * 50), want;
    for (const int64_t first : past) {
      given.insert(given.end(), x.begin() + first * 50, x.begin() + (first + 3) * 50);
      want.insert(want.end(), whole.begin() + first * 50, whole.begin() + (first + 3) * 50);
    }
    rotation.sequence_rows = 3;
    rotation.past = past;
    rotate(execution(), rotation, tensor::ConstMatrixView{given.data(), 6, 50, 50, 1},
           {got.data(), 6, 50, 50, 1}, false);
    EXPECT_TRUE(tests::same_bits(got, want));
  }
}

TEST_P(RotationKernel, leaves_products_of_queries_and_keys_to_their_distance) {
  const std::vector<float> rates = rotary_rates({.width = 16});
  const std::vector<float> query = rounded(random_numbers(16, 1)),
                           key = rounded(random_numbers(16, 2));
  const auto at = [&](const std::vector<float>& x, int64_t position) {
    std::vector<float> y(16);
    rotate(execution(), {.rates = rates.data(), .pairs = 8, .past = &position},
           tensor::ConstMatrixView{x.data(), 1, 16, 16, 1}, {y.data(), 1, 16, 16, 1}, false);
    return std::vector<double>(y.begin(), y.end());
  };
  const double product = dot(at(query, 9), at(key, 4));
  EXPECT_NEAR(dot(at(query, 100009), at(key, 100004)), product, 1e-5);
  EXPECT_GT(std::abs(dot(at(query, 9), at(key, 5)) - product), 1e-2);
}

TEST_P(RotationKernel, has_the_same_bits_for_any_number_of_threads) {
  const std::vector<float> rates = rotary_rates({.width = 40});
  const std::vector<float> x = rounded(random_numbers(3 * 400 * 130, 5));
  const int64_t past[] = {0, 9, 9};
  for (const bool interleaved : {false, true}) {
    expect_same_bits_for_any_threads([&](const Execution& with) {
      std::vector<float> y(3 * 400 * 100);
      rotate(with,
             {.rates = rates.data(),
              .pairs = 20,
              .heads = 2,
              .sequence_rows = 400,
              .past = past,
              .interleaved = interleaved},
             tensor::ConstMatrixView{x.data() + 7, 1200, 100, 130, 1},
             {y.data(), 1200, 100, 100, 1}, false);
      return y;
    });
  }
}

HEADLIGHT_ON_EACH_TARGET(RotationKernel);

void expect_rates(const RotaryRates& options, const std::vector<double>& want) {
  const std::vector<float> rates = rotary_rates(options);
  ASSERT_EQ(rates.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(rates[i] / want[i], 1, 1e-7) << i;
}

TEST(RotaryRates, fall_from_one_by_powers_of_the_base) {
  expect_rates({.width = 8}, {1, 0.1, 0.01, 0.001});
  expect_rates({.width = 4, .base = 625}, {1, 0.04});
  expect_rates({.width = 2, .base = 500000}, {1});
  expect_rates({.width = 0}, {});
}

TEST(RotaryRates, of_linear_scaling_are_divided_by_the_factor) {
  expect_rates({.width = 8, .scaling = RotaryScaling::linear, .factor = 4},
               {0.25, 0.025, 0.0025, 0.00025});
}

// Within 1000 positions the four rates turn 159, 15.9, 1.59155 and 0.159 times: two are kept, one
// lies 0.197183 of the way from 1 to 4, the last is slowed down.
TEST(RotaryRates, of_llama_3_are_slowed_down_where_they_turn_seldom) {
  expect_rates({.width = 8,
                .scaling = RotaryScaling::llama3,
                .factor = 8,
                .low_freq_factor = 1,
                .high_freq_factor = 4,
                .original_positions = 1000},
               {1, 0.1, 0.01 * (0.19718314 + 0.80281686 / 8), 0.001 / 8});
}

}  // namespace
}  // namespace headlight::kernels
