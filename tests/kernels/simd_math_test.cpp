// The vector functions under the kernels, on every instruction set: how exact they are, and that
// the vectorised Philox draws base::philox's numbers.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS HWY_SSSE3
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/kernels/simd_math_test.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "headlight/kernels/dispatch.h"
#include "headlight/kernels/simd/math-inl.h"
#include "headlight/kernels/simd/random-inl.h"

HWY_BEFORE_NAMESPACE();
namespace headlight::kernels::HWY_NAMESPACE {

// y = f(x) for `count` numbers, a multiple of every vector length.
template <class F>
void apply_each(const F& f, const float* x, float* y, int64_t count) {
  const hn::ScalableTag<float> d;
  for (int64_t i = 0; i < count; i += static_cast<int64_t>(hn::Lanes(d))) {
    hn::StoreU(f(d, hn::LoadU(d, x + i)), d, y + i);
  }
}

void apply_exp(const float* x, float* y, int64_t count) {
  apply_each([](auto d, auto v) HWY_ATTR { return exp_softmax(d, v); }, x, y, count);
}
void apply_tanh(const float* x, float* y, int64_t count) {
  apply_each([](auto d, auto v) HWY_ATTR { return tanh(d, v); }, x, y, count);
}
void apply_normal_tail(const float* x, float* y, int64_t count) {
  apply_each([](auto d, auto v) HWY_ATTR { return normal_tail(d, v); }, x, y, count);
}
void draw_factors(const base::PhiloxBlock& counter, uint64_t key, int64_t first, int64_t count,
                  float probability, float* factors) {
  dropout_factors(key, counter[1], counter[2], counter[3], first, count, probability, factors);
}

}  // namespace headlight::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/kernels/rows.h"

