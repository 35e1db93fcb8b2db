// Additive attention: the reference's gradients by differences, the kernels against the reference,
// the same bits whatever runs beside, and nothing through a mask.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/kernels/attention_checks.h"

namespace headlight::tests {
namespace {

TEST(AdditiveAttention, agrees_with_the_reference_and_keeps_its_bits_on_random_problems) {
  expect_agreement_and_same_bits(0, 300, {.largest_size = 40, .additive = true});
}

TEST(AdditiveAttention, agrees_with_the_reference_and_keeps_its_bits_over_several_key_tiles) {
  expect_agreement_and_same_bits(5000, 12,
                                 {.largest_size = 20, .long_keys = true, .additive = true});
}

AttentionCase additive_case(int64_t queries, int64_t keys) {
  AttentionCase c = plain_case(queries, keys);
  c.additive = true;
  c.score_weights = random_floats(8, 5);
  return c;
}

TEST(AdditiveAttention, never_lets_through_what_hides_behind_a_mask) {
  on_each_target([] {
    for (const double poison :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
      // Key 125 is seen by no row; row 3 sees nothing.
      AttentionCase clean = additive_case(20, 150);
      clean.causal = true;
      clean.past = {100};
      clean.keep.assign(20 * 150, 1);
      std::copy_n(std::vector<int64_t>{1, 1, 20, 150}.begin(), 4, clean.keep_sizes);
      std::fill_n(clean.keep.begin() + 3 * 150, 150, uint8_t{0});
      AttentionCase poisoned = clean;
      for (size_t e = 0; e < 8; ++e) {
        poisoned.key[125 * 8 + e] = poisoned.value[125 * 8 + e] = poison;
        poisoned.query[3 * 8 + e] = poisoned.d_output[3 * 8 + e] = poison;
      }
      const RunOptions options{.backward = true, .weights = true};
      EXPECT_TRUE(same_run(run_kernels(poisoned, options), run_kernels(clean, options)));
    }
  });
}

TEST(AdditiveAttention, of_a_row_that_sees_nothing_is_zero_with_zero_gradients) {
  expect_zeros_without_keys(additive_case(4, 6));
}

// The case as a problem for direct calls; keeps the memory.
struct PlainProblem {
  explicit PlainProblem(const AttentionCase& c)
      : query(rounded(c.query)),
        key(rounded(c.key)),
        value(rounded(c.value)),
        d_output(rounded(c.d_output)),
        score_weights(rounded(c.score_weights)) {
    problem.shape = c.shape;
    problem.query = {query.data(), 0, 0, c.shape.key_width};
    problem.key = {key.data(), 0, 0, c.shape.key_width};
    problem.value = {value.data(), 0, 0, c.shape.value_width};
    problem.mask = c.mask();
  }

  std::vector<float> query, key, value, d_output, score_weights;
  kernels::AttentionProblem problem;
};

TEST(AdditiveAttention, gives_the_score_weights_their_gradient_without_the_others) {
  const AttentionCase c = additive_case(9, 140);
  const PlainProblem plain(c);
  base::ThreadPool threads(2);
  tensor::Arena arena;
  std::vector<float> output(9 * 8), row_max(9), row_sum(9), d_score_weights(8);
  const kernels::AttentionOutputs outputs{
      {output.data(), 0, 0, 8}, {}, row_max.data(), row_sum.data()};
  kernels::additive_attention_forward({threads, arena}, plain.problem, plain.score_weights.data(),
                                      outputs);
  kernels::additive_attention_backward({threads, arena}, plain.problem, plain.score_weights.data(),
                                       outputs, {plain.d_output.data(), 0, 0, 8}, {},
                                       d_score_weights.data());
  EXPECT_TRUE(same_bits(d_score_weights, run_kernels(c, {.backward = true}).d_score_weights));
}

TEST(AdditiveAttention, shows_raw_and_masked_scores_of_chosen_rows) {
  AttentionCase c = additive_case(9, 140);
  c.causal = true;
  c.past = {120};
  const PlainProblem plain(c);
  base::ThreadPool threads(2);
  tensor::Arena arena;
  kernels::reference::AttentionInputs<double> in;
  in.shape = c.shape, in.mask = c.mask();
  in.query = c.query.data(), in.key = c.key.data();
  for (const auto stage : {kernels::ScoreStage::raw, kernels::ScoreStage::scaled,
                           kernels::ScoreStage::capped, kernels::ScoreStage::masked}) {
    std::vector<float> scores(3 * 150, -7);
    kernels::additive_attention_scores({threads, arena}, plain.problem, plain.score_weights.data(),
                                       {stage, 0, 0, 4, 3}, nullptr, nullptr, scores.data(), 150);
    for (int64_t row = 0; row < 3; ++row) {
      for (int64_t j = 0; j < 150; ++j) {
        const float got = scores[static_cast<size_t>(row * 150 + j)];
        if (j >= 140) {
          ASSERT_EQ(got, -7) << "past the last key";
          continue;
        }
        const auto want =
            kernels::reference::additive_score(in, c.score_weights.data(), 0, 0, 4 + row, j);
        const double exact = stage == kernels::ScoreStage::masked ? want.masked : want.raw;
        if (std::isinf(exact))
          ASSERT_EQ(got, exact);
        else
          ASSERT_NEAR(got, exact, 2e-6);
      }
    }
  }
}

TEST(AdditiveAttentionReference, has_the_gradients_of_its_differences) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const AttentionCase c = AttentionCase::draw(seed, {.largest_size = 4, .additive = true});
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + c.text());
    const ReferenceRun run = run_reference(c);
    const auto by_differences = [&](std::vector<double> AttentionCase::*input) {
      return differences(
          [&](const std::vector<double>& at) {
            AttentionCase changed = c;
            changed.*input = at;
            return dot(run_reference(changed).forward.output, c.d_output);
          },
          c.*input);
    };
    expect_close(run.backward.query, by_differences(&AttentionCase::query), 1e-7);
    expect_close(run.backward.key, by_differences(&AttentionCase::key), 1e-7);
    expect_close(run.backward.value, by_differences(&AttentionCase::value), 1e-7);
    expect_close(run.d_bias, by_differences(&AttentionCase::bias), 1e-7);
    expect_close(run.d_gates, by_differences(&AttentionCase::gates), 1e-7);
    expect_close(run.d_score_weights, by_differences(&AttentionCase::score_weights), 1e-7);
  }
}

}  // namespace
}  // namespace headlight::tests
