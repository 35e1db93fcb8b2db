// Rows of batches, and what is measured of them.
#include <cmath>

#include "headlight/heads/heads.h"
#include "tests/heads/layers_model.h"

namespace headlight::heads {
namespace {

using models::Batch;
using models::integers;

std::vector<int64_t> numbers_of(const tensor::Tensor& x) {
  return {x.data<int64_t>(), x.data<int64_t>() + x.elements()};
}

TEST(Examples, lose_their_padding_and_get_it_back) {
  const std::vector<Batch> rows = {{.ids = integers({1, 2}, {1, 2}),
                                    .source_ids = integers({1, 3}, {7, 8, 9}),
                                    .targets = integers({1, 2}, {3, 4})},
                                   {.ids = integers({1, 3}, {5, 6, 7}),
                                    .source_ids = integers({1, 1}, {9}),
                                    .targets = integers({1, 3}, {-1, 8, 9})}};
  const Batch both = joined(rows);
  EXPECT_EQ(numbers_of(both.ids), (std::vector<int64_t>{1, 2, 0, 5, 6, 7}));
  EXPECT_EQ(numbers_of(both.lens), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(numbers_of(both.source_ids), (std::vector<int64_t>{7, 8, 9, 9, 0, 0}));
  EXPECT_EQ(numbers_of(both.source_lens), (std::vector<int64_t>{3, 1}));
  EXPECT_EQ(numbers_of(both.targets), (std::vector<int64_t>{3, 4, -1, -1, 8, 9}));
  EXPECT_FALSE(both.segments.defined());
  for (int64_t b = 0; b < 2; ++b) {
    const Batch one = example_at(both, b);
    const Batch& row = rows[static_cast<size_t>(b)];
    EXPECT_TRUE(models::same_bits(one.ids, row.ids));
    EXPECT_TRUE(models::same_bits(one.source_ids, row.source_ids));
    EXPECT_TRUE(models::same_bits(one.targets, row.targets));
  }
  EXPECT_EQ(batched(rows, 6).size(), 1u);
  EXPECT_EQ(batched(rows, 5).size(), 2u);
  EXPECT_EQ(batched(rows, 1).size(), 2u) << "a longer one is alone";
  EXPECT_TRUE(batched({}).empty());
  EXPECT_EQ(counted_positions("encoder.1.self", both, 0).queries, 3);
  EXPECT_EQ(counted_positions("decoder.1.self", both, 0).keys, 2);
  EXPECT_EQ(counted_positions("decoder.0.cross", both, 1).queries, 3);
  EXPECT_EQ(counted_positions("decoder.0.cross", both, 1).keys, 1);
}

class MetricsOfACircuit : public testing::Test {
 protected:
  // Five tokens, twice; what follows in the second copy is to be said.
  static Batch repeated(const std::vector<int64_t>& ids) {
    std::vector<int64_t> twice = ids, targets(2 * ids.size(), -1);
    twice.insert(twice.end(), ids.begin(), ids.end());
    for (size_t i = 0; i + 1 < ids.size(); ++i) targets[ids.size() + i] = ids[i + 1];
    const auto length = static_cast<int64_t>(twice.size());
    return {.ids = integers({1, length}, twice), .targets = integers({1, length}, targets)};
  }
  std::vector<Measured> measure(const Metric& metric, const Batch& batch) {
    tensor::Arena arena;
    autograd::Context context{.threads = threads_, .arena = arena};
    return metric.measure(context, *model_, batch, model_->forward(context, batch));
  }

  base::ThreadPool threads_{1};
  std::unique_ptr<LayersModel> model_ = induction_circuit();
};

TEST_F(MetricsOfACircuit, exact_match_wants_every_target_to_the_last) {
  Batch right = repeated({3, 1, 4, 5, 9});
  right.targets.mutable_data<int64_t>()[9] = 3;  // what followed the first 9
  Batch wrong = repeated({3, 1, 4, 5, 9});
  wrong.targets.mutable_data<int64_t>()[9] = 2;
  Batch silent = repeated({3, 1, 4, 5, 9});
  for (int64_t t = 0; t < 10; ++t) silent.targets.mutable_data<int64_t>()[t] = -1;
  const std::vector<Measured> measured =
      measure(exact_match_metric(), joined({right, wrong, silent}));
  EXPECT_EQ(measured[0].value, 1);
  EXPECT_EQ(measured[1].value, 0);
  EXPECT_EQ(measured[1].weight, 1);
  EXPECT_EQ(measured[2].weight, 0);
  EXPECT_EQ(weighted_mean(measured, "test"), 0.5);
}

TEST_F(MetricsOfACircuit, loss_is_per_target_and_padding_has_none) {
  const Batch longer = repeated({3, 1, 4, 5, 9});
  const Batch shorter = repeated({2, 6, 7});
  Batch both = joined({longer, shorter});
  for (int64_t t = 6; t < 10; ++t) both.targets.mutable_data<int64_t>()[10 + t] = 5;
  const std::vector<Measured> measured = measure(loss_metric(), both);
  EXPECT_EQ(measured[0].weight, 4);
  EXPECT_EQ(measured[1].weight, 2) << "what stands behind its end does not count";
  EXPECT_EQ(measured[1].value, measure(loss_metric(), shorter)[0].value);
  EXPECT_EQ(measured[0].value, measure(loss_metric(), longer)[0].value);
}

TEST(Watching, a_part_tells_its_share_of_the_whole) {
  std::vector<double> shares;
  const Watch whole{.progress = [&](double share) { shares.push_back(share); }};
  whole.part(0.5, 1).tell(1, 2);
  EXPECT_EQ(shares, std::vector<double>{0.75});
  EXPECT_FALSE(whole.stops());
  Watch{}.part(0, 1).tell(1, 2);
}

}  // namespace
}  // namespace headlight::heads
