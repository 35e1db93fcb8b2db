// Roles of heads that are made to have them.
#include <cmath>
#include <functional>

#include "headlight/heads/heads.h"
#include "tests/models/support.h"

namespace headlight::heads {
namespace {

using autograd::Value;
using tensor::DType;
using tensor::Tensor;

constexpr int64_t kTokens = 6;

// Weights as they are given; the mask of a decoder, or none.
class GivenWeights : public autograd::Inside {
 public:
  GivenWeights(Tensor weights, bool causal) : weights_(std::move(weights)), causal_(causal) {}

  Tensor stage(const kernels::Execution& /*execution*/, kernels::ScoreStage stage, int64_t /*head*/,
               const autograd::RowRange& /*rows*/) const override {
    if (stage == kernels::ScoreStage::weights) return weights_;
    std::vector<float> scores;
    for (int64_t i = 0; i < kTokens * kTokens; ++i) {
      scores.push_back(causal_ && i % kTokens > i / kTokens ? -INFINITY : 0.0F);
    }
    return Tensor::of(weights_.shape(), scores);
  }

 private:
  Tensor weights_;
  bool causal_;
};

class Heads : public testing::Test {
 protected:
  // One head whose weights are weight(row, key), over tokens of which number 4 is the only one of
  // its kind.
  HeadStatistics of(const std::function<float(int64_t, int64_t)>& weight, bool causal = false,
                    const std::string& place = "encoder.0.self",
                    const std::vector<int64_t>& ids = {7, 8, 7, 8, 9, 7}) {
    std::vector<float> weights;
    for (int64_t i = 0; i < kTokens * kTokens; ++i) {
      weights.push_back(weight(i / kTokens, i % kTokens));
    }
    const Value zeros = Value::leaf(Tensor::zeros(DType::f32, {1, kTokens, 2}));
    const Value output = Value::leaf(Tensor::zeros(DType::f32, {1, kTokens, 2}));
    autograd::Recording recording;
    recording.report({.operation = "attention",
                      .place = place,
                      .inputs = {{"query", zeros}, {"key", zeros}, {"value", zeros}},
                      .outputs = {{"output", output}},
                      .attributes = {{"heads", int64_t{1}}, {"kv_heads", int64_t{1}}},
                      .inside = std::make_shared<GivenWeights>(
                          Tensor::of({1, kTokens, kTokens}, weights), causal)});
    return head_statistics(threads_, recording, {.ids = Tensor::of({1, kTokens}, ids)}).at(0);
  }

  // What a model's heads look at in a text of random ids.
  std::vector<HeadStatistics> of_model(models::Model& model,
                                       const std::vector<int64_t>& counts = {}) {
    models::fill(model, 3);
    const models::Batch batch{.ids = models::random_ids({1, kTokens}, model.vocab_size(), 4)};
    autograd::Recording recording;
    tensor::Arena arena;
    autograd::Context context{.threads = threads_, .arena = arena, .observer = &recording};
    model.forward(context, batch);
    return head_statistics(threads_, recording, batch, counts);
  }

  // Most of the weight at one key, the rest evenly.
  static float mostly(bool at) { return at ? 0.75F : 0.05F; }

