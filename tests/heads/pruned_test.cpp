// Pruned modules give what gated ones gave, in every layout.
#include "headlight/heads/heads.h"
#include "tests/nn/support.h"

namespace headlight::nn {
namespace {

using PrunedAttention = tests::Autograd;

Tensor gates_without(int64_t heads, const std::vector<int64_t>& removed) {
  Tensor gates = Tensor::uninitialized(DType::f32, {heads});
  for (int64_t h = 0; h < heads; ++h) {
    const bool gone = std::find(removed.begin(), removed.end(), h) != removed.end();
    gates.mutable_data<float>()[h] = gone ? 0.0F : 1.0F;
  }
  return gates;
}

void draw_all(const MultiHeadAttention& attention) {
  draw_xavier_uniform(attention.parameters(), 1);
  for (const ParameterHandle& parameter : attention.parameters()) {
    if (parameter->shape().rank() == 1) {
      parameter->assign(random_leaf(parameter->shape(), base::name_key(parameter->name())).data());
    }
  }
}

// A module and its options as they were given.
struct Whole {
  explicit Whole(const MultiHeadAttentionOptions& given) : options(given), attention(given) {
    draw_all(attention);
  }

  // The module without these heads, from scratch or out of `from`, which has lost some already.
  MultiHeadAttention without(const std::vector<int64_t>& removed,
                             const MultiHeadAttention* from = nullptr) const {
    MultiHeadAttentionOptions smaller_options = options;
    smaller_options.heads_left.emplace();
    for (int64_t head = 0; head < options.heads; ++head) {
      if (std::find(removed.begin(), removed.end(), head) != removed.end()) continue;
      smaller_options.heads_left->push_back(head);
    }
    MultiHeadAttention smaller(smaller_options);
    heads::copy_kept_heads(from != nullptr ? *from : attention, smaller);
    return smaller;
  }

