// Heads at zero, at their mean and resampled; in what order they can go.
#include <cmath>

#include "headlight/heads/heads.h"
#include "headlight/recipes/recipes.h"
#include "tests/heads/layers_model.h"

namespace headlight::heads {
namespace {

using models::Batch;
using tensor::Tensor;

class Ablation : public testing::Test {
 protected:
  Ablation() : model_(models::small_gpt()) {
    models::fill(model_, 3);
    for (uint64_t i = 0; i < 5; ++i) {
      const int64_t length = 4 + static_cast<int64_t>(2 * i) % 7;
      rows_.push_back({.ids = models::random_ids({1, length}, 17, 20 + i),
                       .targets = models::random_ids({1, length}, 17, 40 + i)});
    }
    rows_[1].targets.mutable_data<int64_t>()[2] = -1;
  }

  // The loss of all targets under an intervention.
  double loss_with(autograd::Intervention* intervention, const Batch& batch) {
    tensor::Arena arena;
    autograd::Context context{.threads = threads_, .arena = arena, .intervention = intervention};
    return model_.loss(context, batch).item();
  }

  base::ThreadPool threads_{2};
  models::Gpt model_;
  std::vector<Batch> rows_;
};

TEST_F(Ablation, at_zero_is_what_heads_switched_off_give) {
  const Batch all = joined(rows_);
  const AblationResult result = ablate_heads(threads_, model_, {all});
  EXPECT_NEAR(result.baseline.loss, loss_with(nullptr, all), 1e-6);
  ASSERT_EQ(result.heads.size(), 8u);
  for (const AblatedHead& head : result.heads) {
    heads::HeadsOff off(heads::parse_head_names(head.head, "test"), model_);
    EXPECT_NEAR(head.measured.loss, loss_with(&off, all), 1e-6) << head.head;
    EXPECT_EQ(head.change, head.measured.loss - result.baseline.loss);
    EXPECT_NE(head.change, 0);
  }
}

// Puts given rows in the place of one head's output.
class HandMade : public autograd::Intervention {
 public:
  HandMade(std::string place, int64_t head, std::function<const float*(int64_t row)> source)
      : place_(std::move(place)), head_(head), source_(std::move(source)) {}
  bool changes(std::string_view place) override { return place == place_ + ".concatenated"; }
  void change(std::string_view /*place*/, Tensor& values) override {
    for (int64_t row = 0; row < values.size(1); ++row)
      std::copy_n(source_(row), 6, values.mutable_data<float>() + row * 24 + head_ * 6);
  }

