// Observers see what the fast path did and change nothing.
#include <cmath>
#include <limits>

#include "tests/autograd/cached_rows.h"
#include "tests/autograd/observing.h"

namespace headlight::tests {
namespace {

using autograd::AttentionOptions;
using autograd::Context;
using autograd::Value;
using tensor::Shape;
using tensor::Tensor;

float at(const Tensor& x, std::initializer_list<int64_t> place) {
  int64_t offset = 0;
  int axis = 0;
  for (const int64_t index : place) offset += index * x.stride(axis++);
  return x.data<float>()[offset];
}

TEST_F(Observing, changes_no_bit_of_the_run) {
  const auto alone = run(nullptr);
  EXPECT_EQ(reconstructed_, 0);
  Notebook everything([](std::string_view) { return true; });
  EXPECT_EQ(run(&everything), alone);
  EXPECT_GT(reconstructed_, 0);
  Notebook nothing([](std::string_view) { return false; });
  EXPECT_EQ(run(&nothing), alone);
  EXPECT_EQ(reconstructed_, 0);
  EXPECT_TRUE(nothing.seen.empty());
}

TEST_F(Observing, one_head_computes_no_other_heads_scores) {
  Notebook one = Notebook::of({"decoder.0.self.head.2.weights"});
  run(&one);
  EXPECT_EQ(reconstructed_, kBatch * kQueries * kKeys);
  ASSERT_EQ(one.seen.size(), 1u);
  EXPECT_EQ(one.seen.begin()->second.shape(), (Shape{kBatch, kQueries, kKeys}));
}

TEST_F(Observing, some_rows_computes_no_other_rows_scores) {
  Notebook all = Notebook::of({"decoder.0.self.weights"});
  run(&all);
  EXPECT_EQ(reconstructed_, kBatch * kHeads * kQueries * kKeys);
  Notebook some = Notebook::of({"decoder.0.self.weights"});
  some.limited = {3, 1};
  run(&some);
  EXPECT_EQ(reconstructed_, kBatch * kHeads * kKeys);
  const Tensor whole = all.seen.at("decoder.0.self.weights");
  EXPECT_EQ(floats(some.seen.at("decoder.0.self.weights")), floats(whole.slice(2, 3, 1)));
}

TEST_F(Observing, rows_past_the_last_gives_those_there_are) {
  Notebook some = Notebook::of({"decoder.0.self.weights"});
  some.limited = {kQueries - 1, 100};
  run(&some);
  EXPECT_EQ(some.seen.at("decoder.0.self.weights").shape(), (Shape{kBatch, kHeads, 1, kKeys}));
}

TEST_F(Observing, row_statistics_and_inputs_computes_no_scores) {
  Notebook inputs([](std::string_view place) {
    return place.ends_with("query") || place.ends_with("key") || place.ends_with("value") ||
           place.ends_with("row_max") || place.ends_with("row_sum") ||
           place.ends_with("head_output");
  });
  run(&inputs);
  EXPECT_EQ(reconstructed_, 0);
  EXPECT_EQ(inputs.seen.size(), 6u * (1 + kHeads));
}

TEST_F(Observing, delivers_every_tensor_in_its_documented_shape) {
  Notebook everything([](std::string_view) { return true; });
  run(&everything);
  const Shape scores{kBatch, kHeads, kQueries, kKeys};
  const std::map<std::string, Shape> expected = {
      {"query", {kBatch, kHeads, kQueries, kWidth}},
      {"key", {kBatch, kHeads / 2, kKeys, kWidth}},
      {"value", {kBatch, kHeads / 2, kKeys, kValueWidth}},
      {"scores", scores},
      {"scaled_scores", scores},
      {"capped_scores", scores},
      {"position_bias", scores},
      {"masked_scores", scores},
      {"weights", scores},
      {"row_max", {kBatch, kHeads, kQueries}},
      {"row_sum", {kBatch, kHeads, kQueries}},
      {"weighted_values", {kBatch, kHeads, kQueries, kKeys, kValueWidth}},
      {"head_output", {kBatch, kHeads, kQueries, kValueWidth}}};
  EXPECT_EQ(everything.seen.size(), expected.size() * (1 + kHeads));
  for (const auto& [name, shape] : expected) {
    const Tensor& all = everything.seen.at("decoder.0.self." + name);
    EXPECT_EQ(all.shape(), shape) << name;
    for (int64_t head = 0; head < kHeads; ++head) {
      const Tensor& one =
          everything.seen.at("decoder.0.self.head." + std::to_string(head) + "." + name);
      const int64_t axis_head = shape[1] == kHeads ? head : head / 2;
      EXPECT_EQ(floats(one), floats(all.slice(1, axis_head, 1))) << name << " of head " << head;
      EXPECT_EQ(one.rank(), all.rank() - 1) << name;
    }
  }
}

TEST_F(Observing, shows_steps_that_follow_from_each_other) {
  Notebook everything([](std::string_view) { return true; });
  const std::vector<float> output = run(&everything)[0];
  const auto seen = [&](const std::string& name) {
    return everything.seen.at("decoder.0.self." + name);
  };
  const float scale = 1 / std::sqrt(static_cast<float>(kWidth));
  for (int64_t b = 0; b < kBatch; ++b) {
    for (int64_t h = 0; h < kHeads; ++h) {
      for (int64_t i = 0; i < kQueries; ++i) {
        std::vector<float> sums(kValueWidth, 0);
        for (int64_t j = 0; j < kKeys; ++j) {
          float dot = 0;
          for (int64_t d = 0; d < kWidth; ++d) {
            dot += at(seen("query"), {b, h, i, d}) * at(seen("key"), {b, h / 2, j, d});
          }
          EXPECT_NEAR(at(seen("scores"), {b, h, i, j}), dot, 1e-5);
          EXPECT_NEAR(at(seen("scaled_scores"), {b, h, i, j}), dot * scale, 1e-5);
          const float capped = 2 * std::tanh(dot * scale / 2);
          EXPECT_NEAR(at(seen("capped_scores"), {b, h, i, j}), capped, 1e-5);
          const float bias = -floats(slopes.data())[static_cast<size_t>(h)] *
                             static_cast<float>(std::abs(i + 2 * b - j));
          EXPECT_EQ(at(seen("position_bias"), {b, h, i, j}), bias);
          const bool visible = j <= i + 2 * b;
          const float masked = at(seen("masked_scores"), {b, h, i, j});
          const float weight = at(seen("weights"), {b, h, i, j});
          if (visible) {
            EXPECT_NEAR(masked, capped + bias, 1e-5);
            EXPECT_NEAR(
                weight,
                std::exp(masked - at(seen("row_max"), {b, h, i})) / at(seen("row_sum"), {b, h, i}),
                1e-6);
          } else {
            EXPECT_EQ(masked, -std::numeric_limits<float>::infinity());
            EXPECT_EQ(weight, 0);
          }
          for (int64_t e = 0; e < kValueWidth; ++e) {
            const float weighted = at(seen("weighted_values"), {b, h, i, j, e});
            EXPECT_FLOAT_EQ(weighted, weight * at(seen("value"), {b, h / 2, j, e}));
            sums[static_cast<size_t>(e)] += weighted;
          }
        }
        for (int64_t e = 0; e < kValueWidth; ++e) {
          const float head_output = at(seen("head_output"), {b, h, i, e});
          EXPECT_NEAR(head_output, sums[static_cast<size_t>(e)], 1e-5);
          const auto place =
              static_cast<size_t>(((b * kQueries + i) * kHeads + h) * kValueWidth + e);
          EXPECT_FLOAT_EQ(output[place],
                          head_output * floats(gates.data())[static_cast<size_t>(h)]);
        }
      }
    }
  }
}

TEST_F(Observing, shows_no_nan_that_hides_behind_the_mask) {
  Context context = inference_context();
  Notebook notebook = Notebook::of({"weighted_values", "weights"});
  context.observer = &notebook;
  const float nan = std::nanf("");
  attention(context, leaf({1, 1, 1}, {1}), leaf({1, 2, 1}, {1, nan}), leaf({1, 2, 1}, {3, nan}),
            {.causal = true});
  EXPECT_EQ(floats(notebook.seen.at("weights")), (std::vector<float>{1, 0}));
  EXPECT_EQ(floats(notebook.seen.at("weighted_values")), (std::vector<float>{3, 0}));
}

TEST_F(Observing, a_cache_sees_what_it_would_without) {
  const CachedRows cache(key.data(), value.data(), kHeads / 2);
  Notebook plain([](std::string_view) { return true; });
  Notebook cached([](std::string_view) { return true; });
  Context context = inference_context();
  context.observer = &plain;
  const Value expected = attention(context, query, key, value, options());
  context.observer = &cached;
  const Tensor output = cached_attention(context, query.data(), cache.view(), options());
  EXPECT_EQ(floats(output), floats(expected.data()));
  EXPECT_EQ(cached.seen.size(), plain.seen.size());
  for (const auto& [place, seen] : plain.seen) {
    EXPECT_EQ(cached.seen.at(place).shape(), seen.shape()) << place;
    EXPECT_EQ(floats(cached.seen.at(place)), floats(seen)) << place;
  }
}

TEST_F(Observing, of_additive_scoring_sees_its_own_scores_and_changes_no_bit) {
  const Value weights = random_leaf({3}, 7);
  const Value one_query = random_leaf({1, 2, 3}, 5);
  const Value one_key = random_leaf({1, 4, 3}, 6);
  const AttentionOptions options{.causal = true, .gates = leaf({1}, {0.5F}), .place = "a"};
  Context context = inference_context();
  const std::vector<float> alone =
      floats(additive_attention(context, one_query, one_key, one_key, weights, options).data());
  Notebook notebook([](std::string_view) { return true; });
  context.observer = &notebook;
  EXPECT_EQ(
      floats(additive_attention(context, one_query, one_key, one_key, weights, options).data()),
      alone);
  EXPECT_FALSE(notebook.seen.contains("a.capped_scores"));
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t j = 0; j < 4; ++j) {
      float score = 0;
      for (int64_t d = 0; d < 3; ++d) {
        score += at(weights.data(), {d}) *
                 std::tanh(at(one_query.data(), {0, i, d}) + at(one_key.data(), {0, j, d}));
      }
      EXPECT_NEAR(at(notebook.seen.at("a.scores"), {0, 0, i, j}), score, 1e-5);
      EXPECT_NEAR(at(notebook.seen.at("a.head.0.scaled_scores"), {0, i, j}), score, 1e-5);
    }
  }
  EXPECT_EQ(at(notebook.seen.at("a.weights"), {0, 0, 0, 0}), 1);
  EXPECT_FLOAT_EQ(at(notebook.seen.at("a.head_output"), {0, 0, 1, 2}) / 2, alone[5]);
}