  MultiHeadAttentionOptions options;
  MultiHeadAttention attention;
};

void expect_pruned_equals_gated(Context context, const Whole& whole,
                                const std::vector<int64_t>& removed,
                                const MultiHeadAttention* from = nullptr) {
  const int64_t heads = whole.options.heads;
  const Value x = random_leaf({2, 5, whole.options.query_width}, 1);
  const Tensor gated =
      whole.attention
          .forward(context, x,
                   {.causal = true, .gates = Value::leaf(gates_without(heads, removed))})
          .data();
  const MultiHeadAttention smaller = whole.without(removed, from);
  EXPECT_EQ(smaller.heads().count(), heads - static_cast<int64_t>(removed.size()));
  EXPECT_LE(distance(smaller.forward(context, x, {.causal = true}).data(), gated),
            1e-6F * largest(gated));
}

TEST_F(PrunedAttention, equals_the_gated_one_in_every_layout) {
  for (const AttentionLayout layout :
       {AttentionLayout::fused, AttentionLayout::gpt2, AttentionLayout::d2l, AttentionLayout::named,
        AttentionLayout::torch}) {
    SCOPED_TRACE(name_of(layout));
    const Whole whole(
        {.query_width = 24, .heads = 4, .value_head_dim = 5, .names = names_of(layout)});
    expect_pruned_equals_gated(inference_context(), whole, {1});
    expect_pruned_equals_gated(inference_context(), whole, {3, 0, 1});
    expect_pruned_equals_gated(inference_context(), whole, {0, 1, 2, 3});
  }
}

TEST_F(PrunedAttention, equals_the_gated_one_with_three_torch_weights) {
  const Whole whole(
      {.query_width = 24, .heads = 4, .names = names_of(AttentionLayout::torch, false)});
  expect_pruned_equals_gated(inference_context(), whole, {2});
}

TEST_F(PrunedAttention, loses_a_key_value_head_with_its_last_reader) {
  const Whole whole({.query_width = 24, .heads = 6, .kv_heads = 2});
  const std::pair<std::vector<int64_t>, int64_t> cases[] = {
      {{3, 4, 5}, 1}, {{0, 5}, 2},       {{0}, 2},
      {{1, 3, 4}, 2}, {{0, 1, 2, 4}, 1}, {{0, 1, 2, 3, 4, 5}, 0}};
  for (const auto& [removed, kv_heads] : cases) {
    expect_pruned_equals_gated(inference_context(), whole, removed);
    EXPECT_EQ(whole.without(removed).heads().kv_count(), kv_heads);
  }
}

MultiHeadAttentionOptions normed_and_rotated(bool each_head) {
  MultiHeadAttentionOptions options{.query_width = 24,
                                    .heads = 6,
                                    .kv_heads = 3,
                                    .head_dim = 4,
                                    .query_key_norm = {.each_head = each_head, .epsilon = 0.1F},
                                    .rotation = {.rates = {1, 0.1F}}};
  options.names.query_norm = "query_norm";
  options.names.key_norm = "key_norm";
  return options;
}

TEST_F(PrunedAttention, equals_the_gated_one_with_norms_and_rotation) {
  for (const bool each_head : {true, false}) {
    for (const AttentionLayout layout : {AttentionLayout::gpt2, AttentionLayout::d2l}) {
      SCOPED_TRACE(std::string(name_of(layout)) + (each_head ? ", each head" : ", whole rows"));
      MultiHeadAttentionOptions options = normed_and_rotated(each_head);
      options.names = names_of(layout);
      options.names.query_norm = "query_norm";
      options.names.key_norm = "key_norm";
      const Whole whole(options);
      expect_pruned_equals_gated(inference_context(), whole, {2, 3});
      expect_pruned_equals_gated(inference_context(), whole, {1, 2, 4});
      expect_pruned_equals_gated(inference_context(), whole, {0, 1, 2, 3, 4, 5});
      // One after the other.
      const MultiHeadAttention smaller = whole.without({2, 3});
      expect_pruned_equals_gated(inference_context(), whole, {0, 2, 3, 5}, &smaller);
    }
  }
}

TEST_F(PrunedAttention, keeps_the_position_biases_of_the_heads_that_stay) {
  MultiHeadAttentionOptions slopes{.query_width = 24, .heads = 4};
  slopes.position_bias.slopes = {0.1F, 0.4F, 0.9F, 1.6F};
  MultiHeadAttentionOptions own{.query_width = 24, .heads = 4};
  own.position_bias = {.buckets = 6, .bidirectional = false, .max_distance = 8};
  own.names.position_bias = "table";
  MultiHeadAttentionOptions shared = own;
  shared.names.position_bias.clear();
  shared.position_bias.table = std::make_shared<Parameter>("shared", random_leaf({6, 4}, 5).data());
  for (const MultiHeadAttentionOptions& options : {slopes, own, shared}) {
    const Whole whole(options);
    expect_pruned_equals_gated(inference_context(), whole, {1});
    expect_pruned_equals_gated(inference_context(), whole, {3, 0});
    const MultiHeadAttention smaller = whole.without({0});
    expect_pruned_equals_gated(inference_context(), whole, {0, 2}, &smaller);
  }
  const Whole copied(own);
  EXPECT_NE(copied.without({1}).parameters().back(), copied.attention.parameters().back());
  const Whole sharing(shared);
  EXPECT_EQ(sharing.without({1}).parameters().back(), sharing.attention.parameters().back());
}

TEST_F(PrunedAttention, decodes_and_learns_where_norms_are_of_whole_rows) {
  const Whole whole_module(normed_and_rotated(false));
  const MultiHeadAttention& attention = whole_module.attention;
  const MultiHeadAttention smaller = whole_module.without({0, 2, 5});
  EXPECT_EQ(smaller.parameters().back()->shape(), (Shape{12}));
  const Value x = random_leaf({2, 5, 24}, 1);
  Context context = inference_context();
  const Tensor whole = smaller.forward(context, x, {.causal = true}).data();
  KvCache cache;
  for (int64_t i = 0; i < 5; ++i) {
    const Value row = Value::leaf(x.data().slice(1, i, 1).contiguous());
    EXPECT_TRUE(same_bits(smaller.forward(context, row, cache, {.causal = true}).data(),
                          whole.slice(1, i, 1)));
  }
  EXPECT_EQ(cache.kv_heads(), 3);
  // Gradients are those of the whole module with gates.
  Context recording = recording_context();
  const Tensor d_output = random_leaf({2, 5, 24}, 2).data();
  tape_.backward(recording, smaller.forward(recording, x), d_output);
  const Tensor d_x = autograd::copy_of(recording, x.grad());
  Value(x).clear_grad();
  tape_.backward(
      recording,
      attention.forward(recording, x, {.gates = Value::leaf(gates_without(6, {0, 2, 5}))}),
      d_output);
  EXPECT_LE(distance(d_x, x.grad()), 1e-5F * largest(d_x));
  const auto parameter = [](const MultiHeadAttention& module, const std::string& name) {
    for (const ParameterHandle& one : module.parameters()) {
      if (one->name() == name) return one->grad();
    }
    return Tensor();
  };
  for (const char* name : {"query_norm.weight", "key_norm.weight"}) {
    EXPECT_LE(distance(parameter(smaller, name), parameter(attention, name)),
              1e-5F * largest(parameter(attention, name)));
  }
}

TEST_F(PrunedAttention, keeps_the_gates_of_the_heads_that_stay) {
  Context context = inference_context();
  Whole whole({.query_width = 8, .heads = 4});
  const Value x = random_leaf({1, 3, 8}, 1);
  whole.attention.set_gates(leaf({4}, {0.5F, 0, 2, 3}));
  const Tensor gated = whole.attention.forward(context, x).data();
  EXPECT_LE(distance(whole.without({1}).forward(context, x).data(), gated), 1e-6F * largest(gated));
}

TEST_F(PrunedAttention, is_smaller_saves_and_loads) {
  const Whole whole({.query_width = 24, .heads = 4});
  const MultiHeadAttention smaller = whole.without({0, 2, 3});
  const StateDict state = save_state(smaller.parameters());
  EXPECT_EQ(state.at("c_attn.weight").shape(), (Shape{18, 24}));
  EXPECT_EQ(state.at("c_proj.weight").shape(), (Shape{24, 6}));
  Context context = inference_context();
  const Value x = random_leaf({1, 3, 24}, 1);
  EXPECT_TRUE(same_bits(load_attention(state, {.heads = 1}).forward(context, x).data(),
                        smaller.forward(context, x).data()));
}

// Rows of the bias, a gradient for it alone, and a cache that nothing goes into.
TEST_F(PrunedAttention, without_any_head_gives_its_output_bias) {
  for (const bool has_bias : {true, false}) {
    const Whole whole(
        {.query_width = 8, .heads = 2, .out_bias = has_bias, .place = "decoder.0.self"});
    const MultiHeadAttention none = whole.without({0, 1});
    EXPECT_EQ(none.heads().count(), 0);
    const Value x = random_leaf({2, 3, 8}, 1);
    Context context = recording_context();
    Keeper keeper;
    context.observer = &keeper;
    const Value output = none.forward(context, x, {.causal = true});
    ASSERT_EQ(output.shape(), (Shape{2, 3, 8}));
    const ParameterHandle bias = none.parameters().back();
    for (int64_t i = 0; i < 48; ++i) {
      EXPECT_EQ(output.data().data<float>()[i],
                has_bias ? bias->value().data().data<float>()[i % 8] : 0.0F);
    }
    EXPECT_EQ(keeper.seen.size(), 1U);
    EXPECT_TRUE(keeper.seen.contains("decoder.0.self.output"));
    const Value d_output = random_leaf({2, 3, 8}, 2, false);
    tape_.backward(context, output, d_output.data());
    EXPECT_FALSE(x.grad().defined());
    for (int64_t c = 0; has_bias && c < 8; ++c) {
      float sum = 0;
      for (int64_t row = 0; row < 6; ++row) sum += d_output.data().data<float>()[row * 8 + c];
      EXPECT_NEAR(bias->grad().data<float>()[c], sum, 1e-5F);
    }
    Context quiet = inference_context();
    KvCache cache;
    EXPECT_TRUE(same_bits(none.forward(quiet, x, cache, {.causal = true}).data(), output.data()));
    none.remember(quiet, x, x, cache);
    EXPECT_TRUE(same_bits(none.recall(quiet, x, cache).data(), output.data()));
    EXPECT_TRUE(cache.empty());
    expect_has(error_of([&] {
                 none.forward(quiet, random_leaf({2, 3, 7}, 1));
               }),
               "(decoder.0.self): the query is [2, 3, 7], rows of 8 are needed");
    expect_has(error_of([&] { none.forward(quiet, x, {.heads = 2}); }), "are the module's");
  }
}

}  // namespace
}  // namespace headlight::nn
