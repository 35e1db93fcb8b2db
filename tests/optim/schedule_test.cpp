// Learning rates by step, with numbers computed by Python from the formulas of nanoGPT and the
// paper.
#include <gtest/gtest.h>

#include "headlight/optim/optim.h"

namespace headlight::optim {
namespace {

TEST(Schedule, cosine_is_that_of_nanogpt) {
  const ScheduleOptions options{.kind = ScheduleKind::cosine,
                                .learning_rate = 1e-3,
                                .min_learning_rate = 1e-4,
                                .warmup_iters = 100,
                                .lr_decay_iters = 2000};
  const std::pair<int64_t, double> cases[] = {{0, 9.9009900990099013e-06},
                                              {1, 1.9801980198019803e-05},
                                              {50, 0.00050495049504950497},
                                              {99, 0.00099009900990099011},
                                              {100, 0.001},
                                              {101, 0.00099999938485859151},
                                              {1050, 0.00055},
                                              {1999, 0.00010000061514140841},
                                              {2000, 0.0001},
                                              {2001, 0.0001},
                                              {5000, 0.0001}};
  for (const auto& [step, rate] : cases) {
    EXPECT_NEAR(learning_rate_at(options, step), rate, 1e-18) << step;
  }
}

TEST(Schedule, cosine_without_an_interval_falls_from_the_rate_to_the_lowest) {
  const ScheduleOptions options{.kind = ScheduleKind::cosine,
                                .learning_rate = 2,
                                .min_learning_rate = 1,
                                .warmup_iters = 5,
                                .lr_decay_iters = 5};
  EXPECT_EQ(learning_rate_at(options, 5), 2);
  EXPECT_EQ(learning_rate_at(options, 6), 1);
}

TEST(Schedule, noam_is_that_of_the_paper) {
  const ScheduleOptions options{
      .kind = ScheduleKind::noam, .learning_rate = 1, .warmup_iters = 4000, .d_model = 512};
  const std::pair<int64_t, double> cases[] = {
      {0, 1.746928107421711e-07},     {1, 3.493856214843422e-07},
      {3998, 0.0006985965501579421},  {3999, 0.00069877124296868428},
      {4000, 0.00069868391293735296}, {99999, 0.00013975424859373687}};
  for (const auto& [step, rate] : cases) {
    EXPECT_NEAR(learning_rate_at(options, step), rate, 1e-18) << step;
  }
}

TEST(Schedule, inverse_sqrt_rises_evenly_to_the_rate_and_falls_with_the_root) {
  const ScheduleOptions options{
      .kind = ScheduleKind::inverse_sqrt, .learning_rate = 0.5, .warmup_iters = 100};
  EXPECT_DOUBLE_EQ(learning_rate_at(options, 0), 0.005);
  EXPECT_DOUBLE_EQ(learning_rate_at(options, 49), 0.25);
  EXPECT_DOUBLE_EQ(learning_rate_at(options, 99), 0.5);
  EXPECT_DOUBLE_EQ(learning_rate_at(options, 399), 0.25);
  EXPECT_DOUBLE_EQ(learning_rate_at(options, 9999), 0.05);
}

TEST(Schedule, constant_stays_at_the_rate_after_the_warm_up) {
  const ScheduleOptions options{
      .kind = ScheduleKind::constant, .learning_rate = 0.5, .warmup_iters = 4};
  EXPECT_DOUBLE_EQ(learning_rate_at(options, 0), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate_at(options, 3), 0.4);
  EXPECT_EQ(learning_rate_at(options, 4), 0.5);
  EXPECT_EQ(learning_rate_at(options, 1000000), 0.5);
}

TEST(Schedule, without_warm_up_starts_at_the_rate) {
  for (const ScheduleKind kind :
       {ScheduleKind::cosine, ScheduleKind::inverse_sqrt, ScheduleKind::constant}) {
    EXPECT_EQ(learning_rate_at({.kind = kind, .learning_rate = 0.5, .lr_decay_iters = 10}, 0), 0.5);
  }
}

}  // namespace
}  // namespace headlight::optim