TEST_F(Observing, of_a_layer_norm_sees_its_statistics) {
  Context context = inference_context();
  Notebook notebook([](std::string_view) { return true; });
  context.observer = &notebook;
  const Value y = layer_norm(context, leaf({1, 2}, {1, 5}), leaf({2}, {10, 10}), leaf({2}, {1, 1}),
                             {.epsilon = 0, .place = "decoder.0.norm_1"});
  const auto seen = [&](const std::string& name) {
    return floats(notebook.seen.at("decoder.0.norm_1." + name));
  };
  EXPECT_EQ(notebook.seen.size(), 5u);
  EXPECT_EQ(seen("input"), (std::vector<float>{1, 5}));
  EXPECT_EQ(seen("mean"), std::vector<float>{3});
  EXPECT_EQ(seen("deviation"), std::vector<float>{2});
  EXPECT_EQ(seen("normalized"), (std::vector<float>{-1, 1}));
  EXPECT_EQ(seen("output"), (std::vector<float>{-9, 11}));
  EXPECT_EQ(floats(y.data()), seen("output"));
}

TEST_F(Observing, of_a_root_mean_square_norm_sees_its_root) {
  Context context = inference_context();
  for (const bool after_residual : {false, true}) {
    Notebook notebook([](std::string_view) { return true; });
    context.observer = &notebook;
    const autograd::RmsNormOptions options{
        .epsilon = 0, .weight_offset = 1, .place = "decoder.0.norm_1"};
    const Value weight = leaf({2}, {10, 0});
    const Value y = after_residual ? residual_rms_norm(context, leaf({1, 1, 2}, {2, 1}),
                                                       leaf({1, 1, 2}, {-1, 6}), weight, options)
                                         .normalized
                                   : rms_norm(context, leaf({1, 1, 2}, {1, 7}), weight, options);
    const auto seen = [&](const std::string& name) {
      return floats(notebook.seen.at("decoder.0.norm_1." + name));
    };
    EXPECT_EQ(notebook.seen.size(), 4u);
    EXPECT_EQ(notebook.seen.at("decoder.0.norm_1.root_mean_square").shape(), (Shape{1, 1}));
    EXPECT_EQ(seen("input"), (std::vector<float>{1, 7}));
    EXPECT_FLOAT_EQ(seen("root_mean_square")[0], 5);
    EXPECT_FLOAT_EQ(seen("normalized")[0], 0.2F);
    EXPECT_FLOAT_EQ(seen("normalized")[1], 1.4F);
    EXPECT_FLOAT_EQ(seen("output")[0], 2.2F);
    EXPECT_FLOAT_EQ(seen("output")[1], 1.4F);
    EXPECT_EQ(floats(y.data()), seen("output"));
  }
}