namespace headlight::kernels {
namespace {

using namespace tests;

HEADLIGHT_EXPORT(apply_exp);
HEADLIGHT_EXPORT(apply_tanh);
HEADLIGHT_EXPORT(apply_normal_tail);
HEADLIGHT_EXPORT(draw_factors);

using Vectors = void (*)(const float*, float*, int64_t);

// Every `step`-th float from 0 to |bound|, with bound's sign.
std::vector<float> floats_up_to(float bound, uint32_t step) {
  uint32_t last = 0;
  std::memcpy(&last, &bound, sizeof last);
  std::vector<float> x;
  for (uint32_t bits = last & 0x80000000u; bits <= last; bits += step) {
    float number = 0;
    std::memcpy(&number, &bits, sizeof number);
    x.push_back(number);
  }
  return x;
}

std::vector<float> apply(Vectors function, std::vector<float> x) {
  const size_t count = x.size();
  x.resize((count + 15) / 16 * 16);
  std::vector<float> y(x.size());
  function(x.data(), y.data(), static_cast<int64_t>(x.size()));
  y.resize(count);
  return y;
}

struct Errors {
  long double ulps = 0;
  long double absolute = 0;
};

// The largest errors against a long double function over [low, 0] and [0, high].
Errors largest_errors(Vectors function, long double (*exact)(long double), float low, float high) {
  Errors errors;
  for (const float bound : {low, high}) {
    const std::vector<float> x = floats_up_to(bound, 20011);
    const std::vector<float> y = apply(function, x);
    for (size_t i = 0; i < x.size(); ++i) {
      const long double want = exact(x[i]);
      const long double error = std::abs(y[i] - want);
      const float nearest = std::abs(static_cast<float>(want));
      const float ulp = std::nextafter(nearest, kInfinity) - nearest;
      errors.ulps = std::max(errors.ulps, error / ulp);
      errors.absolute = std::max(errors.absolute, error);
    }
  }
  return errors;
}

class VectorMath : public OnEachTarget {};

TEST_P(VectorMath, exp_is_within_two_units_in_the_last_place) {
  const Errors errors = largest_errors(
      HEADLIGHT_DISPATCH(apply_exp), [](long double x) { return std::exp(x); }, -87.3f, 88);
  EXPECT_LT(errors.ulps, 1.5);
}

TEST_P(VectorMath, tanh_is_within_four_units_in_the_last_place) {
  const Errors errors = largest_errors(
      HEADLIGHT_DISPATCH(apply_tanh), [](long double x) { return std::tanh(x); }, -20, 20);
  EXPECT_LT(errors.ulps, 4);
  EXPECT_LT(errors.absolute, 2e-7);
}

TEST_P(VectorMath, normal_tail_is_exact_to_eight_digits) {
  const Errors errors = largest_errors(
      HEADLIGHT_DISPATCH(apply_normal_tail),
      [](long double x) { return std::erfc(x / std::sqrt(2.0L)) / 2; }, 0, 14);
  EXPECT_LT(errors.absolute, 1e-7);
}

TEST_P(VectorMath, ends_where_it_should) {
  const std::vector<float> x = {0, -0.0f, -87.4f, -1e10f, -3e38f, -kInfinity, kInfinity};
  const std::vector<float> powers = apply(HEADLIGHT_DISPATCH(apply_exp), x);
  EXPECT_EQ(powers[0], 1);
  EXPECT_EQ(powers[1], 1);
  for (size_t i = 2; i < 6; ++i) EXPECT_EQ(powers[i], 0) << x[i];
  const std::vector<float> tanhs = apply(HEADLIGHT_DISPATCH(apply_tanh), x);
  EXPECT_EQ(tanhs[0], 0);
  for (size_t i = 2; i < 6; ++i) EXPECT_EQ(tanhs[i], -1) << x[i];
  EXPECT_EQ(tanhs[6], 1);
  for (const float big : floats_up_to(1e30f, 50021)) {
    ASSERT_LE(std::abs(apply(HEADLIGHT_DISPATCH(apply_tanh), {big})[0]), 1) << big;
  }
  const std::vector<float> tails = apply(HEADLIGHT_DISPATCH(apply_normal_tail), {15, 50, 1e4f});
  for (const float tail : tails) EXPECT_EQ(tail, 0);
}

TEST_P(VectorMath, keeps_nan_of_any_kind) {
  for (const uint32_t bits : {0x7fc00000u, 0xffc00000u, 0x7fc12345u, 0x7fffffffu, 0x7f800001u}) {
    float nan = 0;
    std::memcpy(&nan, &bits, sizeof nan);
    EXPECT_TRUE(std::isnan(apply(HEADLIGHT_DISPATCH(apply_exp), {nan})[0])) << bits;
    EXPECT_TRUE(std::isnan(apply(HEADLIGHT_DISPATCH(apply_tanh), {nan})[0])) << bits;
    EXPECT_TRUE(std::isnan(apply(HEADLIGHT_DISPATCH(apply_normal_tail), {nan})[0])) << bits;
  }
}

TEST_P(VectorMath, draws_the_numbers_of_philox_for_any_run_of_columns) {
  const base::PhiloxBlock counter = {0, 0xdeadbeef, 7, 0x80000001};
  constexpr uint64_t kKey = 0x123456789abcdef0;
  for (const float probability : {0.0f, 1e-9f, 0.1f, 0.5f, 0.999f, 1.0f}) {
    for (const int64_t first : {int64_t{0}, int64_t{4}, int64_t{124}, (int64_t{1} << 34) - 256}) {
      for (const int64_t count : kOddSizes) {
        std::vector<float> factors(static_cast<size_t>(count) + 1, -1);
        HEADLIGHT_DISPATCH(draw_factors)
        (counter, kKey, first, count, probability, factors.data());
        for (int64_t i = 0; i < count; ++i) {
          base::PhiloxBlock at = counter;
          at[0] = static_cast<uint32_t>((first + i) / 4);
          const uint32_t bits = base::philox(at, kKey)[static_cast<size_t>((first + i) % 4)];
          const bool kept = probability < 1 && bits >= probability * 0x1p32;
          ASSERT_EQ(factors[static_cast<size_t>(i)], kept ? 1 / (1 - probability) : 0)
              << i << " of " << count << " from " << first << ", " << probability;
        }
        ASSERT_EQ(factors.back(), -1);
      }
    }
  }
}

HEADLIGHT_ON_EACH_TARGET(VectorMath);

}  // namespace
}  // namespace headlight::kernels
#endif  // HWY_ONCE
