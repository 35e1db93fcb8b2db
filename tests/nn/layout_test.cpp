// Loading attention from the five layouts, finding the layout, and what is refused.
#include "tests/nn/support.h"

namespace headlight::nn {
namespace {

using LoadedAttention = tests::Autograd;

// Random tensors of these shapes.
StateDict state_of(const std::vector<std::pair<std::string, Shape>>& shapes) {
  StateDict state;
  for (const auto& [name, shape] : shapes) {
    state[name] = random_leaf(shape, base::name_key(name)).data();
  }
  return state;
}

Tensor transposed(const Tensor& matrix) { return matrix.permuted({1, 0}).contiguous(); }

StateDict fused_state() {
  return state_of({{"c_attn.weight", {36, 12}},
                   {"c_attn.bias", {36}},
                   {"c_proj.weight", {12, 12}},
                   {"c_proj.bias", {12}}});
}

StateDict gpt2_state() {
  StateDict state = fused_state();
  for (const char* name : {"c_attn.weight", "c_proj.weight"}) state[name] = transposed(state[name]);
  return state;
}

// The same numbers as fused_state() under three names.
StateDict separate_state(const std::array<std::string, 3>& stems, const std::string& output) {
  const StateDict fused = fused_state();
  StateDict state;
  for (int64_t i = 0; i < 3; ++i) {
    const std::string& stem = stems[static_cast<size_t>(i)];
    state[stem + ".weight"] = fused.at("c_attn.weight").slice(0, 12 * i, 12).contiguous();
    state[stem + ".bias"] = fused.at("c_attn.bias").slice(0, 12 * i, 12).contiguous();
  }
  state[output + ".weight"] = fused.at("c_proj.weight");
  state[output + ".bias"] = fused.at("c_proj.bias");
  return state;
}

StateDict torch_state() {
  const StateDict fused = fused_state();
  return {{"in_proj_weight", fused.at("c_attn.weight")},
          {"in_proj_bias", fused.at("c_attn.bias")},
          {"out_proj.weight", fused.at("c_proj.weight")},
          {"out_proj.bias", fused.at("c_proj.bias")}};
}

StateDict torch_separate_state() {
  const StateDict separate = separate_state({"q", "k", "v"}, "out_proj");
  return {{"q_proj_weight", separate.at("q.weight")},
          {"k_proj_weight", separate.at("k.weight")},
          {"v_proj_weight", separate.at("v.weight")},
          {"in_proj_bias", fused_state().at("c_attn.bias")},
          {"out_proj.weight", separate.at("out_proj.weight")},
          {"out_proj.bias", separate.at("out_proj.bias")}};
}

std::vector<std::pair<AttentionLayout, StateDict>> same_module_in_all_layouts() {
  return {{AttentionLayout::fused, fused_state()},
          {AttentionLayout::gpt2, gpt2_state()},
          {AttentionLayout::d2l, separate_state({"W_q", "W_k", "W_v"}, "W_o")},
          {AttentionLayout::named, separate_state({"W_query", "W_key", "W_value"}, "out_proj")},
          {AttentionLayout::torch, torch_state()},
          {AttentionLayout::torch, torch_separate_state()}};
}

TEST_F(LoadedAttention, gives_the_same_bits_from_every_layout) {
  Context context = inference_context();
  const Value x = random_leaf({2, 5, 12}, 1);
  const Value memory = random_leaf({2, 7, 12}, 2);
  const Value other = random_leaf({2, 7, 12}, 3);
  std::vector<Tensor> self, cross, separate;
  for (const auto& [layout, state] : same_module_in_all_layouts()) {
    const MultiHeadAttention attention = load_attention(state, {.heads = 3});
    self.push_back(attention.forward(context, x, {.causal = true}).data());
    cross.push_back(attention.forward(context, x, memory, memory).data());
    separate.push_back(attention.forward(context, x, memory, other).data());
    EXPECT_TRUE(same_bits(self[0], self.back())) << name_of(layout);
    EXPECT_TRUE(same_bits(cross[0], cross.back())) << name_of(layout);
    EXPECT_TRUE(same_bits(separate[0], separate.back())) << name_of(layout);
  }
}

TEST_F(LoadedAttention, finds_the_layout_and_saves_what_it_loaded) {
  for (const auto& [layout, state] : same_module_in_all_layouts()) {
    EXPECT_EQ(detect_layout(state), layout);
    const MultiHeadAttention attention = load_attention(state, {.heads = 4});
    const StateDict saved = save_state(attention.parameters());
    ASSERT_EQ(saved.size(), state.size()) << name_of(layout);
    for (const auto& [name, tensor] : state) EXPECT_TRUE(same_bits(saved.at(name), tensor)) << name;
  }
}

TEST_F(LoadedAttention, layouts_have_names) {
  for (const auto& [layout, state] : same_module_in_all_layouts()) {
    EXPECT_EQ(attention_layout(name_of(layout)), layout);
  }
  EXPECT_EQ(attention_layout("auto"), std::nullopt);
}

TEST_F(LoadedAttention, a_missing_bias_is_none) {
  StateDict state = separate_state({"W_query", "W_key", "W_value"}, "out_proj");
  state.erase("W_key.bias");
  state.erase("out_proj.bias");
  const MultiHeadAttention attention = load_attention(state, {.heads = 3});
  EXPECT_EQ(attention.parameters().size(), 6U);

  StateDict zeros = state;
  zeros["W_key.bias"] = Tensor::zeros(DType::f32, {12});
  zeros["out_proj.bias"] = Tensor::zeros(DType::f32, {12});
  Context context = inference_context();
  const Value x = random_leaf({1, 5, 12}, 1);
  EXPECT_EQ(distance(attention.forward(context, x).data(),
                     load_attention(zeros, {.heads = 3}).forward(context, x).data()),
            0);
}

TEST_F(LoadedAttention, a_missing_output_projection_means_none) {
  StateDict state = fused_state();
  state.erase("c_proj.weight");
  state.erase("c_proj.bias");
  const MultiHeadAttention attention = load_attention(state, {.heads = 3});
  EXPECT_FALSE(attention.options().output_projection);
  Context context = inference_context();
  EXPECT_EQ(attention.forward(context, random_leaf({1, 2, 12}, 1)).shape(), (Shape{1, 2, 12}));
}

TEST_F(LoadedAttention, mask_buffers_and_inputs_are_ignored_and_other_tensors_refused_by_name) {
  StateDict state = fused_state();
  state["bias"] = Tensor::zeros(DType::f32, {1, 1, 8, 8});
  state["masked_bias"] = Tensor::zeros(DType::f32, {});
  state["grad_out"] = Tensor::zeros(DType::f32, {2, 12});
  EXPECT_EQ(load_attention(state, {.heads = 3}).parameters().size(), 4U);
  state["q_norm.weight"] = Tensor::zeros(DType::f32, {12});
  expect_has(error_of([&] { load_attention(state, {.heads = 3}); }), "1 unexpected: q_norm.weight");
}

TEST_F(LoadedAttention, a_prefix_selects_and_stays_in_the_names) {
  StateDict state;
  for (const auto& [name, tensor] : fused_state()) state["h.0.attn." + name] = tensor;
  for (const char* prefix : {"h.0.attn", "h.0.attn."}) {
    const MultiHeadAttention attention = load_attention(state, {.prefix = prefix, .heads = 3});
    EXPECT_EQ(attention.parameters()[0]->name(), "h.0.attn.c_attn.weight");
  }
  const std::string error = error_of([&] { load_attention(state, {.heads = 3}); });
  expect_has(error, "none of c_attn.weight");
  expect_has(error, "is there; under the prefix h.0.attn there is");
}

TEST_F(LoadedAttention, half_precision_is_widened) {
  StateDict state = fused_state();
  Tensor bias = Tensor::uninitialized(DType::f16, {12});
  std::fill_n(bias.mutable_data<uint16_t>(), 12, uint16_t{0x3E00});
  state["c_proj.bias"] = bias;
  const MultiHeadAttention attention = load_attention(state, {.heads = 3});
  EXPECT_EQ(floats(attention.parameters().back()->value().data()), std::vector<float>(12, 1.5F));
}

TEST_F(LoadedAttention, grouped_heads_follow_from_the_shapes) {
  // 4 query heads of width 6 share 2 key/value heads; the values are 5 wide.
  const StateDict state = state_of({{"W_query.weight", {24, 10}},
                                    {"W_key.weight", {12, 10}},
                                    {"W_value.weight", {10, 10}},
                                    {"out_proj.weight", {10, 20}}});
  const MultiHeadAttention attention = load_attention(state, {.heads = 4, .kv_heads = 2});
  EXPECT_EQ(attention.options().head_dim, 6);
  EXPECT_EQ(attention.options().value_head_dim, 5);
  Context context = inference_context();
  EXPECT_EQ(attention.forward(context, random_leaf({2, 3, 10}, 1)).shape(), (Shape{2, 3, 10}));

  const StateDict fused = state_of({{"c_attn.weight", {48, 24}}, {"c_proj.weight", {24, 24}}});
  EXPECT_EQ(load_attention(fused, {.heads = 4, .kv_heads = 2}).options().head_dim, 6);
}

TEST_F(LoadedAttention, the_bias_tells_fused_from_gpt2_when_there_is_one) {
  // A pruned module: fewer outputs than inputs.
  EXPECT_EQ(detect_layout(state_of({{"c_attn.weight", {6, 12}}, {"c_attn.bias", {6}}})),
            AttentionLayout::fused);
  EXPECT_EQ(detect_layout(state_of({{"c_attn.weight", {12, 6}}, {"c_attn.bias", {6}}})),
            AttentionLayout::gpt2);
}

TEST_F(LoadedAttention, a_square_weight_needs_the_layout) {
  const StateDict state = state_of({{"c_attn.weight", {12, 12}}});
  expect_has(error_of([&] { load_attention(state, {.heads = 2}); }), "[12, 12] is square");
  EXPECT_EQ(load_attention(state, {.layout = AttentionLayout::gpt2, .heads = 2}).options().head_dim,
            2);
}

TEST_F(LoadedAttention, refuses_what_does_not_fit) {
  const auto refusal = [](const StateDict& state, int64_t heads, int64_t kv_heads = 0) {
    return error_of([&] { load_attention(state, {.heads = heads, .kv_heads = kv_heads}); });
  };
  expect_has(refusal(fused_state(), 5), "width 12 cannot be split into 5 heads");
  expect_has(refusal(fused_state(), 0), "0 heads");
  expect_has(refusal(fused_state(), INT64_MAX),
             "width 12 cannot be split into 9223372036854775807");
  expect_has(refusal(fused_state(), 4, 3), "36 outputs cannot be split into 4 query, 3 key");
  expect_has(refusal(separate_state({"W_q", "W_k", "W_v"}, "W_o"), 5),
             "width 12 cannot be split into 5 heads");

  StateDict state = separate_state({"W_q", "W_k", "W_v"}, "W_o");
  expect_has(refusal(state, 4, 2), "W_k.weight is float32 [12, 12] and should be [6, 12]");
  state.erase("W_k.weight");
  expect_has(refusal(state, 3), "W_k.weight): is missing");
  state = separate_state({"W_q", "W_k", "W_v"}, "W_o");
  state["W_o.weight"] = Tensor::zeros(DType::f32, {12, 11});
  expect_has(refusal(state, 3), "W_o.weight is float32 [12, 11] and should be [12, 12]");
  state["W_o.weight"] = Tensor::zeros(DType::i64, {12, 12});
  expect_has(refusal(state, 3), "W_o.weight is int64 [12, 12]");
  state["c_attn.weight"] = Tensor::zeros(DType::f32, {36, 12});
  expect_has(refusal(state, 3), "fit the layouts fused and d2l");
  state = torch_state();
  state["bias_k"] = Tensor::zeros(DType::f32, {1, 1, 12});
  expect_has(refusal(state, 3), "bias_k): extra key and value rows");
  state = fused_state();
  state["c_attn.weight"] = Tensor::zeros(DType::f32, {432});
  expect_has(refusal(state, 3), "shape is [432], a matrix is needed");
}

TEST_F(LoadedAttention, additive_scoring_names_what_is_missing) {
  StateDict state = state_of({{"W_q.weight", {3, 4}}, {"w_v.weight", {1, 3}}});
  expect_has(error_of([&] { AdditiveAttention::load(state); }), "W_k.weight): is missing");
  state["W_k.weight"] = Tensor::zeros(DType::f32, {2, 4});
  expect_has(error_of([&] { AdditiveAttention::load(state); }), "W_k.weight is float32 [2, 4] and");
}

}  // namespace
}  // namespace headlight::nn
