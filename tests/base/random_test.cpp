// Philox against its published answers, and the distributions drawn from it.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "headlight/base/base.h"

namespace headlight::base {
namespace {

constexpr int64_t kDraws = 200000;

// The known answers of Random123 for philox4x32 with 10 rounds; its two key words are low and high.
TEST(Philox, gives_the_published_answers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, 0), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, 0xffffffffffffffff),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0a4093822),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, is_known_at_compile_time) { static_assert(philox({0, 0, 0, 0}, 0)[0] == 0x6627e8d5); }

TEST(Random, depends_on_key_and_index_only) {
  const Random random(7);
  const uint32_t first = random.bits(0);
  random.bits(1000);
  EXPECT_EQ(random.bits(0), first);
  EXPECT_EQ(Random(7).bits(0), first);
  EXPECT_NE(Random(8).bits(0), first);
  EXPECT_NE(random.bits(1), first);
  EXPECT_NE(random.bits(uint64_t{1} << 32), first) << "the high half of the index counts too";
}

TEST(Random, draws_of_different_kinds_are_unrelated) {
  const Random random(3);
  int equal = 0;
  for (uint64_t index = 0; index < 1000; ++index) {
    equal += std::abs(random.uniform(index) - random.uniform64(index)) < 1e-6;
  }
  EXPECT_LT(equal, 5);
}

TEST(Random, uniform_is_within_zero_and_one_and_fills_it_evenly) {
  const Random random(11);
  std::vector<int64_t> buckets(16);
  double sum = 0;
  for (int64_t index = 0; index < kDraws; ++index) {
    const float value = random.uniform(static_cast<uint64_t>(index));
    ASSERT_GE(value, 0.0f);
    ASSERT_LT(value, 1.0f);
    sum += value;
    ++buckets[static_cast<size_t>(value * 16)];
  }
  // Five standard deviations of each estimate.
  EXPECT_NEAR(sum / kDraws, 0.5, 5 * std::sqrt(1.0 / 12 / kDraws));
  for (const int64_t count : buckets)
    EXPECT_NEAR(count, kDraws / 16.0, 5 * std::sqrt(kDraws / 16.0));
}

TEST(Random, uniform64_is_within_zero_and_one_and_uses_its_low_bits) {
  const Random random(12);
  int finer_than_float = 0;
  for (uint64_t index = 0; index < 1000; ++index) {
    const double value = random.uniform64(index);
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    finer_than_float += std::floor(value * 0x1p24) != value * 0x1p24;
  }
  EXPECT_EQ(finer_than_float, 1000);
}

TEST(Random, normal_has_the_moments_of_a_normal) {
  const Random random(13);
  double moments[5] = {};
  for (int64_t index = 0; index < kDraws; ++index) {
    const double value = random.normal(static_cast<uint64_t>(index));
    ASSERT_TRUE(std::isfinite(value));
    double power = 1;
    for (double& moment : moments) {
      moment += power / kDraws;
      power *= value;
    }
  }
  const double deviation = std::sqrt(1.0 / kDraws);
  EXPECT_NEAR(moments[1], 0, 5 * deviation);
  EXPECT_NEAR(moments[2], 1, 5 * deviation * std::sqrt(2));
  EXPECT_NEAR(moments[3], 0, 5 * deviation * std::sqrt(15));
  EXPECT_NEAR(moments[4], 3, 5 * deviation * std::sqrt(96));
}

TEST(Random, below_stays_below_and_reaches_every_number) {
  const Random random(14);
  std::set<uint64_t> seen;
  for (uint64_t index = 0; index < 1000; ++index) seen.insert(random.below(index, 7));
  EXPECT_EQ(seen, (std::set<uint64_t>{0, 1, 2, 3, 4, 5, 6}));
  for (uint64_t index = 0; index < 100; ++index) EXPECT_EQ(random.below(index, 1), 0u);
  for (uint64_t index = 0; index < 100; ++index) {
    EXPECT_LT(random.below(index, uint64_t{1} << 63), uint64_t{1} << 63);
  }
}

TEST(Keys, of_different_pairs_and_names_differ) {
  std::set<uint64_t> keys;
  for (uint64_t a = 0; a < 30; ++a) {
    for (uint64_t b = 0; b < 30; ++b) keys.insert(mix(a, b));
  }
  EXPECT_EQ(keys.size(), 900u);
  EXPECT_NE(name_key("encoder.0.self"), name_key("encoder.0.cross"));
  EXPECT_EQ(name_key(""), 0xcbf29ce484222325u);
  EXPECT_EQ(name_key("a"), 0xaf63dc4c8601ec8cu) << "FNV-1a's published answer";
}

}  // namespace
}  // namespace headlight::base
