// Correlations by hand, of equals, and of what has no order.
#include "headlight/heads/rank_correlation.h"

#include <cmath>

#include "tests/models/support.h"

namespace headlight::heads {
namespace {

using Numbers = std::vector<double>;

TEST(RankCorrelation, of_the_same_order_is_one_however_the_numbers_lie) {
  EXPECT_DOUBLE_EQ(rank_correlation(Numbers{1, 2, 3, 4}, Numbers{-7, 0, 0.001, 1e9}), 1);
  EXPECT_DOUBLE_EQ(rank_correlation(Numbers{1, 2, 3, 4}, Numbers{4, 3, 2, -100}), -1);
}

TEST(RankCorrelation, is_spearmans_of_a_known_example) {
  // Differences of ranks 0, 1, 1, 1, 1: 1 - 6 * 4 / (5 * 24).
  EXPECT_NEAR(rank_correlation(Numbers{10, 20, 30, 40, 50}, Numbers{1, 3, 2, 5, 4}), 0.8, 1e-12);
}

TEST(RankCorrelation, lets_equals_share_their_rank) {
  // Ranks 0.5, 0.5, 2, 3 against 0, 1, 2, 3; by hand 4.5 / sqrt(4.5 * 5).
  const Numbers tied = {1, 1, 2, 3};
  const Numbers plain = {1, 2, 3, 4};
  EXPECT_NEAR(rank_correlation(tied, plain), 4.5 / std::sqrt(4.5 * 5), 1e-12);
  EXPECT_NEAR(rank_correlation(Numbers{3, 1, 2, 1}, Numbers{4, 1, 3, 2}), 4.5 / std::sqrt(4.5 * 5),
              1e-12)
      << "in another order";
}

TEST(RankCorrelation, is_no_number_where_nothing_varies_or_has_no_rank) {
  EXPECT_TRUE(std::isnan(rank_correlation(Numbers{1, 1, 1}, Numbers{1, 2, 3})));
  EXPECT_TRUE(std::isnan(rank_correlation(Numbers{1, NAN, 3}, Numbers{1, 2, 3})));
  EXPECT_TRUE(std::isnan(rank_correlation(Numbers{}, Numbers{})));
}

TEST(RankCorrelation, refuses_numbers_of_different_things) {
  models::expect_has(models::error_of([] {
                       rank_correlation(Numbers{1, 2}, Numbers{1, 2, 3});
                     }),
                     "2 and 3");
}

TEST(Correlation, is_pearsons) {
  EXPECT_NEAR(correlation(Numbers{1, 2, 3}, Numbers{2, 4, 6}), 1, 1e-12);
  // Means 2 and 3: products 2, 0 and 1, squares 2 and 6.
  EXPECT_NEAR(correlation(Numbers{1, 2, 3}, Numbers{1, 4, 4}), 3 / std::sqrt(2 * 6.0), 1e-12);
}

}  // namespace
}  // namespace headlight::heads
