// Ranks that come together late, or not at all.
#include <gtest/gtest.h>

#include "tests/ranks/thread_link.h"

namespace headlight::ranks {
namespace {

using namespace std::chrono_literals;

// Ranks that come together after a while: what is told of it before.
std::optional<Fault> fault_of_late_rank(std::chrono::milliseconds late, MessengerOptions options) {
  class LateLink : public ThreadLink {
   public:
    LateLink(ThreadNetwork& network, std::chrono::milliseconds late)
        : ThreadLink(network, 0), late_(late) {}
    void open() override { std::this_thread::sleep_for(late_); }

   private:
    std::chrono::milliseconds late_;
  };
  ThreadNetwork network(2);
  std::optional<Fault> told;
  options.on_fault = [&](const Fault& fault, Link&) { told = fault; };
  const Messenger messenger(std::make_unique<LateLink>(network, late), options);
  return told;
}

TEST(LateRanks, ranks_that_do_not_come_together_in_time_are_a_fault) {
  const auto fault = fault_of_late_rank(600ms, {.timeout = 200ms});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->text, "ranks: they have not come together for 0 s");
  EXPECT_TRUE(fault->is_told_here);
}

TEST(LateRanks, higher_ranks_wait_for_lower_ones_to_tell_that_they_have_not_come_together) {
  EXPECT_FALSE(fault_of_late_rank(1000ms, {.timeout = 200ms, .launched_rank = 9}));
  const auto fault = fault_of_late_rank(3000ms, {.timeout = 200ms, .launched_rank = 1});
  ASSERT_TRUE(fault) << "the lower ones may not be there";
  EXPECT_TRUE(fault->is_told_here);
}

TEST(LateRanks, who_is_told_to_end_before_its_turn_to_tell_says_nothing) {
  const auto wish = [] { return EndWish{.ends = true, .exit_code = 143}; };
  const auto fault =
      fault_of_late_rank(1000ms, {.end_wish = wish, .timeout = 200ms, .launched_rank = 1});
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->exit_code, 143);
  EXPECT_EQ(fault->text, "");
  EXPECT_FALSE(fault_of_late_rank(500ms, {.end_wish = wish, .timeout = 60s}))
      << "they may still come together, and end together";
}

TEST(LateRanks, who_is_told_to_end_while_ranks_come_together_ends_soon) {
  const auto wish = [] { return EndWish{.ends = true, .exit_code = 143}; };
  const auto begin = std::chrono::steady_clock::now();
  const auto fault = fault_of_late_rank(2500ms, {.end_wish = wish, .timeout = 60s});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 20s);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->exit_code, 143);
  EXPECT_EQ(fault->text, "");
}

}  // namespace
}  // namespace headlight::ranks
