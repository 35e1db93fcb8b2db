// Updates of parameters and the norm of gradients, on every instruction set.
#include "headlight/kernels/reference/adamw.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "headlight/kernels/kernels.h"
#include "tests/kernels/rows.h"

namespace headlight::kernels {
namespace {

using namespace tests;

// Numbers, gradient and moments of one parameter, each between NaNs.
struct Problem {
  Problem(int64_t count, uint64_t seed)
      : numbers(1, count, seed),
        gradient(1, count, seed + 1),
        first(1, count, seed + 2, -0.5F, 0.5F),
        second(1, count, seed + 3, 0, 0.5F) {}
  ParameterUpdate update(double weight_decay, double step) const {
    return {.numbers = numbers.data(),
            .gradient = gradient.data(),
            .first_moment = first.data(),
            .second_moment = second.data(),
            .count = numbers.view().cols,
            .weight_decay = weight_decay,
            .step = step};
  }
  bool gaps_are_whole() const {
    return numbers.gaps_are_whole() && gradient.gaps_are_whole() && first.gaps_are_whole() &&
           second.gaps_are_whole();
  }
  PaddedRows numbers, gradient, first, second;
};

constexpr UpdateRule kRules[] = {UpdateRule::adamw, UpdateRule::adam, UpdateRule::sgd};

UpdateOptions options_for(UpdateRule rule) {
  return {.rule = rule,
          .learning_rate = 0.03,
          .beta1 = 0.9,
          .beta2 = 0.98,
          .epsilon = 1e-3,
          .momentum = 0.8,
          .gradient_factor = 0.7};
}

class Update : public OnEachTarget {};

TEST_P(Update, equals_the_formula_of_each_rule_at_odd_sizes) {
  for (const UpdateRule rule : kRules) {
    for (const int64_t count : kOddSizes) {
      const Problem problem(count, 5);
      const std::vector<double> p = problem.numbers.exact(), g = problem.gradient.exact();
      const std::vector<double> m = problem.first.exact(), v = problem.second.exact();
      std::vector<double> want_p, want_m, want_v;
      for (size_t i = 0; i < p.size(); ++i) {
        const auto want =
            reference::update<double>(options_for(rule), 0.1, 3, g[i], {p[i], m[i], v[i]});
        want_p.push_back(want.number);
        want_m.push_back(want.first_moment);
        want_v.push_back(want.second_moment);
      }
      const ParameterUpdate update = problem.update(0.1, 3);
      update_parameters(execution(), options_for(rule), {&update, 1});
      expect_close(problem.numbers.view(), want_p, 3e-7);
      expect_close(problem.first.view(), want_m, 3e-7);
      expect_close(problem.second.view(), want_v, 3e-7);
      EXPECT_TRUE(problem.gaps_are_whole());
    }
  }
}

TEST_P(Update, of_many_parameters_has_the_bits_of_each_alone_for_any_number_of_threads) {
  for (const UpdateRule rule : kRules) {
    expect_same_bits_for_any_threads([rule](const Execution& with) {
      const Problem large(50000, 1), small(7, 2), none(0, 3), alone(50000, 1);
      const ParameterUpdate all[] = {large.update(0.1, 2), none.update(0, 1), small.update(0, 9)};
      update_parameters(with, options_for(rule), all);
      const ParameterUpdate one = alone.update(0.1, 2);
      update_parameters(with, options_for(rule), {&one, 1});
      EXPECT_TRUE(same_bits(large.numbers.view(), alone.numbers.view()));
      std::vector<float> result = rounded(large.numbers.exact());
      for (const float number : rounded(small.numbers.exact())) result.push_back(number);
      return result;
    });
  }
}

TEST_P(Update, forgets_moments_that_are_too_small_to_be_normal) {
  const float tiny = std::numeric_limits<float>::min();
  float p = 1, g = 0, m = tiny, v = tiny;
  const ParameterUpdate update{
      .numbers = &p, .gradient = &g, .first_moment = &m, .second_moment = &v, .count = 1};
  update_parameters(execution(), options_for(UpdateRule::adamw), {&update, 1});
  EXPECT_EQ(m, 0);
  EXPECT_EQ(v, 0);
}

TEST_P(Update, passes_on_what_is_not_a_number) {
  float p = 1, g = NAN, m = 0, v = 0;
  const ParameterUpdate update{
      .numbers = &p, .gradient = &g, .first_moment = &m, .second_moment = &v, .count = 1};
  update_parameters(execution(), options_for(UpdateRule::adamw), {&update, 1});
  EXPECT_TRUE(std::isnan(p) && std::isnan(m) && std::isnan(v));
}

class GradientNorm : public OnEachTarget {};

TEST_P(GradientNorm, is_the_root_of_the_sum_of_squares_of_all_parameters) {
  for (const int64_t count : {0, 1, 2, 17, 1025, 40000}) {
    const Problem a(count, 1), b(33, 2);
    double sum = 0;
    for (const double g : a.gradient.exact()) sum += g * g;
    for (const double g : b.gradient.exact()) sum += g * g;
    const ParameterUpdate both[] = {a.update(0, 1), b.update(0, 1)};
    EXPECT_NEAR(norm_of(square_sums(execution(), both)), std::sqrt(sum), 3e-7 * std::sqrt(sum));
  }
  EXPECT_EQ(norm_of(square_sums(execution(), {})), 0);
}

TEST_P(GradientNorm, has_the_same_bits_for_any_number_of_threads) {
  const Problem problem(300000, 4);
  const ParameterUpdate update = problem.update(0, 1);
  expect_same_bits_for_any_threads([&update](const Execution& with) {
    const double norm = norm_of(square_sums(with, {&update, 1}));
    const float high = static_cast<float>(norm);
    return std::vector<float>{high, static_cast<float>(norm - high)};
  });
}

TEST_P(GradientNorm, shows_what_is_not_finite) {
  Problem problem(100, 4);
  const ParameterUpdate update = problem.update(0, 1);
  problem.gradient.data()[99] = INFINITY;
  EXPECT_EQ(norm_of(square_sums(execution(), {&update, 1})), INFINITY);
  problem.gradient.data()[98] = NAN;
  EXPECT_TRUE(std::isnan(norm_of(square_sums(execution(), {&update, 1}))));
}

HEADLIGHT_ON_EACH_TARGET(Update);
HEADLIGHT_ON_EACH_TARGET(GradientNorm);

}  // namespace
}  // namespace headlight::kernels
