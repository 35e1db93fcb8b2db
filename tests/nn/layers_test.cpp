// The layers around attention: linear, norm, embedding, positions, feed-forward.
#include <thread>

#include "tests/nn/support.h"

namespace headlight::nn {
namespace {

using Layers = tests::Autograd;

TEST_F(Layers, linear_multiplies_by_rows_of_the_weight_or_columns) {
  Context context = inference_context();
  const Linear out_in("fc", {.inputs = 2, .outputs = 3});
  out_in.parameters()[0]->assign(Tensor::of({3, 2}, std::vector<float>{1, 2, 3, 4, 5, 6}));
  out_in.parameters()[1]->change().mutable_data<float>()[2] = 10;
  const Value x = leaf({1, 2}, {1, 1});
  EXPECT_EQ(floats(out_in.forward(context, x).data()), (std::vector<float>{3, 7, 21}));

  const Linear in_out("fc",
                      {.inputs = 2, .outputs = 3, .bias = false, .layout = WeightLayout::in_out});
  in_out.parameters()[0]->assign(Tensor::of({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(floats(in_out.forward(context, x).data()), (std::vector<float>{5, 7, 9}));
}

TEST_F(Layers, linear_notices_changed_numbers) {
  Context context = inference_context();
  const Linear layer("fc", {.inputs = 2, .outputs = 1, .bias = false});
  const ParameterHandle weight = layer.parameters()[0];
  weight->assign(Tensor::of({1, 2}, std::vector<float>{1, 2}));
  const Value x = leaf({1, 2}, {1, 1});
  EXPECT_EQ(floats(layer.forward(context, x).data())[0], 3);
  weight->change().mutable_data<float>()[0] = 5;
  EXPECT_EQ(floats(layer.forward(context, x).data())[0], 7);
}

TEST_F(Layers, linear_has_the_same_bits_packed_and_recorded) {
  const Linear layer("fc", {.inputs = 37, .outputs = 29, .activation = Activation::gelu});
  draw_xavier_uniform(layer.parameters(), 1);
  const Value x = random_leaf({5, 37}, 2);
  Context quiet = inference_context();
  Context recording = recording_context();
  EXPECT_TRUE(same_bits(layer.forward(quiet, x).data(), layer.forward(recording, x).data()));
}

TEST_F(Layers, linear_keeps_a_weight_that_nobody_asks_for_packed_alone) {
  for (const WeightLayout layout : {WeightLayout::out_in, WeightLayout::in_out}) {
    const Linear layer("fc", {.inputs = 37, .outputs = 45, .bias = false, .layout = layout});
    const ParameterHandle weight = layer.parameters()[0];
    Tensor numbers = Tensor::uninitialized(tensor::DType::f32, weight->shape());
    for (int64_t i = 0; i < numbers.elements(); ++i) {
      numbers.mutable_data<float>()[i] = static_cast<float>(i) / 7;
    }
    const std::vector<float> expected = floats(numbers);
    weight->assign(std::move(numbers));
    const Value x = random_leaf({3, 37}, 2);
    Context quiet = inference_context();
    const Tensor first = layer.forward(quiet, x).data();
    // Made anew for each who borrows them, and once for those who keep them.
    EXPECT_NE(weight->borrowed().raw(), weight->borrowed().raw());
    EXPECT_EQ(floats(weight->borrowed()), expected);
    EXPECT_TRUE(weight->defined());
    EXPECT_FALSE(weight->grad().defined());
    EXPECT_EQ(floats(weight->value().data()), expected);
    EXPECT_EQ(weight->borrowed().raw(), weight->value().data().raw());
    Context recording = recording_context();
    EXPECT_TRUE(same_bits(layer.forward(recording, x).data(), first));
    weight->change().mutable_data<float>()[0] = 100;
    EXPECT_FALSE(same_bits(layer.forward(quiet, x).data(), first));
    EXPECT_EQ(weight->borrowed().raw(), weight->value().data().raw());
  }
}

// Large enough for several runs of columns, each of which is freed when it is packed.
TEST_F(Layers, a_tied_table_is_read_from_the_packed_output_layer) {
  constexpr int64_t kRows = 3001, kWidth = 1024;
  const Embedding embedding("wte", kRows, kWidth);
  Tensor numbers = Tensor::uninitialized(tensor::DType::f32, {kRows, kWidth});
  const auto number = [](int64_t i) { return static_cast<float>(i % 65521) / 7; };
  for (int64_t i = 0; i < numbers.elements(); ++i) numbers.mutable_data<float>()[i] = number(i);
  embedding.weight()->assign(std::move(numbers));
  const Linear head(Linear::Part{.weight = embedding.weight(), .outputs = kRows});
  Context context = inference_context();
  const Tensor ids = Tensor::of({3}, std::vector<int64_t>{0, kRows - 1, 1500});
  const std::vector<float> before = floats(embedding.forward(context, ids, 3).data());
  const Value x = random_leaf({2, kWidth}, 2);
  const Tensor logits = head.forward(context, x).data();
  EXPECT_NE(embedding.weight()->borrowed().raw(), embedding.weight()->borrowed().raw());
  EXPECT_EQ(floats(embedding.forward(context, ids, 3).data()), before);
  const std::vector<float> again = floats(embedding.weight()->borrowed());
  for (int64_t i = 0; i < kRows * kWidth; ++i) {
    ASSERT_EQ(again[static_cast<size_t>(i)], number(i)) << i;
  }
  Context recording = recording_context();
  EXPECT_EQ(floats(embedding.forward(recording, ids, 3).data()), before);
  EXPECT_TRUE(same_bits(head.forward(recording, x).data(), logits));
}

TEST_F(Layers, the_loss_of_a_packed_output_layer_is_that_of_the_plain_one_and_keeps_it_packed) {
  constexpr int64_t kClasses = 70001, kWidth = 6;  // logits of 600 rows are more than a chunk
  const Embedding embedding("wte", kClasses, kWidth);
  draw_normal(embedding.parameters(), 1, 1);
  const OutputLayer head(embedding.weight());
  const Value x = random_leaf({600, kWidth}, 2);
  std::vector<int64_t> ids(600);
  for (size_t i = 0; i < ids.size(); ++i) {
    ids[i] = i % 5 == 0 ? -1 : static_cast<int64_t>(i * 101 % kClasses);
  }
  const Tensor targets = Tensor::of({600}, ids);
  Context context = inference_context();
  const Tensor plain = head.loss(context, x, targets, 0.1F).data();
  EXPECT_FALSE(embedding.weight()->is_packed_alone());

  const OutputLayer again(std::make_shared<Parameter>("wte.weight", Shape{kClasses, kWidth}));
  again.parameters()[0]->assign(embedding.weight()->borrowed());
  again.logits(context, random_leaf({1, kWidth}, 3));
  EXPECT_TRUE(again.parameters()[0]->is_packed_alone());
  EXPECT_TRUE(same_bits(again.loss(context, x, targets, 0.1F).data(), plain));
  EXPECT_TRUE(again.parameters()[0]->is_packed_alone());
  const Tensor outside = Tensor::of({600}, std::vector<int64_t>(600, kClasses));
  EXPECT_EQ(error_of([&] { again.loss(context, x, outside, 0); }),
            "linear_cross_entropy (targets): target 70001 at position 0 is outside the 70001 "
            "classes");
}

TEST_F(Layers, numbers_that_somebody_else_holds_are_not_freed) {
  const Linear layer("fc", {.inputs = 1024, .outputs = 1025, .bias = false});
  draw_uniform(layer.parameters(), 1);
  const Tensor held = layer.parameters()[0]->borrowed();
  const std::vector<float> before = floats(held);
  Context context = inference_context();
  layer.forward(context, random_leaf({1, 1024}, 2));
  EXPECT_EQ(floats(held), before);
}

TEST_F(Layers, a_tied_output_layer_shares_the_embedding) {
  Context context = inference_context();
  const Embedding embedding("wte", 5, 3);
  draw_normal(embedding.parameters(), 1, 1);
  const Linear head(Linear::Part{.weight = embedding.weight(), .outputs = 5});
  const Value row = embedding.forward(context, Tensor::of({1}, std::vector<int64_t>{4}));
  const std::vector<float> logits = floats(head.forward(context, row).data());
  float square = 0;
  for (const float number : floats(row.data())) square += number * number;
  EXPECT_NEAR(logits[4], square, 1e-5F);
}

TEST_F(Layers, layer_norm_starts_with_ones_and_zeros) {
  Context context = inference_context();
  const Norm norm("ln", {.width = 4, .place = "decoder.0.norm_1"});
  Keeper keeper;
  context.observer = &keeper;
  const std::vector<float> y = floats(norm.forward(context, leaf({1, 4}, {1, 2, 3, 4})).data());
  const float deviation = std::sqrt(1.25F + 1e-5F);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(y[i], (static_cast<float>(i) - 1.5F) / deviation, 1e-6F);
  }
  EXPECT_TRUE(keeper.seen.contains("decoder.0.norm_1.normalized"));
  EXPECT_EQ(Norm("ln", {.width = 4, .bias = false}).parameters().size(), 1U);
}

TEST_F(Layers, layer_norm_of_a_residual_is_that_of_the_sum) {
  Context context = inference_context();
  const Norm norm("ln", {.width = 8, .epsilon = 1e-3F});
  const Value x = random_leaf({3, 8}, 1);
  const Value residual = random_leaf({3, 8}, 2);
  const autograd::ResidualNorm both = norm.forward(context, x, residual);
  EXPECT_TRUE(same_bits(both.sum.data(), autograd::add(context, x, residual).data()));
  EXPECT_TRUE(same_bits(both.normalized.data(), norm.forward(context, both.sum).data()));
}

TEST_F(Layers, rms_norm_starts_by_multiplying_by_one) {
  Context context = inference_context();
  const Value x = leaf({1, 4}, {1, -2, 3, 4});
  const float root = std::sqrt(30.0F / 4 + 1e-5F);
  for (const float offset : {0.0F, 1.0F}) {
    const Norm norm("rms", {.width = 4,
                            .kind = NormKind::rms_norm,
                            .weight_offset = offset,
                            .place = "decoder.0.norm_1"});
    EXPECT_EQ(norm.parameters().size(), 1U);
    EXPECT_EQ(floats(norm.parameters()[0]->value().data())[0], 1 - offset);
    Keeper keeper;
    context.observer = &keeper;
    const std::vector<float> y = floats(norm.forward(context, x).data());
    for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(y[i], floats(x.data())[i] / root, 1e-6F);
    EXPECT_NEAR(floats(keeper.seen.at("decoder.0.norm_1.root_mean_square"))[0], root, 1e-6F);
    const autograd::ResidualNorm both = norm.forward(context, x, x);
    EXPECT_TRUE(same_bits(both.normalized.data(), norm.forward(context, both.sum).data()));
  }
}

TEST_F(Layers, sinusoidal_positions_are_sines_and_cosines_of_pairs) {
  Context context = inference_context();
  const SinusoidalPositions positions({.count = 10, .width = 6});
  const Tensor rows =
      positions.forward(context, position_ids(std::vector<int64_t>{0, 7}, 3)).data();
  ASSERT_EQ(rows.shape(), (Shape{2, 3, 6}));
  const std::vector<float> last = floats(rows.slice(0, 1, 1).slice(1, 2, 1));  // position 9
  for (int i = 0; i < 3; ++i) {
    const double angle = 9 / std::pow(10000.0, 2.0 * i / 6);
    EXPECT_NEAR(last[static_cast<size_t>(2 * i)], std::sin(angle), 1e-6);
    EXPECT_NEAR(last[static_cast<size_t>(2 * i + 1)], std::cos(angle), 1e-6);
  }
  // An odd row ends with a sine.
  const SinusoidalPositions odd({.count = 10, .width = 5});
  const std::vector<float> row =
      floats(odd.forward(context, position_ids(std::vector<int64_t>{9}, 1)).data());
  ASSERT_EQ(row.size(), 5u);
  EXPECT_NEAR(row[3], std::cos(9 / std::pow(10000.0, 2.0 / 5)), 1e-6);
  EXPECT_NEAR(row[4], std::sin(9 / std::pow(10000.0, 4.0 / 5)), 1e-6);
  expect_has(
      error_of([&] { positions.forward(context, position_ids(std::vector<int64_t>{8}, 3)); }),
      "id 10 at position 2");
}

TEST_F(Layers, feed_forward_is_two_layers_that_can_be_seen) {
  Context context = inference_context();
  const FeedForward ffn({.width = 4, .hidden = 8, .place = "encoder.0.ffn"});
  draw_xavier_uniform(ffn.parameters(), 1);
  const Value x = random_leaf({2, 3, 4}, 1);
  const Tensor unobserved = ffn.forward(context, x).data();
  Keeper keeper;
  context.observer = &keeper;
  EXPECT_TRUE(same_bits(ffn.forward(context, x).data(), unobserved));
  const std::vector<float> hidden = floats(keeper.seen.at("encoder.0.ffn.hidden"));
  const std::vector<float> activated = floats(keeper.seen.at("encoder.0.ffn.activated"));
  for (size_t i = 0; i < hidden.size(); ++i) EXPECT_EQ(activated[i], std::max(hidden[i], 0.0F));
  EXPECT_LT(*std::min_element(hidden.begin(), hidden.end()), 0);
  EXPECT_TRUE(same_bits(keeper.seen.at("encoder.0.ffn.output"), unobserved));
}

TEST_F(Layers, gated_feed_forward_can_be_seen_and_changed) {
  for (const char* gate_name : {"gate", "fc1"}) {
    SCOPED_TRACE(gate_name);
    Context context = inference_context();
    const FeedForward ffn({.width = 4,
                           .hidden = 8,
                           .activation = Activation::silu,
                           .gate = gate_name,
                           .place = "encoder.0.ffn"});
    draw_xavier_uniform(ffn.parameters(), 1);
    const Value x = random_leaf({2, 3, 4}, 1);
    const Tensor unobserved = ffn.forward(context, x).data();
    Keeper keeper;
    context.observer = &keeper;
    EXPECT_TRUE(same_bits(ffn.forward(context, x).data(), unobserved));
    const auto seen = [&keeper](const char* name) {
      return floats(keeper.seen.at(std::string("encoder.0.ffn.") + name));
    };
    for (size_t i = 0; i < 2 * 3 * 8; ++i) {
      EXPECT_NEAR(seen("activated")[i], seen("gate")[i] / (1 + std::exp(-seen("gate")[i])), 1e-6F);
      EXPECT_NEAR(seen("gated")[i], seen("activated")[i] * seen("up")[i], 1e-6F);
    }
    EXPECT_FALSE(keeper.seen.contains("encoder.0.ffn.hidden"));
    EXPECT_TRUE(same_bits(keeper.seen.at("encoder.0.ffn.output"), unobserved));
    // The gate is what is activated: the layer has the numbers of the three products by hand.
    EXPECT_TRUE(
        same_bits(ffn.gate()->forward(context, x).data(), keeper.seen.at("encoder.0.ffn.gate")));
    EXPECT_TRUE(
        same_bits(ffn.first().forward(context, x).data(), keeper.seen.at("encoder.0.ffn.up")));
    struct Zero : autograd::Intervention {
      bool changes(std::string_view place) override { return place == "encoder.0.ffn.gated"; }
      void change(std::string_view /*place*/, Tensor& values) override {
        std::fill_n(values.mutable_data<float>(), values.elements(), 0.0F);
      }
    } zero;
    context.intervention = &zero;
    EXPECT_EQ(largest(ffn.forward(context, x).data()), 0);  // the second bias is zero
  }
}

TEST_F(Layers, gated_feed_forward_has_one_or_two_first_layers) {
  const auto shapes = [](const std::string& gate) {
    std::vector<std::string> all;
    for (const ParameterHandle& parameter :
         FeedForward({.width = 4, .hidden = 8, .gate = gate}).parameters()) {
      all.push_back(parameter->name() + " " + parameter->shape().text());
    }
    return all;
  };
  EXPECT_EQ(shapes("gate"),
            (std::vector<std::string>{"gate.weight [8, 4]", "gate.bias [8]", "fc1.weight [8, 4]",
                                      "fc1.bias [8]", "fc2.weight [4, 8]", "fc2.bias [4]"}));
  EXPECT_EQ(shapes("fc1"), (std::vector<std::string>{"fc1.weight [16, 4]", "fc1.bias [16]",
                                                     "fc2.weight [4, 8]", "fc2.bias [4]"}));
}

TEST_F(Layers, feed_forward_drops_only_in_training) {
  const FeedForward ffn({.width = 4,
                         .hidden = 8,
                         .hidden_dropout = 0.5F,
                         .output_dropout = 0.5F,
                         .place = "encoder.0.ffn"});
  draw_xavier_uniform(ffn.parameters(), 1);
  const Value x = random_leaf({2, 3, 4}, 1);
  Context evaluation = inference_context();
  Context training = inference_context();
  training.training = true;
  const Tensor dropped = ffn.forward(training, x).data();
  EXPECT_TRUE(same_bits(dropped, ffn.forward(training, x).data()));
  EXPECT_FALSE(same_bits(dropped, ffn.forward(evaluation, x).data()));
}

TEST_F(Layers, names_and_orientation_are_those_of_the_model) {
  const FeedForward mlp({.width = 4,
                         .hidden = 16,
                         .activation = Activation::gelu_tanh,
                         .layout = WeightLayout::in_out,
                         .first = "h.0.mlp.c_fc",
                         .second = "h.0.mlp.c_proj"});
  const Parameters parameters = mlp.parameters();
  ASSERT_EQ(parameters.size(), 4U);
  EXPECT_EQ(parameters[0]->name(), "h.0.mlp.c_fc.weight");
  EXPECT_EQ(parameters[0]->shape(), (Shape{4, 16}));
  EXPECT_EQ(parameters[3]->name(), "h.0.mlp.c_proj.bias");
}

TEST_F(Layers, several_threads_may_run_one_layer) {
  const Linear layer("fc", {.inputs = 64, .outputs = 64});
  draw_xavier_uniform(layer.parameters(), 1);
  const Value x = random_leaf({4, 64}, 2);
  std::vector<Tensor> results(4);
  std::vector<std::thread> callers;
  for (Tensor& result : results) {
    callers.emplace_back([&] {
      base::ThreadPool threads(1);
      tensor::Arena arena;
      Context context{.threads = threads, .arena = arena};
      result = layer.forward(context, x).data();
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (const Tensor& result : results) EXPECT_TRUE(same_bits(result, results[0]));
}

}  // namespace
}  // namespace headlight::nn
