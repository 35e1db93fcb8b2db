// Roles of heads that are made to have them.
#include <cmath>
#include <functional>

#include "tests/explain/support.h"

namespace headlight::explain {
namespace {

constexpr int64_t kTokens = 6;

class Heads : public ExplainTest {
 protected:
  // One head whose weights are weight(row, key), over tokens of which number 4 is the only one of
  // its kind.
  HeadStatistics of(const std::function<float(int64_t, int64_t)>& weight, bool causal = false,
                    const std::string& place = "encoder.0.self",
                    const std::vector<int64_t>& ids = {7, 8, 7, 8, 9, 7}) {
    Input input;
    input.batch.ids = Tensor::of({1, kTokens}, ids);
    Trace trace(threads_, input, {});
    std::vector<float> weights;
    for (int64_t i = 0; i < kTokens * kTokens; ++i) {
      weights.push_back(weight(i / kTokens, i % kTokens));
    }
    const tensor::Shape shape = {1, 1, kTokens, kTokens};
    const std::vector<Axis> axes = {Axis::batch, Axis::head, Axis::token, Axis::token};
    trace.add({.name = place + ".value", .shape = shape, .axes = axes},
              Tensor::zeros(DType::f32, shape));
    trace.add({.name = place + ".masked_scores",
               .attributes = {{"causal", causal}},
               .shape = shape,
               .axes = axes},
              Tensor::zeros(DType::f32, shape));
    trace.add({.name = place + ".weights", .shape = shape, .axes = axes},
              Tensor::of(shape, weights));
    trace.add({.name = place + ".head_output", .shape = shape, .axes = axes},
              Tensor::zeros(DType::f32, shape));
    return head_statistics(trace).at(0);
  }

  // Most of the weight at one key, the rest evenly.
  static float mostly(bool at) { return at ? 0.75F : 0.05F; }
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
  const Trace trace = worked_trace({.heads = 2});
  const std::vector<HeadStatistics> heads = head_statistics(trace);
  ASSERT_EQ(heads.size(), 6U);
  EXPECT_EQ(heads[5].name(), "decoder.0.cross.1");
  for (const HeadStatistics& head : heads) {
    EXPECT_LT(head.output_difference, 1e-5) << head.name();
    EXPECT_GE(head.entropy, 0) << head.name();
    EXPECT_LE(head.relative_entropy, 1 + 1e-6) << head.name();
  }
}

TEST_F(Heads, rare_is_what_the_counts_say) {
  models::Gpt gpt(models::small_gpt());
  const Trace trace = traced(gpt, 6);
  const std::vector<int64_t> counts(static_cast<size_t>(gpt.vocab_size()), 3);
  for (const HeadStatistics& head : head_statistics(trace, counts)) {
    EXPECT_NE(head.role, HeadRole::rarest);
  }
}

}  // namespace
}  // namespace headlight::explain
