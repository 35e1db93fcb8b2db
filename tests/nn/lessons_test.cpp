// The numbers of two tutorials: the "steps" and the "d2l" lesson.
#include "tests/nn/support.h"

namespace headlight::nn {
namespace {

using LessonSteps = tests::Autograd;
using LessonD2l = tests::Autograd;

TEST_F(LessonSteps, first_row_has_the_tutorials_scores_weights_and_output) {
  Context context = inference_context();
  Keeper keeper;
  context.observer = &keeper;
  const Value x = leaf({1, 3, 4}, {1, 0, 1, 0, 0, 2, 0, 2, 1, 1, 1, 1});
  const StateDict state{
      {"W_q.weight", Tensor::of({4, 3}, std::vector<float>{1, 0, 1, 1, 0, 0, 0, 0, 1, 0, 1, 1})},
      {"W_k.weight", Tensor::of({4, 3}, std::vector<float>{0, 0, 1, 1, 1, 0, 0, 1, 0, 1, 1, 0})},
      {"W_v.weight", Tensor::of({4, 3}, std::vector<float>{0, 2, 0, 0, 3, 0, 1, 0, 3, 1, 1, 0})}};
  // The tutorial multiplies from the right: (in, out).
  AttentionNames names = names_of(AttentionLayout::d2l);
  names.layout = WeightLayout::in_out;
  const MultiHeadAttention attention({.query_width = 4,
                                      .head_dim = 3,
                                      .output_projection = false,
                                      .qkv_bias = false,
                                      .names = names});
  load_state(attention.parameters(), state);
  const Value output = attention.forward(context, x, {.scale = 1.0F});

  const float* scores = keeper.seen["scores"].data<float>();
  EXPECT_EQ(scores[0], 2);
  EXPECT_EQ(scores[1], 4);
  EXPECT_EQ(scores[2], 4);
  const float* weights = keeper.seen["weights"].data<float>();
  EXPECT_NEAR(weights[0], 0.0634F, 5e-5F);
  EXPECT_NEAR(weights[1], 0.4683F, 5e-5F);
  EXPECT_NEAR(weights[2], 0.4683F, 5e-5F);
  const std::vector<float> row = floats(output.data());
  EXPECT_NEAR(row[0], 1.9366F, 5e-5F);
  EXPECT_NEAR(row[1], 6.6831F, 5e-5F);
  EXPECT_NEAR(row[2], 1.5951F, 5e-5F);
  const std::vector<float> parts = floats(keeper.seen["weighted_values"]);
  for (size_t e = 0; e < 3; ++e) {
    EXPECT_NEAR(parts[e] + parts[3 + e] + parts[6 + e], row[e], 1e-5F);
  }
}

TEST_F(LessonD2l, weights_of_ones_are_exactly_a_third_or_a_half) {
  Context context = inference_context();
  Keeper keeper({"weights"});
  context.observer = &keeper;
  const MultiHeadAttention attention({.query_width = 100,
                                      .heads = 5,
                                      .qkv_bias = false,
                                      .out_bias = false,
                                      .weight_dropout = 0.5F,
                                      .names = names_of(AttentionLayout::d2l)});
  draw_xavier_uniform(attention.parameters(), 1);
  const Value queries = leaf({2, 4, 100}, std::vector<float>(800, 1));
  const Value pairs = leaf({2, 6, 100}, std::vector<float>(1200, 1));
  const Value output = attention.forward(
      context, queries, pairs, pairs, {.valid_lens = Tensor::of({2}, std::vector<int64_t>{3, 2})});

  EXPECT_EQ(output.shape(), (Shape{2, 4, 100}));
  const Tensor& weights = keeper.seen["weights"];
  ASSERT_EQ(weights.shape(), (Shape{2, 5, 4, 6}));
  const std::vector<float> all = floats(weights);
  for (size_t i = 0; i < all.size(); ++i) {
    const size_t sequence = i / (5 * 4 * 6);
    const size_t key = i % 6;
    const float expected = sequence == 0 ? (key < 3 ? 1.0F / 3.0F : 0.0F) : (key < 2 ? 0.5F : 0.0F);
    ASSERT_EQ(all[i], expected) << "weight " << i;
  }
}

}  // namespace
}  // namespace headlight::nn
