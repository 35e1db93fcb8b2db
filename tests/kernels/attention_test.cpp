// The attention kernels against the double-precision reference, and the same bits whatever runs
// beside.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/kernels/attention_cases.h"

namespace headlight::tests {
namespace {

class AllTargets {
 public:
  // Runs `body` under each instruction set, and puts the best one back.
  template <class F>
  static void run(const F& body) {
    for (const std::string& target : kernels::simd_targets()) {
      kernels::limit_simd(target);
      SCOPED_TRACE(target);
      body();
    }
    kernels::limit_simd(kernels::simd_targets().front());
  }
};

double largest_of(std::initializer_list<const std::vector<double>*> all) {
  double largest = 1e-3;  // all-zero results compare too
  for (const auto* values : all)
    for (const double x : *values) largest = std::max(largest, std::isfinite(x) ? std::abs(x) : 0);
  return largest;
}

// Largest difference; infinite when one is not a number where the other is.
double distance(const std::vector<float>& got, const std::vector<double>& want) {
  if (got.size() != want.size()) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (size_t n = 0; n < got.size(); ++n) {
    const double x = static_cast<double>(got[n]);
    if (x == want[n]) continue;
    if (!std::isfinite(x)) return std::numeric_limits<double>::infinity();
    worst = std::max(worst, std::abs(x - want[n]));
  }
  return worst;
}

double difference(const std::vector<float>& got, const std::vector<double>& want) {
  return distance(got, want) / largest_of({&want});
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

void expect_agreement(const AttentionCase& c, const ReferenceRun& want, uint64_t seed) {
  const AttentionRun run = run_kernels(
      c, {.threads = 2, .heads_inside = seed % 2 == 0, .backward = true, .weights = true});
  constexpr double kOutput = 1e-5, kGradient = 3e-5;
  EXPECT_LT(difference(run.output, want.forward.output), kOutput);
  EXPECT_LT(difference(run.weights, want.forward.weights), kOutput);
  EXPECT_LT(difference(run.row_max, want.forward.row_max), kOutput);
  EXPECT_LT(difference(run.row_sum, want.forward.row_sum), kOutput);
  // Some gradients are zero by nature, so all are measured by the largest.
  const auto& back = want.backward;
  const double gradient =
      kGradient * largest_of({&back.query, &back.key, &back.value, &want.d_bias, &want.d_gates});
  EXPECT_LT(distance(run.d_query, back.query), gradient);
  EXPECT_LT(distance(run.d_key, back.key), gradient);
  EXPECT_LT(distance(run.d_value, back.value), gradient);
  EXPECT_LT(distance(run.d_bias, want.d_bias), gradient + 1e-6 * want.summed);
  EXPECT_LT(distance(run.d_gates, want.d_gates), gradient + 1e-6 * want.summed);
}

bool same_run(const AttentionRun& a, const AttentionRun& b) {
  return same_bits(a.output, b.output) && same_bits(a.row_max, b.row_max) &&
         same_bits(a.row_sum, b.row_sum) && same_bits(a.d_query, b.d_query) &&
         same_bits(a.d_key, b.d_key) && same_bits(a.d_value, b.d_value) &&
         same_bits(a.d_bias, b.d_bias) && same_bits(a.d_gates, b.d_gates);
}

std::vector<float> sequence_part(const std::vector<float>& all, int64_t b, int64_t batch) {
  const auto size = static_cast<int64_t>(all.size()) / batch;
  return {all.begin() + b * size, all.begin() + (b + 1) * size};
}

void expect_same_bits(const AttentionCase& c, uint64_t seed) {
  const AttentionRun run = run_kernels(c, {.threads = 1, .backward = true});
  const int threads = 2 + static_cast<int>(seed % 7);
  EXPECT_TRUE(
      same_run(run, run_kernels(c, {.threads = threads, .heads_inside = true, .backward = true})))
      << threads << " threads";
  const int64_t batch = c.shape.batch;
  for (int64_t b = 0; b < batch; ++b) {
    const AttentionRun alone = run_kernels(c, {.threads = 2, .backward = true, .only_sequence = b});
    EXPECT_TRUE(same_bits(alone.output, sequence_part(run.output, b, batch)));
    EXPECT_TRUE(same_bits(alone.d_query, sequence_part(run.d_query, b, batch)));
    EXPECT_TRUE(same_bits(alone.d_key, sequence_part(run.d_key, b, batch)));
    EXPECT_TRUE(same_bits(alone.d_value, sequence_part(run.d_value, b, batch)));
  }
  if (c.dropout_probability > 0) return;
  EXPECT_TRUE(same_bits(run.output, run_cached(c))) << "cached row by row";
}

// Every problem on every instruction set against the reference; the same bits on one of them, in
// turn.
void differential(uint64_t first, uint64_t count, const CaseLimits& limits) {
  const std::vector<std::string> targets = kernels::simd_targets();
  for (uint64_t seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed) {
    const AttentionCase c = AttentionCase::draw(seed, limits);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + c.text());
    const ReferenceRun want = run_reference(c);
    for (size_t n = 0; n < targets.size(); ++n) {
      kernels::limit_simd(targets[n]);
      SCOPED_TRACE(targets[n]);
      expect_agreement(c, want, seed);
      if (n == seed % targets.size()) expect_same_bits(c, seed);
    }
  }
  kernels::limit_simd(targets.front());
}

TEST(Attention, agrees_with_the_reference_and_keeps_its_bits_on_1000_random_problems) {
  differential(0, 1000, {});
}

TEST(Attention, agrees_with_the_reference_and_keeps_its_bits_over_several_key_tiles) {
  differential(100000, 40, {.largest_size = 24, .long_keys = true});
}

TEST(LongAttention, agrees_with_the_reference_and_keeps_its_bits_on_10000_random_problems) {
  differential(200000, 9000, {});
}

TEST(LongAttention, agrees_with_the_reference_and_keeps_its_bits_over_several_key_tiles) {
  differential(300000, 1000, {.largest_size = 40, .long_keys = true});
}

// One sequence, one head, `keys` keys, width 8, everything random.
AttentionCase plain_case(int64_t queries, int64_t keys) {
  AttentionCase c;
  c.shape = {1, 1, 1, queries, keys, 8, 8};
  const base::Random random(11);
  const auto fill = [&](std::vector<double>& values, int64_t count, uint64_t from) {
    for (int64_t n = 0; n < count; ++n)
      values.push_back(static_cast<double>(random.normal(from + static_cast<uint64_t>(n))));
  };
  fill(c.query, queries * 8, 0), fill(c.key, keys * 8, 10000), fill(c.value, keys * 8, 20000);
  fill(c.d_output, queries * 8, 30000);
  c.scale = 0.5;
  return c;
}

bool all_finite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); });
}