TEST_F(Observing, of_norms_by_heads_sees_a_number_for_each) {
  Context context = inference_context();
  Notebook notebook([](std::string_view) { return true; });
  context.observer = &notebook;
  const Value x = leaf({1, 2, 4}, {3, 3, -4, 4, 1, 7, 0, 0});
  rms_norm(context, x, leaf({2}, {1, 2}), {.epsilon = 1, .place = "a", .heads = 2});
  layer_norm(context, x, leaf({2}, {1, 2}), Value(), {.epsilon = 1, .place = "b", .heads = 2});
  EXPECT_EQ(notebook.seen.at("a.root_mean_square").shape(), (Shape{1, 2, 2}));
  const std::vector<float> roots = floats(notebook.seen.at("a.root_mean_square"));
  for (const auto& [i, square] : {std::pair{0, 10}, {1, 17}, {2, 26}, {3, 1}}) {
    EXPECT_FLOAT_EQ(roots[static_cast<size_t>(i)], std::sqrt(static_cast<float>(square)));
  }
  EXPECT_FLOAT_EQ(floats(notebook.seen.at("a.normalized"))[2], -4 / roots[1]);
  EXPECT_EQ(notebook.seen.at("b.mean").shape(), (Shape{1, 2, 2}));
  EXPECT_EQ(floats(notebook.seen.at("b.mean")), (std::vector<float>{3, 0, 4, 0}));
  EXPECT_FLOAT_EQ(floats(notebook.seen.at("b.deviation"))[2], std::sqrt(10.0F));
}

