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

void expect_pruned_equals_gated(Context context, const MultiHeadAttention& attention,
                                const std::vector<int64_t>& removed) {
  const int64_t heads = attention.options().heads;
  const Value x = random_leaf({2, 5, attention.options().query_width}, 1);
  const Tensor gated =
      attention
          .forward(context, x,
                   {.causal = true, .gates = Value::leaf(gates_without(heads, removed))})
          .data();
  const MultiHeadAttention smaller = heads::pruned(attention, removed);
  EXPECT_EQ(smaller.options().heads, heads - static_cast<int64_t>(removed.size()));
  EXPECT_LE(distance(smaller.forward(context, x, {.causal = true}).data(), gated),
            1e-6F * largest(gated));
}

TEST_F(PrunedAttention, equals_the_gated_one_in_every_layout) {
  for (const AttentionLayout layout :
       {AttentionLayout::fused, AttentionLayout::gpt2, AttentionLayout::d2l, AttentionLayout::named,
        AttentionLayout::torch}) {
    SCOPED_TRACE(name_of(layout));
    const MultiHeadAttention attention(
        {.query_width = 24, .heads = 4, .value_head_dim = 5, .names = names_of(layout)});
    draw_all(attention);
    expect_pruned_equals_gated(inference_context(), attention, {1});
    expect_pruned_equals_gated(inference_context(), attention, {3, 0, 1});
  }
}

TEST_F(PrunedAttention, equals_the_gated_one_with_three_torch_weights) {
  const MultiHeadAttention attention(
      {.query_width = 24, .heads = 4, .names = names_of(AttentionLayout::torch, false)});
  draw_all(attention);
  expect_pruned_equals_gated(inference_context(), attention, {2});
}

TEST_F(PrunedAttention, loses_whole_groups_or_as_many_of_each) {
  const MultiHeadAttention attention({.query_width = 24, .heads = 6, .kv_heads = 2});
  draw_all(attention);
  expect_pruned_equals_gated(inference_context(), attention, {3, 4, 5});
  EXPECT_EQ(heads::pruned(attention, {3, 4, 5}).options().kv_heads, 1);
  expect_pruned_equals_gated(inference_context(), attention, {0, 5});
  EXPECT_EQ(heads::pruned(attention, {0, 5}).options().kv_heads, 2);
  expect_has(error_of([&] { heads::pruned(attention, {0}); }),
             "would be left with 2 of 3 query heads");
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
      const MultiHeadAttention attention(options);
      draw_all(attention);
      expect_pruned_equals_gated(inference_context(), attention, {2, 3});
      expect_pruned_equals_gated(inference_context(), attention, {1, 2, 4});
      // One after the other.
      expect_pruned_equals_gated(inference_context(), heads::pruned(attention, {2, 3}), {0, 3});
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
    const MultiHeadAttention attention(options);
    draw_all(attention);
    expect_pruned_equals_gated(inference_context(), attention, {1});
    expect_pruned_equals_gated(inference_context(), attention, {3, 0});
    expect_pruned_equals_gated(inference_context(), heads::pruned(attention, {0}), {1});
  }
  const MultiHeadAttention copied = MultiHeadAttention(own);
  draw_all(copied);
  EXPECT_NE(heads::pruned(copied, {1}).parameters().back(), copied.parameters().back());
  const MultiHeadAttention sharing(shared);
  draw_all(sharing);
  EXPECT_EQ(heads::pruned(sharing, {1}).parameters().back(), sharing.parameters().back());
}

TEST_F(PrunedAttention, decodes_and_learns_where_norms_are_of_whole_rows) {
  const MultiHeadAttention attention(normed_and_rotated(false));
  draw_all(attention);
  const MultiHeadAttention smaller = heads::pruned(attention, {0, 2, 5});
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
  MultiHeadAttention attention({.query_width = 8, .heads = 4});
  draw_all(attention);
  const Value x = random_leaf({1, 3, 8}, 1);
  attention.set_gates(leaf({4}, {0.5F, 0, 2, 3}));
  const Tensor gated = attention.forward(context, x).data();
  EXPECT_LE(distance(heads::pruned(attention, {1}).forward(context, x).data(), gated),
            1e-6F * largest(gated));
}

TEST_F(PrunedAttention, is_smaller_saves_and_loads) {
  const MultiHeadAttention attention({.query_width = 24, .heads = 4});
  draw_all(attention);
  const MultiHeadAttention smaller = heads::pruned(attention, {0, 2, 3});
  const StateDict state = save_state(smaller.parameters());
  EXPECT_EQ(state.at("c_attn.weight").shape(), (Shape{18, 24}));
  EXPECT_EQ(state.at("c_proj.weight").shape(), (Shape{24, 6}));
  Context context = inference_context();
  const Value x = random_leaf({1, 3, 24}, 1);
  EXPECT_TRUE(same_bits(load_attention(state, {.heads = 1}).forward(context, x).data(),
                        smaller.forward(context, x).data()));
}

TEST_F(PrunedAttention, shares_no_numbers_with_the_whole_one) {
  const MultiHeadAttention attention({.query_width = 8, .heads = 2});
  draw_all(attention);
  const MultiHeadAttention copy = heads::pruned(attention, {});
  for (size_t i = 0; i < attention.parameters().size(); ++i) {
    EXPECT_TRUE(
        same_bits(copy.parameters()[i]->value().data(), attention.parameters()[i]->value().data()));
    EXPECT_NE(copy.parameters()[i]->value().data().raw(),
              attention.parameters()[i]->value().data().raw());
  }
}

TEST_F(PrunedAttention, refuses_the_impossible) {
  const MultiHeadAttention attention({.query_width = 8, .heads = 2, .place = "decoder.0.self"});
  draw_all(attention);
  expect_has(error_of([&] { heads::pruned(attention, {2}); }), "there is no head 2 among 2");
  expect_has(error_of([&] { heads::pruned(attention, {-1}); }), "there is no head -1 among 2");
  expect_has(error_of([&] {
               heads::pruned(attention, {1, 0});
             }),
             "decoder.0.self): all 2 heads would go");
  const MultiHeadAttention bare({.query_width = 8, .heads = 2, .output_projection = false});
  draw_all(bare);
  expect_has(error_of([&] { heads::pruned(bare, {0}); }), "without an output projection");
}

}  // namespace
}  // namespace headlight::nn
