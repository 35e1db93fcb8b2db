// MultiHeadAttention: widths, gates, dropout, what can be seen and changed.
#include "tests/nn/support.h"

namespace headlight::nn {
namespace {

using Attention = tests::Autograd;

MultiHeadAttention drawn(const MultiHeadAttentionOptions& options) {
  MultiHeadAttention attention(options);
  draw_xavier_uniform(attention.parameters(), 1);
  return attention;
}

TEST_F(Attention, has_free_widths) {
  Context context = inference_context();
  const MultiHeadAttention attention = drawn({.query_width = 6,
                                              .key_width = 5,
                                              .value_width = 7,
                                              .heads = 4,
                                              .kv_heads = 2,
                                              .out_dim = 9,
                                              .head_dim = 3,
                                              .value_head_dim = 2,
                                              .names = names_of(AttentionLayout::d2l)});
  const Value output = attention.forward(context, random_leaf({2, 3, 6}, 1),
                                         random_leaf({2, 8, 5}, 2), random_leaf({2, 8, 7}, 3));
  EXPECT_EQ(output.shape(), (Shape{2, 3, 9}));
}

TEST_F(Attention, heads_follow_from_the_output_width) {
  const MultiHeadAttention from_scratch(
      {.query_width = 30, .heads = 4, .out_dim = 24, .names = names_of(AttentionLayout::named)});
  EXPECT_EQ(from_scratch.options().head_dim, 6);
  const MultiHeadAttention bare(
      {.query_width = 6, .heads = 2, .head_dim = 6, .output_projection = false});
  EXPECT_EQ(bare.options().out_dim, 12);
}

TEST_F(Attention, refuses_widths_that_do_not_fit) {
  const auto refusal = [](const MultiHeadAttentionOptions& options) {
    return error_of([&] { MultiHeadAttention attention(options); });
  };
  expect_has(refusal({.query_width = 24, .heads = 5, .place = "encoder.1.self"}),
             "multi-head attention (encoder.1.self): width 24 cannot be split into 5 heads");
  expect_has(refusal({.query_width = 24, .heads = 0}), "heads is 0");
  expect_has(refusal({.query_width = 24, .heads = 4, .kv_heads = 3}),
             "4 heads cannot share 3 key/value heads");
  expect_has(refusal({.query_width = -1}), "query_width is -1");
  expect_has(refusal({.query_width = 24, .key_width = 12}),
             "c_attn.weight would have to be [72, 24] and [72, 12] at once");
  expect_has(
      refusal(
          {.query_width = 8, .heads = 2, .out_dim = 6, .head_dim = 4, .output_projection = false}),
      "out_dim is 6, without an output projection 2 heads of width 4 give 8");
}

TEST_F(Attention, refuses_inputs_of_another_width) {
  Context context = inference_context();
  const MultiHeadAttention attention = drawn({.query_width = 24, .heads = 4});
  expect_has(error_of([&] {
               attention.forward(context, random_leaf({1, 2, 23}, 1));
             }),
             "linear (c_attn.weight): shape [72, 24] takes rows of 24, the input is [1, 2, 23]");
  expect_has(error_of([&] { attention.forward(context, random_leaf({2, 24}, 1)); }), "rank 3");
}

TEST_F(Attention, refuses_in_a_call_what_is_the_modules) {
  Context context = inference_context();
  const MultiHeadAttention attention = drawn({.query_width = 24, .heads = 4});
  const Value x = random_leaf({1, 2, 24}, 1);
  const std::vector<AttentionOptions> calls = {
      {.heads = 4}, {.kv_heads = 2}, {.dropout = 0.1F}, {.place = "a"}};
  for (const AttentionOptions& call : calls) {
    expect_has(error_of([&] { attention.forward(context, x, call); }), "are the module's");
  }
}

// Rows of (query, key, value) of all heads, and the same rows head by head.
tensor::Tensor in_turns(const tensor::Tensor& side_by_side, int64_t heads, int64_t width) {
  tensor::Tensor turned = tensor::Tensor::uninitialized(DType::f32, side_by_side.shape());
  const int64_t inner = side_by_side.elements() / (3 * heads * width);
  for (int64_t part = 0; part < 3; ++part) {
    for (int64_t head = 0; head < heads; ++head) {
      std::copy_n(side_by_side.data<float>() + (part * heads + head) * width * inner, width * inner,
                  turned.mutable_data<float>() + (head * 3 + part) * width * inner);
    }
  }
  return turned;
}

TEST_F(Attention, of_heads_that_lie_in_turns_is_that_of_projections_side_by_side) {
  MultiHeadAttentionOptions options{.query_width = 12, .heads = 3, .rotation = {.rates = {1}}};
  const MultiHeadAttention plain = drawn(options);
  options.names.interleaved = true;
  const MultiHeadAttention turned(options);
  for (size_t i = 0; i < plain.parameters().size(); ++i) {
    const Parameter& from = *plain.parameters()[i];
    const bool fused = from.name().starts_with("c_attn");
    turned.parameters()[i]->assign(fused ? in_turns(from.value().data(), 3, 4)
                                         : from.value().data());
  }
  Context context = inference_context();
  const Value x = random_leaf({2, 5, 12}, 1);
  EXPECT_TRUE(same_bits(turned.forward(context, x, {.causal = true}).data(),
                        plain.forward(context, x, {.causal = true}).data()));
  EXPECT_EQ(turned.head_begin(1, 2), 28);
  EXPECT_EQ(plain.head_begin(1, 2), 20);
  expect_has(error_of([&] {
               turned.forward(context, x, random_leaf({2, 5, 12}, 2), x);
             }),
             "heads that lie in turns are of self-attention alone");
  options.kv_heads = 1;
  expect_has(error_of([&] { MultiHeadAttention attention(options); }),
             "as many key/value heads as heads");
}

TEST_F(Attention, one_of_equal_values_is_self_attention_to_the_bit) {
  Context context = inference_context();
  const MultiHeadAttention attention = drawn({.query_width = 24, .heads = 4});
  const Value x = random_leaf({2, 5, 24}, 1);
  const Value copy = random_leaf({2, 5, 24}, 1);
  EXPECT_TRUE(same_bits(attention.forward(context, x).data(),
                        attention.forward(context, x, copy, x).data()));
}

TEST_F(Attention, fused_and_separate_weights_get_the_same_gradients) {
  const Value x = random_leaf({2, 5, 12}, 1);
  const MultiHeadAttention fused = drawn({.query_width = 12, .heads = 3});
  const MultiHeadAttention separate(
      {.query_width = 12, .heads = 3, .names = names_of(AttentionLayout::d2l)});
  const Tensor weight = fused.parameters()[0]->value().data();
  const Parameters& parts = separate.parameters();
  for (int64_t i = 0; i < 3; ++i) {
    parts[static_cast<size_t>(2 * i)]->assign(weight.slice(0, 12 * i, 12).contiguous());
  }
  parts[6]->assign(fused.parameters()[2]->value().data());

  Context context = recording_context();
  const Tensor d_output = random_leaf({2, 5, 12}, 2).data();
  tape_.backward(context, fused.forward(context, x), d_output);
  tape_.backward(context, separate.forward(context, x), d_output);
  const Tensor d_weight = fused.parameters()[0]->grad();
  const Tensor d_bias = fused.parameters()[1]->grad();
  for (int64_t i = 0; i < 3; ++i) {
    const auto at = static_cast<size_t>(2 * i);
    EXPECT_LE(distance(parts[at]->grad(), d_weight.slice(0, 12 * i, 12)), 1e-5F);
    EXPECT_LE(distance(parts[at + 1]->grad(), d_bias.slice(0, 12 * i, 12)), 1e-5F);
  }
}

TEST_F(Attention, gates_of_the_module_are_those_of_a_call) {
  Context context = inference_context();
  MultiHeadAttention attention = drawn({.query_width = 12, .heads = 3});
  const Value x = random_leaf({2, 5, 12}, 1);
  const Tensor plain = attention.forward(context, x).data();
  const Value gates = leaf({3}, {0, 0.5F, 2});
  const Tensor called = attention.forward(context, x, {.gates = gates}).data();
  attention.set_gates(gates);
  EXPECT_TRUE(same_bits(attention.forward(context, x).data(), called));
  EXPECT_GT(distance(plain, called), 0.01F);
  EXPECT_TRUE(
      same_bits(attention.forward(context, x, {.gates = leaf({3}, {1, 1, 1})}).data(), plain));
  attention.set_gates({});
  EXPECT_TRUE(same_bits(attention.forward(context, x).data(), plain));
}

TEST_F(Attention, a_gates_gradient_is_the_heads_part_of_the_output) {
  Context context = recording_context();
  MultiHeadAttention attention = drawn({.query_width = 12, .heads = 3});
  const Value gates = leaf({3}, {1, 1, 1});
  attention.set_gates(gates);
  const Value x = random_leaf({1, 4, 12}, 1);
  const Tensor d_output = random_leaf({1, 4, 12}, 2).data();
  tape_.backward(context, attention.forward(context, x), d_output);
  const std::vector<float> gradient = floats(gates.grad());

  // The output is linear in the gates.
  Context quiet = inference_context();
  const auto weighted = [&](const std::vector<float>& values) {
    const std::vector<float> output =
        floats(attention.forward(quiet, x, {.gates = leaf({3}, values)}).data());
    double sum = 0;
    for (size_t i = 0; i < output.size(); ++i) sum += output[i] * floats(d_output)[i];
    return sum;
  };
  const double none = weighted({0, 0, 0});
  EXPECT_NEAR(gradient[0], weighted({1, 0, 0}) - none, 1e-4);
  EXPECT_NEAR(gradient[2], weighted({0, 0, 1}) - none, 1e-4);
}

TEST_F(Attention, dropout_is_reproducible_and_only_in_training) {
  const MultiHeadAttention attention = drawn({.query_width = 12,
                                              .heads = 3,
                                              .weight_dropout = 0.3F,
                                              .output_dropout = 0.2F,
                                              .place = "decoder.0.self"});
  const MultiHeadAttention without = drawn({.query_width = 12, .heads = 3});
  const Value x = random_leaf({2, 6, 12}, 1);
  const auto run = [&](uint64_t step, bool training) {
    Context context = recording_context();
    context.random = {.seed = 5, .step = step};
    context.training = training;
    return attention.forward(context, x).data();
  };
  Context quiet = inference_context();
  EXPECT_TRUE(same_bits(run(1, false), without.forward(quiet, x).data()));
  EXPECT_TRUE(same_bits(run(1, true), run(1, true)));
  EXPECT_FALSE(same_bits(run(1, true), run(2, true)));
  EXPECT_FALSE(same_bits(run(1, true), run(1, false)));
}

TEST_F(Attention, all_that_happens_can_be_seen_and_seeing_changes_nothing) {
  Context context = inference_context();
  const MultiHeadAttention attention =
      drawn({.query_width = 12, .heads = 3, .value_head_dim = 5, .place = "encoder.0.self"});
  const Value x = random_leaf({2, 5, 12}, 1);
  const Tensor unobserved = attention.forward(context, x).data();
  Keeper keeper;
  context.observer = &keeper;
  const Tensor observed = attention.forward(context, x).data();
  EXPECT_TRUE(same_bits(observed, unobserved));

  const std::map<std::string, Shape> shapes{
      {"projected", {2, 5, 39}},       {"projected_query", {2, 5, 12}},
      {"projected_key", {2, 5, 12}},   {"projected_value", {2, 5, 15}},
      {"query", {2, 3, 5, 4}},         {"key", {2, 3, 5, 4}},
      {"value", {2, 3, 5, 5}},         {"scores", {2, 3, 5, 5}},
      {"scaled_scores", {2, 3, 5, 5}}, {"masked_scores", {2, 3, 5, 5}},
      {"weights", {2, 3, 5, 5}},       {"row_max", {2, 3, 5}},
      {"row_sum", {2, 3, 5}},          {"weighted_values", {2, 3, 5, 5, 5}},
      {"head_output", {2, 3, 5, 5}},   {"head.2.weights", {2, 5, 5}},
      {"concatenated", {2, 5, 15}},    {"output", {2, 5, 12}}};
  for (const auto& [name, shape] : shapes) {
    EXPECT_EQ(keeper.seen["encoder.0.self." + name].shape(), shape) << name;
  }
  EXPECT_TRUE(same_bits(keeper.seen["encoder.0.self.output"], observed));
  // The merge is the heads side by side.
  const Tensor heads =
      keeper.seen["encoder.0.self.head_output"].permuted({0, 2, 1, 3}).contiguous();
  EXPECT_TRUE(same_bits(heads.reshaped({2, 5, 15}), keeper.seen["encoder.0.self.concatenated"]));
}

TEST_F(Attention, weights_are_not_computed_when_nobody_wants_them) {
  Context context = inference_context();
  const MultiHeadAttention attention = drawn({.query_width = 12, .heads = 3, .place = "a"});
  const Value x = random_leaf({2, 5, 12}, 1);
  Keeper keeper({"a.output"});
  context.observer = &keeper;
  attention.forward(context, x);
  EXPECT_EQ(context.statistics.scores_reconstructed, 0);
  keeper.wanted = {"a.head.1.weights"};
  attention.forward(context, x);
  EXPECT_EQ(context.statistics.scores_reconstructed, 2 * 5 * 5);
}

TEST_F(Attention, an_intervention_changes_the_merge) {
  struct Zeros : autograd::Intervention {
    bool changes(std::string_view place) override { return place == "a.concatenated"; }
    void change(std::string_view, Tensor& values) override {
      std::fill_n(values.mutable_data<float>(), values.elements(), 0.0F);
    }
  } zeros;
  Context context = inference_context();
  context.intervention = &zeros;
  const MultiHeadAttention attention = drawn({.query_width = 12, .heads = 3, .place = "a"});
  EXPECT_EQ(largest(attention.forward(context, random_leaf({1, 2, 12}, 1)).data()), 0);
}

TEST_F(Attention, additive_scoring_obeys_masks_and_shows_its_weights) {
  Context context = inference_context();
  Keeper keeper;
  context.observer = &keeper;
  const AdditiveAttention attention(
      {.query_width = 4, .key_width = 3, .hidden = 5, .place = "cross"});
  draw_xavier_uniform(attention.parameters(), 1);
  const Value output = attention.forward(context, random_leaf({1, 2, 4}, 1),
                                         random_leaf({1, 6, 3}, 2), random_leaf({1, 6, 7}, 3),
                                         {.valid_lens = Tensor::of({1}, std::vector<int64_t>{2})});
  EXPECT_EQ(output.shape(), (Shape{1, 2, 7}));
  const std::vector<float> weights = floats(keeper.seen.at("cross.weights"));
  EXPECT_NEAR(weights[0] + weights[1], 1, 1e-6F);
  EXPECT_EQ(weights[2], 0);
  EXPECT_TRUE(same_bits(keeper.seen.at("cross.output"), output.data()));
}

// (B, T, H*D) as (B, H, T, D).
Tensor split_into_heads(const Tensor& x, int64_t heads) {
  return x.reshaped({x.size(0), x.size(1), heads, x.size(2) / heads})
      .permuted({0, 2, 1, 3})
      .contiguous();
}

TEST_F(Attention, shows_queries_and_keys_as_they_are_passed_on) {
  Context context = inference_context();
  Keeper keeper;
  context.observer = &keeper;
  MultiHeadAttentionOptions options{.query_width = 12,
                                    .heads = 4,
                                    .kv_heads = 2,
                                    .head_dim = 6,
                                    .rotation = {.rates = {1, 0.5F}},
                                    .place = "decoder.0.self"};
  options.names.query_norm = "q_norm";
  options.names.key_norm = "k_norm";
  const MultiHeadAttention attention = drawn(options);
  const Value x = random_leaf({2, 3, 12}, 1);
  attention.forward(context, x, {.causal = true});
  const auto seen = [&keeper](const char* name) {
    return keeper.seen.at(std::string("decoder.0.self.") + name);
  };
  EXPECT_EQ(seen("query_normed").shape(), (Shape{2, 3, 24}));
  EXPECT_EQ(seen("key_normed").shape(), (Shape{2, 3, 12}));
  EXPECT_FALSE(same_bits(seen("projected_query"), seen("query_normed")));
  // Attention reads what was rotated; at position 0 nothing turns, later the first columns do.
  EXPECT_TRUE(same_bits(seen("query"), split_into_heads(seen("query_rotated"), 4)));
  EXPECT_TRUE(same_bits(seen("key"), split_into_heads(seen("key_rotated"), 2)));
  EXPECT_TRUE(same_bits(seen("key_rotated").slice(1, 0, 1), seen("key_normed").slice(1, 0, 1)));
  const Tensor normed = split_into_heads(seen("key_normed"), 2);
  EXPECT_FALSE(same_bits(seen("key").slice(3, 0, 4), normed.slice(3, 0, 4)));
  EXPECT_TRUE(same_bits(seen("key").slice(3, 4, 2), normed.slice(3, 4, 2)));
  // Of one head: its own columns, and those of the keys that it reads.
  for (const char* head : {"0", "1", "2", "3"}) {
    const std::string of_head = std::string("head.") + head + ".";
    for (const char* stage : {"_normed", "_rotated"}) {
      const Tensor queries = split_into_heads(seen((std::string("query") + stage).c_str()), 4);
      const Tensor keys = split_into_heads(seen((std::string("key") + stage).c_str()), 2);
      const int64_t number = head[0] - '0';
      EXPECT_TRUE(same_bits(seen((of_head + "query" + stage).c_str()),
                            queries.slice(1, number, 1).contiguous().reshaped({2, 3, 6})));
      EXPECT_TRUE(same_bits(seen((of_head + "key" + stage).c_str()),
                            keys.slice(1, number / 2, 1).contiguous().reshaped({2, 3, 6})));
    }
  }
  for (const char* name : {"mean", "root_mean_square", "output"}) {
    EXPECT_FALSE(keeper.seen.contains(name)) << name;
  }
}

TEST_F(Attention, queries_are_at_their_past_and_keys_begin_at_zero) {
  Context context = inference_context();
  const MultiHeadAttention attention =
      drawn({.query_width = 12, .heads = 2, .rotation = {.rates = {1, 0.5F, 0.1F}}});
  const Value x = random_leaf({1, 7, 12}, 1);
  const Tensor whole = attention.forward(context, x, {.causal = true}).data();
  const Value last = Value::leaf(x.data().slice(1, 5, 2).contiguous());
  const AttentionOptions call{.causal = true, .past = Tensor::of({1}, std::vector<int64_t>{5})};
  EXPECT_TRUE(same_bits(attention.forward(context, last, x, x, call).data(), whole.slice(1, 5, 2)));
}

TEST_F(Attention, rotary_rates_are_of_an_even_width) {
  EXPECT_EQ(rotary_options({.width = 4, .base = 100}).rates, (std::vector<float>{1, 0.1F}));
  expect_has(error_of([] { rotary_options({.width = 5}); }),
             "rotary rates (width): is 5, an even number of columns is needed");
  expect_has(error_of([] { rotary_options({.width = 0}); }), "is 0");
  expect_has(error_of([] { rotary_options({.width = 4, .base = 0}); }), "(base): is 0.000000");
  expect_has(error_of([] { rotary_options({.width = 4, .factor = NAN}); }), "(factor): is nan");
}

TEST_F(Attention, alibi_slopes_are_those_of_the_paper) {
  const std::vector<float> eight = {1 / 2.0F,  1 / 4.0F,  1 / 8.0F,   1 / 16.0F,
                                    1 / 32.0F, 1 / 64.0F, 1 / 128.0F, 1 / 256.0F};
  EXPECT_EQ(alibi_slopes(8), eight);
  const std::vector<float> three = alibi_slopes(3);  // of two heads, then the first of four
  ASSERT_EQ(three.size(), 3U);
  EXPECT_FLOAT_EQ(three[0], std::exp2(-4.0F));
  EXPECT_FLOAT_EQ(three[1], std::exp2(-8.0F));
  EXPECT_FLOAT_EQ(three[2], std::exp2(-2.0F));
  const std::vector<float> twelve = alibi_slopes(12);
  ASSERT_EQ(twelve.size(), 12U);
  EXPECT_EQ(twelve[7], eight[7]);
  EXPECT_FLOAT_EQ(twelve[8], std::exp2(-0.5F));
  EXPECT_FLOAT_EQ(twelve[11], std::exp2(-3.5F));
}

TEST_F(Attention, refuses_heads_left_that_there_were_not) {
  const auto refusal = [](const HeadNumbers& left, bool output_projection = true) {
    return error_of([&] {
      MultiHeadAttention attention({.query_width = 12,
                                    .heads = 4,
                                    .heads_left = left,
                                    .output_projection = output_projection,
                                    .place = "decoder.0.self"});
    });
  };
  EXPECT_EQ(refusal({1, 3}), "");
  EXPECT_EQ(refusal({}), "");
  expect_has(refusal({1, 4}), "(decoder.0.self): there is no head 4 among 4, they count from 0");
  expect_has(refusal({-1}), "there is no head -1 among 4");
  expect_has(refusal({3, 1}), "in ascending order, each once; 1 stands after 3");
  expect_has(refusal({1, 1}), "1 stands after 1");
  expect_has(refusal({1}, false),
             "without an output projection the heads themselves are the output");
}

TEST_F(Attention, knows_who_reads_a_key_value_head_that_is_left) {
  const HeadSet whole = head_set("", 6, 3, std::nullopt);
  EXPECT_TRUE(whole.is_whole() && whole.is_even());
  EXPECT_EQ(whole.kv_head_of, (HeadNumbers{0, 0, 1, 1, 2, 2}));
  const HeadSet some = head_set("", 6, 3, HeadNumbers{0, 4, 5});
  EXPECT_EQ(some.numbers, (HeadNumbers{0, 4, 5}));
  EXPECT_EQ(some.kv_numbers, (HeadNumbers{0, 2}));
  EXPECT_EQ(some.kv_head_of, (HeadNumbers{0, 1, 1}));
  EXPECT_FALSE(some.is_even());
  EXPECT_EQ(some.place_of(4), 1);
  EXPECT_EQ(some.place_of(3), std::nullopt);
  EXPECT_TRUE(head_set("", 6, 3, HeadNumbers{1, 2}).is_even());
  EXPECT_EQ(head_set("", 6, 3, HeadNumbers{}).kv_count(), 0);
  EXPECT_EQ(why_no_head(3, {0, 2}, 4), "head 3 was pruned; left are 0, 2");
  EXPECT_EQ(why_no_head(3, {2}, 4), "head 3 was pruned; left is 2");
  EXPECT_EQ(why_no_head(3, {}, 4), "head 3 was pruned; left is none");
}

}  // namespace
}  // namespace headlight::nn