TEST_F(Observing, of_a_rotation_sees_its_heads) {
  Context context = inference_context();
  Notebook notebook = Notebook::of({"decoder.0.self.query_rotated"});
  context.observer = &notebook;
  const Value y = rotate(context, leaf({1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}),
                         {.heads = 2,
                          .rates = Tensor::of({1}, {0}),
                          .magnitude = 2,
                          .place = "decoder.0.self.query_rotated"});
  EXPECT_EQ(floats(y.data()), (std::vector<float>{2, 4, 6, 8, 10, 12, 14, 16}));
  const Tensor seen = notebook.seen.at("decoder.0.self.query_rotated");
  EXPECT_EQ(seen.shape(), (Shape{1, 2, 2, 2}));
  EXPECT_EQ(floats(seen), (std::vector<float>{2, 4, 10, 12, 6, 8, 14, 16}));
}

TEST_F(Observing, of_a_linear_layer_sees_what_the_activation_is_given) {
  Context context = inference_context();
  Notebook notebook = Notebook::of({"decoder.0.ffn.hidden"});
  context.observer = &notebook;
  const Value y =
      linear(context, leaf({1, 1}, {2}), leaf({2, 1}, {-1, 1}), Value(),
             {.activation = kernels::Activation::relu, .hidden_place = "decoder.0.ffn.hidden"});
  EXPECT_EQ(floats(y.data()), (std::vector<float>{0, 2}));
  EXPECT_EQ(floats(notebook.seen.at("decoder.0.ffn.hidden")), (std::vector<float>{-2, 2}));
}

TEST_F(Observing, of_a_gated_product_sees_the_activated_gate) {
  Context context = inference_context();
  Notebook notebook([](std::string_view) { return true; });
  context.observer = &notebook;
  const Value both = leaf({2, 2}, {-1, 5, 3, 7});
  const auto halves = split(both, {1, 1});
  const Value y =
      gated_product(context, halves[0], halves[1], kernels::Activation::relu, "decoder.0.ffn");
  EXPECT_EQ(floats(y.data()), (std::vector<float>{0, 21}));
  ASSERT_EQ(notebook.seen.size(), 1u);
  EXPECT_EQ(floats(notebook.seen.at("decoder.0.ffn.activated")), (std::vector<float>{0, 3}));
  EXPECT_EQ(floats(both.data()), (std::vector<float>{-1, 5, 3, 7}));
}

}  // namespace
}  // namespace headlight::tests