  base::ThreadPool threads_{1};
};

TEST_F(Heads, that_look_at_neighbours_are_told_apart) {
  const HeadStatistics previous = of([](int64_t i, int64_t j) { return mostly(j == i - 1); });
  EXPECT_EQ(previous.role, HeadRole::previous);
  EXPECT_FLOAT_EQ(previous.measure, 0.75);
  EXPECT_EQ(previous.name(), "encoder.0.self.0");
  EXPECT_EQ(of([](int64_t i, int64_t j) { return mostly(j == i + 1); }).role, HeadRole::next);
  EXPECT_EQ(of([](int64_t i, int64_t j) { return mostly(j == i); }).role, HeadRole::self);
  EXPECT_EQ(of([](int64_t, int64_t j) { return mostly(j == 0); }).role, HeadRole::first);
  EXPECT_EQ(of([](int64_t, int64_t j) { return mostly(j == 4); }).role, HeadRole::rarest);
  EXPECT_EQ(name_of(HeadRole::rarest), "rarest");
}

TEST_F(Heads, that_look_at_the_first_key_have_that_role_where_it_is_the_rarest_too) {
  const auto to_first = [](int64_t, int64_t j) { return mostly(j == 0); };
  const HeadStatistics first = of(to_first, false, "encoder.0.self", {9, 8, 7, 8, 7, 8});
  EXPECT_EQ(first.role, HeadRole::first);
  EXPECT_FLOAT_EQ(first.measure, 0.75);
}

TEST_F(Heads, that_all_look_at_one_token_say_which) {
  const auto to_third = [](int64_t, int64_t j) { return mostly(j == 3); };
  const HeadStatistics one = of(to_third);
  EXPECT_EQ(one.role, HeadRole::one_token);
  EXPECT_EQ(one.key, 3);
  EXPECT_FLOAT_EQ(one.measure, 0.75);
  EXPECT_EQ(name_of(one.role), "one_token");
  EXPECT_EQ(head_json(one).find("key")->integer(), 3);
  EXPECT_EQ(of(to_third, false, "decoder.0.cross").role, HeadRole::one_token);
  // The first and the rarest key have roles of their own.
  EXPECT_EQ(of([](int64_t, int64_t j) { return mostly(j == 0); }).key, -1);
  EXPECT_TRUE(
      head_json(of([](int64_t, int64_t j) { return mostly(j == 4); })).find("key")->is_null());
  // Behind a mask: half of the rows see the fourth key, one row sees the last.
  const auto seen = [](int64_t at) {
    return [at](int64_t i, int64_t j) { return j == std::min(at, i) ? 1.0F : 0.0F; };
  };
  const std::vector<int64_t> alike(kTokens, 7);  // none is rare
  EXPECT_EQ(of(seen(3), true, "decoder.0.cross", alike).role, HeadRole::one_token);
  EXPECT_EQ(of(seen(5), true, "decoder.0.cross", alike).role, HeadRole::none);
}

TEST_F(Heads, are_selective_when_different_rows_look_at_different_keys) {
  const double each_its_own =
      of([](int64_t i, int64_t j) { return i == j ? 1.0F : 0.0F; }).selectivity;
  EXPECT_NEAR(each_its_own, std::log(6.0), 1e-6);
  EXPECT_NEAR(of([](int64_t, int64_t j) { return j == 2 ? 1.0F : 0.0F; }).selectivity, 0, 1e-9);
  EXPECT_NEAR(of([](int64_t, int64_t) { return 1.0F / kTokens; }).selectivity, 0, 1e-6);
  const double two_keys =
      of([](int64_t i, int64_t j) { return j == i % 2 ? 1.0F : 0.0F; }).selectivity;
  EXPECT_NEAR(two_keys, std::log(2.0), 1e-6);
  EXPECT_NEAR(*head_json(of([](int64_t i, int64_t j) { return i == j ? 1.0F : 0.0F; }))
                   .find("selectivity")
                   ->number(),
              each_its_own, 1e-12);
}

TEST_F(Heads, are_not_named_after_what_few_rows_see) {
  // From row 2 on there are two keys as rare: only row 1 has a rarest one.
  const auto to_second = [](int64_t i, int64_t j) { return i == 1 && j == 1 ? 1.0F : 0.0F; };
  EXPECT_EQ(of(to_second, true, "decoder.0.cross", {7, 8, 8, 7, 7, 7}).role, HeadRole::none);
}

TEST_F(Heads, that_look_everywhere_are_uniform_and_have_the_largest_entropy) {
  const HeadStatistics uniform = of([](int64_t, int64_t) { return 1.0F / kTokens; });
  EXPECT_EQ(uniform.role, HeadRole::uniform);
  EXPECT_NEAR(uniform.measure, 1, 1e-6);
  EXPECT_NEAR(uniform.entropy, std::log(6.0), 1e-6);
  EXPECT_NEAR(uniform.mean_distance, 35.0 / 18, 1e-6);
  const HeadStatistics causal =
      of([](int64_t i, int64_t j) { return j <= i ? 1 / static_cast<float>(i + 1) : 0.0F; }, true);
  EXPECT_EQ(causal.role, HeadRole::uniform);
}

TEST_F(Heads, without_a_pattern_have_no_role_but_say_how_near_they_came) {
  const HeadStatistics none = of([](int64_t i, int64_t j) {
    return j == i ? 0.4F : j == (i + 2) % 6 ? 0.6F : 0.0F;
  });
  EXPECT_EQ(none.role, HeadRole::none);
  EXPECT_NEAR(none.measure, 0.4, 1e-6);
}

TEST_F(Heads, of_cross_attention_have_no_neighbours) {
  const auto diagonal = [](int64_t i, int64_t j) { return mostly(j == i); };
  EXPECT_EQ(of(diagonal, false, "decoder.0.cross").role, HeadRole::none);
}

TEST_F(Heads, of_a_run_give_its_own_outputs_again) {
  models::Gpt gpt(models::small_gpt());
  const std::vector<HeadStatistics> heads = of_model(gpt);
  ASSERT_EQ(heads.size(), 8U);
  EXPECT_EQ(heads[5].name(), "decoder.1.self.1");
  for (const HeadStatistics& head : heads) {
    EXPECT_LT(head.output_difference, 1e-5) << head.name();
    EXPECT_GE(head.entropy, 0) << head.name();
    EXPECT_LE(head.relative_entropy, 1 + 1e-6) << head.name();
    EXPECT_EQ(*head_json(head).find("name")->text(), head.name());
  }
}

TEST_F(Heads, rare_is_what_the_counts_say) {
  models::Gpt gpt(models::small_gpt());
  const std::vector<int64_t> counts(static_cast<size_t>(gpt.vocab_size()), 3);
  for (const HeadStatistics& head : of_model(gpt, counts)) {
    EXPECT_NE(head.role, HeadRole::rarest);
  }
}

}  // namespace
}  // namespace headlight::heads
