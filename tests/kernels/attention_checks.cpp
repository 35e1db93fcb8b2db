// Checks shared by the tests of both kinds of attention.
#include "tests/kernels/attention_checks.h"

#include <algorithm>
#include <cmath>
#include <limits>

// Only programs linked with the sanitizers have them.
extern "C" __attribute__((weak)) void __asan_init();  // NOLINT(bugprone-reserved-identifier)
extern "C" __attribute__((weak)) void __tsan_init();  // NOLINT(bugprone-reserved-identifier)

namespace headlight::tests {
namespace {

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
      kGradient * largest_of({&back.query, &back.key, &back.value, &want.d_bias, &want.d_gates,
                              &want.d_score_weights, &want.d_positions});
  EXPECT_LT(distance(run.d_query, back.query), gradient);
  EXPECT_LT(distance(run.d_key, back.key), gradient);
  EXPECT_LT(distance(run.d_value, back.value), gradient);
  EXPECT_LT(distance(run.d_bias, want.d_bias), gradient + 1e-6 * want.summed);
  EXPECT_LT(distance(run.d_gates, want.d_gates), gradient + 1e-6 * want.summed);
  EXPECT_LT(distance(run.d_score_weights, want.d_score_weights), gradient);
  EXPECT_LT(distance(run.d_positions, want.d_positions), gradient + 1e-6 * want.summed);
}

std::vector<float> sequence_part(const std::vector<float>& all, int64_t b, int64_t batch) {
  const auto size = static_cast<int64_t>(all.size()) / batch;
  return {all.begin() + b * size, all.begin() + (b + 1) * size};
}

void expect_same_bits(const AttentionCase& c, uint64_t seed) {
  const AttentionRun run = run_kernels(c, {.threads = 1, .backward = true, .weights = true});
  const int threads = 2 + static_cast<int>(seed % 7);
  EXPECT_TRUE(same_run(
      run, run_kernels(
               c, {.threads = threads, .heads_inside = true, .backward = true, .weights = true})))
      << threads << " threads";
  const int64_t batch = c.shape.batch;
  for (int64_t b = 0; b < batch; ++b) {
    const AttentionRun alone = run_kernels(c, {.threads = 2, .backward = true, .only_sequence = b});
    EXPECT_TRUE(same_bits(alone.output, sequence_part(run.output, b, batch)));
    EXPECT_TRUE(same_bits(alone.d_query, sequence_part(run.d_query, b, batch)));
    EXPECT_TRUE(same_bits(alone.d_key, sequence_part(run.d_key, b, batch)));
    EXPECT_TRUE(same_bits(alone.d_value, sequence_part(run.d_value, b, batch)));
  }
  if (c.dropout_probability > 0 || c.additive) return;
  EXPECT_TRUE(same_bits(run.output, run_cached(c))) << "cached row by row";
}

// One in so many problems: sanitizers are many times slower, and what they look for shows in a few.
uint64_t taken() {
  if (__tsan_init != nullptr) return 20;
  return __asan_init != nullptr ? 5 : 1;
}

}  // namespace

double difference(const std::vector<float>& got, const std::vector<double>& want) {
  return distance(got, want) / largest_of({&want});
}

bool same_run(const AttentionRun& a, const AttentionRun& b) {
  const std::vector<float> AttentionRun::*const all[] = {
      &AttentionRun::output,          &AttentionRun::row_max,    &AttentionRun::row_sum,
      &AttentionRun::weights,         &AttentionRun::d_query,    &AttentionRun::d_key,
      &AttentionRun::d_value,         &AttentionRun::d_bias,     &AttentionRun::d_gates,
      &AttentionRun::d_score_weights, &AttentionRun::d_positions};
  return std::all_of(std::begin(all), std::end(all),
                     [&](auto member) { return same_bits(a.*member, b.*member); });
}

void expect_agreement_and_same_bits(uint64_t first, uint64_t count, const CaseLimits& limits) {
  const std::vector<std::string> targets = kernels::simd_targets();
  for (uint64_t seed = first; seed < first + count && !testing::Test::HasFailure();
       seed += taken()) {
    const AttentionCase c = AttentionCase::draw(seed, limits);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + c.text());
    const ReferenceRun want = run_reference(c);
    size_t n = 0;
    on_each_target([&] {
      expect_agreement(c, want, seed);
      if (n++ == seed / taken() % targets.size()) expect_same_bits(c, seed);
    });
  }
}

AttentionCase plain_case(int64_t queries, int64_t keys) {
  AttentionCase c;
  c.shape = {1, 1, 1, queries, keys, 8, 8};
  c.query = random_floats(queries * 8, 1), c.key = random_floats(keys * 8, 2);
  c.value = random_floats(keys * 8, 3), c.d_output = random_floats(queries * 8, 4);
  return c;
}

void expect_zeros_without_keys(AttentionCase c) {
  c.valid_lens = {0};
  const AttentionRun run = run_kernels(c, {.backward = true, .weights = true});
  for (const auto* values : {&run.output, &run.weights, &run.row_sum, &run.d_query, &run.d_key,
                             &run.d_value, &run.d_score_weights}) {
    for (const float x : *values) EXPECT_EQ(x, 0.0f);
  }
  for (const float x : run.row_max) EXPECT_EQ(x, -std::numeric_limits<float>::infinity());
}

}  // namespace headlight::tests
