// Position biases in the score tile: ALiBi's and T5's numbers, the bits of the same bias written
// out, and what -infinity hides.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/kernels/attention_checks.h"

namespace headlight::tests {
namespace {

using kernels::PositionBiasKind;
using kernels::ScoreStage;

constexpr double kHides = -std::numeric_limits<double>::infinity();

// A table whose entries are the numbers of their buckets, so that biases tell the bucket.
AttentionCase bucket_case(int64_t keys, int64_t buckets, bool bidirectional, int64_t max_distance) {
  AttentionCase c = plain_case(1, keys);
  c.position_bias = {PositionBiasKind::buckets, nullptr, buckets, bidirectional, max_distance};
  for (int64_t bucket = 0; bucket < buckets; ++bucket)
    c.positions.push_back(static_cast<double>(bucket));
  return c;
}

std::vector<float> biases_of(const AttentionCase& c) {
  return run_kernels(c, {.weights = true, .stage = ScoreStage::position_bias}).weights;
}

// Where each bucket of the distances backwards begins.
std::vector<int64_t> bucket_starts(const AttentionCase& given) {
  AttentionCase c = given;
  c.past = {c.shape.keys - 1};  // the row is the last key's
  std::vector<float> biases = biases_of(c);
  std::reverse(biases.begin(), biases.end());
  std::vector<int64_t> starts;
  for (size_t distance = 0; distance < biases.size(); ++distance) {
    if (biases[distance] == static_cast<float>(starts.size()))
      starts.push_back(static_cast<int64_t>(distance));
  }
  return starts;
}

TEST(PositionBias, has_the_buckets_that_t5_publishes) {
  EXPECT_EQ(bucket_starts(bucket_case(300, 32, true, 128)),
            (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91}));
  EXPECT_EQ(
      bucket_starts(bucket_case(300, 32, false, 128)),
      (std::vector<int64_t>{0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                            16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113}));
}

TEST(PositionBias, puts_keys_after_the_query_into_the_other_half_or_the_first_bucket) {
  const std::vector<float> both = biases_of(bucket_case(300, 32, true, 128));
  EXPECT_EQ(std::vector<float>(both.begin(), both.begin() + 5),
            (std::vector<float>{0, 17, 18, 19, 20}));
  EXPECT_EQ(both[90], 30);
  EXPECT_EQ(both[91], 31);
  EXPECT_EQ(both[299], 31);
  for (const float bucket : biases_of(bucket_case(300, 32, false, 128))) EXPECT_EQ(bucket, 0);
}

TEST(PositionBias, has_the_buckets_of_the_formula_for_any_number_of_them_and_any_distance) {
  for (const bool bidirectional : {false, true}) {
    for (int64_t buckets = bidirectional ? 4 : 2; buckets < 70; buckets += 3) {
      for (const int64_t max_distance : {buckets, 2 * buckets + 1, int64_t{128}, int64_t{100000}}) {
        if (max_distance < buckets) continue;
        AttentionCase c = bucket_case(1500, buckets, bidirectional, max_distance);
        c.past = {max_distance > 1000 ? 99000 : 700};
        const auto in = reference_inputs(c);
        const std::vector<float> biases = biases_of(c);
        for (int64_t j = 0; j < 1500; ++j) {
          const int64_t relative = relative_position(in, 0, 0, j);
          ASSERT_EQ(biases[static_cast<size_t>(j)],
                    static_cast<float>(position_bucket(in.position_bias, relative)))
              << buckets << " buckets up to " << max_distance << " at " << relative;
        }
      }
    }
  }
}

TEST(PositionBias, that_is_linear_falls_by_the_slope_at_each_step_away_from_the_query) {
  on_each_target([] {
    AttentionCase c = plain_case(3, 200);
    c.position_bias.kind = PositionBiasKind::linear;
    c.positions = {0.25};
    c.past = {50};
    const std::vector<float> biases = biases_of(c);
    for (int64_t n = 0; n < 3 * 200; ++n) {
      const int64_t distance = std::abs(n / 200 + 50 - n % 200);
      EXPECT_EQ(biases[static_cast<size_t>(n)], -0.25f * static_cast<float>(distance));
    }
  });
}

TEST(PositionBias, is_the_same_far_from_the_start_of_a_sequence) {
  for (const int64_t past : {int64_t{1} << 30, int64_t{1} << 31, int64_t{1} << 60}) {
    AttentionCase c = plain_case(2, 130);
    c.position_bias.kind = PositionBiasKind::linear;
    c.positions = {1};
    for (const int64_t sign : {-1, 1}) {
      c.past = {sign * past};
      for (const float bias : biases_of(c)) EXPECT_NEAR(bias / static_cast<float>(-past), 1, 1e-6);
    }
    AttentionCase far = bucket_case(130, 32, true, 128);
    far.past = {past};
    for (const float bucket : biases_of(far)) EXPECT_EQ(bucket, 15);
    far.past = {-past};
    for (const float bucket : biases_of(far)) EXPECT_EQ(bucket, 31);
  }
}

// The first problem from `seed` on that has a position bias.
AttentionCase drawn_case(uint64_t seed) {
  for (;; ++seed) {
    AttentionCase c = AttentionCase::draw(seed, {.largest_size = 40, .long_keys = seed % 4 == 0});
    if (!c.positions.empty() && c.shape.batch > 0) return c;
  }
}

TEST(PositionBias, gives_the_bits_of_the_same_bias_written_out) {
  on_each_target([] {
    for (uint64_t seed = 500000; seed < 500000 + 40 * 100; seed += 100) {
      AttentionCase c = drawn_case(seed);
      c.bias.clear();
      SCOPED_TRACE(c.text());
      AttentionCase written = c;
      written.position_bias = {};
      written.positions.clear();
      const std::vector<float> biases = biases_of(c);
      written.bias.assign(biases.begin(), biases.end());
      const kernels::AttentionShape& s = c.shape;
      std::copy_n(std::vector<int64_t>{s.batch, s.heads, s.queries, s.keys}.begin(), 4,
                  written.bias_sizes);
      const RunOptions options{.backward = true, .weights = true};
      AttentionRun want = run_kernels(written, options), got = run_kernels(c, options);
      want.d_bias.clear();
      got.d_positions.clear();
      EXPECT_TRUE(same_run(got, want));
    }
  });
}

TEST(PositionBias, of_a_coefficient_that_hides_lets_nothing_through) {
  on_each_target([] {
    // Bucket 0 is the query's own position and, one row being all, what comes after.
    for (const int64_t queries : {1, 5}) {
      AttentionCase clean = bucket_case(140, 8, false, 20);
      clean.shape.queries = queries;
      clean.query = random_floats(queries * 8, 1), clean.d_output = random_floats(queries * 8, 4);
      clean.past = {100};
      clean.positions[0] = kHides;
      AttentionCase poisoned = clean;
      for (size_t n = 120 * 8; n < 140 * 8; ++n)
        poisoned.key[n] = poisoned.value[n] = std::numeric_limits<double>::quiet_NaN();
      const RunOptions options{.backward = true, .weights = true};
      EXPECT_TRUE(same_run(run_kernels(poisoned, options), run_kernels(clean, options)));
      EXPECT_EQ(run_kernels(clean, options).d_positions[0], 0.0f);
    }
  });
}

}  // namespace
}  // namespace headlight::tests