TEST(Attention, never_lets_through_what_hides_behind_a_mask) {
  AllTargets::run([] {
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
    for (const ScoreStage stage :
         {ScoreStage::raw, ScoreStage::scaled, ScoreStage::capped, ScoreStage::masked}) {
      std::vector<double> want;
      const kernels::AttentionShape& s = c.shape;
      for (int64_t n = 0; n < s.batch * s.heads * s.queries * s.keys; ++n) {
        const int64_t row = n / s.keys, head = row / s.queries;
        const auto score = kernels::reference::score_of(in, head / s.heads, head % s.heads,
                                                        row % s.queries, n % s.keys);
        want.push_back(stage == ScoreStage::raw      ? score.raw
                       : stage == ScoreStage::scaled ? score.scaled
                       : stage == ScoreStage::capped ? score.capped
                                                     : score.masked);
      }
      EXPECT_LT(difference(run_kernels(c, {.weights = true, .stage = stage}).weights, want), 1e-5)
          << "stage " << static_cast<int>(stage);
    }
  }
}

TEST(Attention, of_a_row_that_sees_nothing_is_zero_with_zero_gradients) {
  AttentionCase c = plain_case(4, 6);
  c.valid_lens = {0};
  const AttentionRun run = run_kernels(c, {.backward = true, .weights = true});
  for (const auto* values : {&run.output, &run.weights, &run.d_query, &run.d_key, &run.d_value}) {
    for (const float x : *values) EXPECT_EQ(x, 0.0f);
  }
  for (const float x : run.row_max) EXPECT_EQ(x, -std::numeric_limits<float>::infinity());
  for (const float x : run.row_sum) EXPECT_EQ(x, 0.0f);
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