 private:
  std::string place_;
  int64_t head_;
  std::function<const float*(int64_t row)> source_;
};

TEST_F(Ablation, at_the_mean_is_the_mean_over_real_positions_of_all_examples) {
  std::vector<double> sums(6, 0);
  int64_t count = 0;
  for (const Batch& row : rows_) {
    models::Keeper keeper({"decoder.1.self.concatenated"});
    tensor::Arena arena;
    autograd::Context context{.threads = threads_, .arena = arena, .observer = &keeper};
    model_.forward(context, row);
    const Tensor& seen = keeper.seen.at("decoder.1.self.concatenated");
    for (int64_t t = 0; t < seen.size(1); ++t, ++count) {
      for (size_t i = 0; i < 6; ++i)
        sums[i] += seen.data<float>()[t * 24 + 2 * 6 + static_cast<int64_t>(i)];
    }
  }
  std::vector<float> mean;
  for (const double sum : sums)
    mean.push_back(static_cast<float>(sum / static_cast<double>(count)));
  HandMade by_hand("decoder.1.self", 2, [&](int64_t) { return mean.data(); });
  double loss = 0, targets = 0;
  for (const Batch& row : rows_) {
    const double weight = static_cast<double>(row.ids.size(1)) - (&row == &rows_[1] ? 1 : 0);
    loss += weight * loss_with(&by_hand, row);
    targets += weight;
  }
  const AblationResult result =
      ablate_heads(threads_, model_, {joined(rows_)}, {.by = AblationKind::mean});
  EXPECT_NEAR(result.heads[6].measured.loss, loss / targets, 1e-5);
  EXPECT_EQ(result.heads[6].head, "decoder.1.self.2");
}

TEST_F(Ablation, resampled_takes_the_same_position_of_another_example) {
  // Two examples: each is the other's.
  const std::vector<Batch> two = {rows_[0], rows_[2]};  // 4 and 8 tokens
  double loss = 0, targets = 0;
  for (const size_t i : {0, 1}) {
    models::Keeper keeper({"decoder.0.self.concatenated"});
    tensor::Arena arena;
    autograd::Context context{.threads = threads_, .arena = arena, .observer = &keeper};
    model_.forward(context, two[1 - i]);
    const Tensor other = keeper.seen.at("decoder.0.self.concatenated");
    HandMade by_hand("decoder.0.self", 1, [&](int64_t row) {
      return other.data<float>() + row % other.size(1) * 24 + 6;
    });
    const auto weight = static_cast<double>(two[i].ids.size(1));
    loss += weight * loss_with(&by_hand, two[i]);
    targets += weight;
  }
  for (const uint64_t seed : {0, 1}) {
    const AblationResult result =
        ablate_heads(threads_, model_, batched(two), {.by = AblationKind::resample, .seed = seed});
    EXPECT_NEAR(result.heads[1].measured.loss, loss / targets, 1e-5);
  }
  models::expect_has(tests::error_of([&] {
                       ablate_heads(threads_, model_, {rows_[0]}, {.by = AblationKind::resample});
                     }),
                     "another one");
}

TEST_F(Ablation, depends_on_the_seed_and_not_on_batches_or_threads) {
  for (const AblationKind by : {AblationKind::zero, AblationKind::mean, AblationKind::resample}) {
    SCOPED_TRACE(std::string(name_of(by)));
    base::ThreadPool one(1);
    const AblationResult together = ablate_heads(threads_, model_, {joined(rows_)}, {.by = by});
    const AblationResult alone = ablate_heads(one, model_, batched(rows_, 1), {.by = by});
    const AblationResult other =
        ablate_heads(threads_, model_, {joined(rows_)}, {.by = by, .seed = 9});
    bool differs = false;
    for (size_t i = 0; i < together.heads.size(); ++i) {
      EXPECT_EQ(together.heads[i].measured.loss, alone.heads[i].measured.loss);
      differs |= together.heads[i].measured.loss != other.heads[i].measured.loss;
    }
    EXPECT_EQ(differs, by == AblationKind::resample);
  }
}

TEST_F(Ablation, leaves_one_head_of_each_attention_and_removes_the_one_that_costs_least) {
  const Examples examples = {joined(rows_)};
  const AblationResult result =
      ablate_heads(threads_, model_, examples, {.all_but_one = true, .greedy = true});
  ASSERT_EQ(result.all_but_one.size(), 8u);
  ASSERT_EQ(result.greedy.size(), 8u);
  AblatedModel ablated(threads_, model_, examples, {});
  EXPECT_EQ(result.all_but_one[5].measured.loss,
            ablated.evaluate({{"decoder.1.self", {0, 2, 3}}})->loss);
  HeadSet removed;
  std::vector<std::string> left;
  for (const AblatedHead& head : result.heads) left.push_back(head.head);
  for (const AblatedHead& step : result.greedy) {
    double least = INFINITY;
    std::string best;
    for (const std::string& name : left) {
      HeadSet with = removed;
      with[name.substr(0, name.rfind('.'))].push_back(name.back() - '0');
      const double loss = ablated.evaluate(with)->loss;
      if (loss < least) {
        least = loss;
        best = name;
      }
    }
    EXPECT_EQ(step.head, best);
    EXPECT_EQ(step.measured.loss, least);
    removed[best.substr(0, best.rfind('.'))].push_back(best.back() - '0');
    std::erase(left, best);
  }
  EXPECT_TRUE(left.empty());
  EXPECT_EQ(
      ablate_heads(threads_, model_, examples, {.greedy = true, .greedy_steps = 2}).greedy[1].head,
      result.greedy[1].head);
}

TEST_F(Ablation, goes_on_with_what_is_known_when_it_was_interrupted) {
  const Examples examples = {joined(rows_)};
  const AblationOptions whole{.all_but_one = true, .greedy = true, .greedy_steps = 3};
  const AblationResult expected = ablate_heads(threads_, model_, examples, whole);
  std::map<std::string, Measurement> kept;
  AblationOptions options = whole;
  int64_t runs = 0;
  options.known = [&](const std::string& name) {
    const auto found = kept.find(name);
    return found == kept.end() ? std::nullopt : std::optional(found->second);
  };
  options.measured = [&](const std::string& name, const Measurement& one) {
    EXPECT_TRUE(kept.emplace(name, one).second) << name;
    ++runs;
  };
  double last = 0;
  options.watch.progress = [&](double share) {
    EXPECT_GE(share, last);
    EXPECT_LE(share, 1);
    last = share;
  };
  options.watch.interrupted = [&] { return runs == 12; };
  const AblationResult first = ablate_heads(threads_, model_, examples, options);
  EXPECT_TRUE(first.interrupted);
  EXPECT_EQ(first.heads.size(), 8u);
  EXPECT_EQ(first.all_but_one.size(), 3u);
  last = 0;
  options.watch.interrupted = {};
  const AblationResult rest = ablate_heads(threads_, model_, examples, options);
  EXPECT_EQ(last, 1);
  EXPECT_FALSE(rest.interrupted);
  EXPECT_EQ(runs, 1 + 8 + 8 + 7 + 6);
  EXPECT_EQ(io::json_text(ablation_json(rest)), io::json_text(ablation_json(expected)));
}

TEST_F(Ablation, is_written_as_the_contract_has_it) {
  const Examples examples = {joined(rows_)};
  const AblationResult result =
      ablate_heads(threads_, model_, examples, {.metric = exact_match_metric()});
  const io::Json json = ablation_json(result);
  EXPECT_EQ((*json.object())[0].first, "loss");
  EXPECT_EQ(*json.find("by")->text(), "zero");
  EXPECT_EQ(json.find("examples")->integer(), 5);
  EXPECT_TRUE(json.find("exact_match")->number());
  EXPECT_EQ(json.find("greedy"), nullptr);
  const io::Json& head = (*json.find("heads")->array())[3];
  EXPECT_EQ(*head.find("head")->text(), "decoder.0.self.3");
  EXPECT_EQ(head.find("loss")->number(), result.heads[3].measured.loss);
  EXPECT_EQ(head.find("change")->number(), result.heads[3].change);
  EXPECT_EQ(ablation_kind("resample"), AblationKind::resample);
  EXPECT_THROW(ablation_kind("middle"), base::Error);
}

}  // namespace
}  // namespace headlight::heads
