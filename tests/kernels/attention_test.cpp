// The attention kernels against the double-precision reference, and the same bits whatever runs
// beside.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/kernels/attention_checks.h"

namespace headlight::tests {
namespace {

TEST(Attention, agrees_with_the_reference_and_keeps_its_bits_on_1000_random_problems) {
  expect_agreement_and_same_bits(0, 1000, {});
}

TEST(Attention, agrees_with_the_reference_and_keeps_its_bits_over_several_key_tiles) {
  expect_agreement_and_same_bits(100000, 40, {.largest_size = 24, .long_keys = true});
}

TEST(LongAttention, agrees_with_the_reference_and_keeps_its_bits_on_10000_random_problems) {
  expect_agreement_and_same_bits(200000, 9000, {});
}

TEST(LongAttention, agrees_with_the_reference_and_keeps_its_bits_over_several_key_tiles) {
  expect_agreement_and_same_bits(300000, 1000, {.largest_size = 40, .long_keys = true});
}

bool all_finite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); });
}

TEST(Attention, never_lets_through_what_hides_behind_a_mask) {
  on_each_target([] {
    for (const double poison :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
      AttentionCase clean = plain_case(20, 150);
      clean.causal = true;
      clean.past = {100};
      // Key 125 is seen by no row; key 110 only from row 10 on; row 3 sees nothing.
      clean.keep.assign(20 * 150, 1);
      clean.keep_sizes[0] = clean.keep_sizes[1] = 1, clean.keep_sizes[2] = 20,
      clean.keep_sizes[3] = 150;
      for (size_t j = 0; j < 150; ++j) clean.keep[3 * 150 + j] = 0;
      AttentionCase poisoned = clean;
      for (size_t e = 0; e < 8; ++e) {
        for (const size_t j : {110u, 125u})
          poisoned.key[j * 8 + e] = poisoned.value[j * 8 + e] = poison;
        poisoned.query[3 * 8 + e] = poisoned.d_output[3 * 8 + e] = poison;
      }
      const AttentionRun want = run_kernels(clean, {.backward = true, .weights = true});
      const AttentionRun got = run_kernels(poisoned, {.backward = true, .weights = true});
      for (size_t i = 0; i < 10; ++i) {
        for (size_t e = 0; e < 8; ++e) {
          EXPECT_EQ(got.output[i * 8 + e], want.output[i * 8 + e]);
          EXPECT_EQ(got.d_query[i * 8 + e], want.d_query[i * 8 + e]);
        }
      }
      EXPECT_TRUE(std::isnan(got.output[10 * 8]));
      for (size_t e = 0; e < 8; ++e) {
        EXPECT_EQ(got.output[3 * 8 + e], 0.0f);
        EXPECT_EQ(got.d_query[3 * 8 + e], 0.0f);
        EXPECT_EQ(got.d_key[125 * 8 + e], 0.0f);
        EXPECT_EQ(got.d_value[125 * 8 + e], 0.0f);
      }
    }
  });
}

TEST(Attention, shows_every_stage_of_the_scores_as_the_formulas_have_it) {
  using kernels::ScoreStage;
  for (uint64_t seed = 0; seed < 120; ++seed) {
    const AttentionCase c = AttentionCase::draw(400000 + seed, {.largest_size = 30});
    SCOPED_TRACE(c.text());
    const auto in = reference_inputs(c);
    for (const ScoreStage stage : {ScoreStage::raw, ScoreStage::scaled, ScoreStage::capped,
                                   ScoreStage::position_bias, ScoreStage::masked}) {
      if (stage == ScoreStage::position_bias && c.positions.empty()) continue;
      std::vector<double> want;
      const kernels::AttentionShape& s = c.shape;
      for (int64_t n = 0; n < s.batch * s.heads * s.queries * s.keys; ++n) {
        const int64_t row = n / s.keys, head = row / s.queries;
        const auto score = kernels::reference::score_of(in, head / s.heads, head % s.heads,
                                                        row % s.queries, n % s.keys);
        want.push_back(stage == ScoreStage::raw             ? score.raw
                       : stage == ScoreStage::scaled        ? score.scaled
                       : stage == ScoreStage::capped        ? score.capped
                       : stage == ScoreStage::position_bias ? score.position_bias
                                                            : score.masked);
      }
      EXPECT_LT(difference(run_kernels(c, {.weights = true, .stage = stage}).weights, want), 1e-5)
          << "stage " << static_cast<int>(stage);
    }
  }
}

TEST(Attention, of_a_row_that_sees_nothing_is_zero_with_zero_gradients) {
  expect_zeros_without_keys(plain_case(4, 6));
}

TEST(Attention, of_large_scores_neither_overflows_nor_loses_the_weights) {
  AttentionCase c = plain_case(5, 300);
  c.scale = 200;
  const AttentionRun run = run_kernels(c, {.backward = true, .weights = true});
  const ReferenceRun want = run_reference(c);
  EXPECT_TRUE(all_finite(run.output) && all_finite(run.d_query));
  EXPECT_LT(difference(run.output, want.forward.output), 1e-3);
}

TEST(Attention, weights_times_values_give_the_output) {
  const AttentionCase c = plain_case(17, 260);
  const AttentionRun run = run_kernels(c, {.weights = true});
  for (size_t i = 0; i < 17; ++i) {
    for (size_t e = 0; e < 8; ++e) {
      double sum = 0;
      for (size_t j = 0; j < 260; ++j)
        sum += static_cast<double>(run.weights[i * 260 + j]) * c.value[j * 8 + e];
      EXPECT_NEAR(sum, static_cast<double>(run.output[i * 8 + e]), 2e-6);
    }
  }
}

}  // namespace
}  // namespace headlight::tests
