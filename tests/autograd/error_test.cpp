// Each operation refuses inputs that do not fit, in one line with its name and the numbers.
#include <cmath>
#include <limits>

#include "tests/autograd/fixture.h"

namespace headlight::tests {
namespace {

using autograd::AttentionOptions;
using autograd::Context;
using autograd::Value;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

class Refusal : public Autograd {
 protected:
  Context context = inference_context();
};

Value zeros(const Shape& shape) { return Value::leaf(Tensor::zeros(DType::f32, shape)); }
Tensor integers(const Shape& shape, const std::vector<int64_t>& values) {
  return Tensor::of(shape, values);
}
Value halves(const Shape& shape) { return Value::leaf(Tensor::zeros(DType::f16, shape)); }

TEST_F(Refusal, of_the_item_of_a_value_names_its_shape) {
  EXPECT_EQ(Value::leaf(Tensor::of({}, {2.5F})).item(), 2.5F);
  EXPECT_EQ(Value::leaf(Tensor::of({1, 1}, {-1.0F})).item(), -1.0F);
  const Tensor three = Tensor::of({3}, {1, 2, 3});
  EXPECT_EQ(Value::leaf(three.slice(0, 2, 1)).item(), 3);
  EXPECT_EQ(error_of([] { zeros({2, 3}).item(); }), "item: shape is [2, 3], one element is needed");
  EXPECT_EQ(error_of([] { zeros({0}).item(); }), "item: shape is [0], one element is needed");
  EXPECT_EQ(error_of([] { Value().item(); }), "item: is missing");
  EXPECT_EQ(error_of([] { halves({}).item(); }), "item: is float16, float32 is needed");
}

TEST_F(Refusal, of_linear_names_weight_bias_and_packing) {
  const Value x = zeros({4, 3});
  const Value weight = zeros({5, 3});
  const auto error = [&](const Value& input, const Value& w, const Value& b,
                         const autograd::LinearOptions& options = {}) {
    return error_of([&] { linear(context, input, w, b, options); });
  };
  EXPECT_EQ(error(x, zeros({5, 2}), Value()),
            "linear (weight): shape is [5, 2] for 2 inputs, input rows have 3");
  EXPECT_EQ(error(x, weight, Value(), {.layout = autograd::WeightLayout::in_out}),
            "linear (weight): shape is [5, 3] for 5 inputs, input rows have 3");
  EXPECT_EQ(error(x, zeros({15}), Value()), "linear (weight): shape is [15], rank 2 is needed");
  EXPECT_EQ(error(x, weight, zeros({3})), "linear (bias): shape is [3], the weight has 5 outputs");
  EXPECT_EQ(error(Value(), weight, Value()), "linear (input): is missing");
  EXPECT_EQ(error(halves({4, 3}), weight, Value()),
            "linear (input): is float16, float32 is needed");
  EXPECT_EQ(error(zeros({}), weight, Value()),
            "linear (input): is a single number, rows are needed");
  const Value columns = Value::leaf(Tensor::zeros(DType::f32, {3, 4}).permuted({1, 0}));
  EXPECT_EQ(error(columns, weight, Value()),
            "linear (input): shape [4, 3] is not stored row after row");
  const kernels::PackedMatrix packed(context.execution(), weight.data().matrix());
  EXPECT_EQ(error(x, weight, Value(), {.packed = packed}),
            "linear (packed): is [5, 3], the weight needs [3, 5]");
}

TEST_F(Refusal, of_norms_names_weight_bias_and_residual) {
  const Value x = zeros({2, 512});
  EXPECT_EQ(error_of([&] { layer_norm(context, x, zeros({768}), Value()); }),
            "layer_norm (weight): shape is [768], input rows have 512");
  EXPECT_EQ(error_of([&] { layer_norm(context, x, zeros({512}), zeros({1})); }),
            "layer_norm (bias): shape is [1], input rows have 512");
  EXPECT_EQ(error_of([&] {
              residual_norm(context, x, zeros({1, 512}), zeros({512}), Value());
            }),
            "residual_norm (residual): shape is [1, 512], the input is [2, 512]");
  EXPECT_EQ(error_of([&] { residual_norm(context, x, x, Value(), Value()); }),
            "residual_norm (weight): is missing");
  EXPECT_EQ(error_of([&] { layer_norm(context, x, zeros({512}), Value(), {.epsilon = -1}); }),
            "layer_norm (epsilon): is -1.000000, it must be at least 0");
  EXPECT_EQ(error_of([&] { rms_norm(context, x, zeros({768})); }),
            "rms_norm (weight): shape is [768], input rows have 512");
  EXPECT_EQ(error_of([&] { rms_norm(context, x, zeros({512}), {.heads = 4}); }),
            "rms_norm (weight): shape is [512], heads have 128");
  EXPECT_EQ(error_of([&] { rms_norm(context, x, zeros({512}), {.heads = 3}); }),
            "rms_norm (heads): is 3, it must divide rows of 512");
  EXPECT_EQ(error_of([&] { layer_norm(context, x, zeros({512}), Value(), {.heads = 0}); }),
            "layer_norm (heads): is 0, it must divide rows of 512");
  EXPECT_EQ(error_of([&] { rms_norm(context, x, zeros({512}), {.epsilon = std::nanf("")}); }),
            "rms_norm (epsilon): is nan, it must be at least 0");
  EXPECT_EQ(error_of([&] {
              residual_rms_norm(context, x, zeros({1, 512}), zeros({512}));
            }),
            "residual_rms_norm (residual): shape is [1, 512], the input is [2, 512]");
  EXPECT_EQ(error_of([&] { residual_rms_norm(context, x, x, zeros({128}), {.heads = 4}); }),
            "residual_rms_norm (heads): is 4, rows of a residual sum are normalised whole");
}

TEST_F(Refusal, of_rotations_names_heads_rates_and_past) {
  const auto error = [&](const Value& x, const autograd::RotateOptions& options) {
    return error_of([&] { rotate(context, x, options); });
  };
  const Value x = zeros({2, 3, 8});
  const Tensor rates = zeros({2}).data();
  EXPECT_EQ(error(x, {.heads = 2, .rates = rates}), "");
  EXPECT_EQ(error(zeros({3, 8}), {.rates = rates}),
            "rotate (input): shape is [3, 8], rank 3 is needed");
  EXPECT_EQ(error(x, {.heads = 3, .rates = rates}),
            "rotate (heads): is 3, it must divide rows of 8");
  EXPECT_EQ(error(x, {.heads = 2}), "rotate (rates): is missing");
  EXPECT_EQ(error(x, {.heads = 4, .rates = rates}),
            "rotate (rates): shape is [2], heads have 1 pairs of columns");
  EXPECT_EQ(error(x, {.rates = rates, .past = integers({3}, {0, 0, 0})}),
            "rotate (past): shape is [3], [2] is needed");
  EXPECT_EQ(error(x, {.rates = rates, .past = integers({2}, {0, int64_t{1} << 61})}),
            "rotate (past): 2305843009213693952 at position 1 is not within -1152921504606846976 "
            "and 1152921504606846976");
  EXPECT_EQ(error(x, {.rates = rates, .magnitude = std::nanf("")}),
            "rotate (magnitude): is nan, it must be finite");
}

TEST_F(Refusal, of_embedding_names_the_id_and_the_table) {
  const Value table = zeros({10, 4});
  EXPECT_EQ(error_of([&] {
              embedding(context, integers({2, 2}, {0, 9, 10, 1}), table);
            }),
            "embedding (ids): id 10 at position 2 is outside the table of 10 rows");
  EXPECT_EQ(error_of([&] { embedding(context, integers({1}, {-1}), table); }),
            "embedding (ids): id -1 at position 0 is outside the table of 10 rows");
  EXPECT_EQ(error_of([&] { embedding(context, zeros({1}).data(), table); }),
            "embedding (ids): is float32, int64 is needed");
  EXPECT_EQ(error_of([&] { embedding(context, integers({1}, {0}), zeros({10})); }),
            "embedding (table): shape is [10], rank 2 is needed");
  EXPECT_EQ(error_of([&] {
              embedding(context, integers({1, 1, 1, 1, 1, 1, 1, 1}, {0}), table);
            }),
            "embedding (ids): shape [1, 1, 1, 1, 1, 1, 1, 1] leaves no axis for the rows");
}

TEST_F(Refusal, of_elementwise_operations_names_shapes_and_probability) {
  EXPECT_EQ(error_of([&] {
              add(context, zeros({2, 3}), zeros({2}));
            }),
            "add (second): shape is [2], the first is [2, 3]");
  EXPECT_EQ(error_of([&] {
              add(context, zeros({3}), zeros({2, 3}));
            }),
            "add (second): shape is [2, 3], the first is [3]");
  EXPECT_EQ(error_of([&] {
              gated_product(context, zeros({2, 3}), zeros({2, 4}), kernels::Activation::silu);
            }),
            "gated_product (up): shape is [2, 4], the gate is [2, 3]");
  EXPECT_EQ(
      error_of([&] { gated_product(context, Value(), zeros({2}), kernels::Activation::silu); }),
      "gated_product (gate): is missing");
  EXPECT_EQ(error_of([&] { scale(context, Value(), 2); }), "scale (input): is missing");
  EXPECT_EQ(error_of([&] { softmax(context, zeros({})); }),
            "softmax (input): is a single number, rows are needed");
  EXPECT_EQ(error_of([&] { log_softmax(context, halves({2})); }),
            "log_softmax (input): is float16, float32 is needed");
  EXPECT_EQ(error_of([&] { dropout(context, zeros({2}), 1, "x"); }),
            "dropout (probability): is 1.000000, it must be at least 0 and below 1");
  EXPECT_EQ(error_of([&] { dropout(context, zeros({2}), std::nanf(""), "x"); }),
            "dropout (probability): is nan, it must be at least 0 and below 1");
}

TEST_F(Refusal, of_losses_names_the_target) {
  const Value logits = zeros({2, 3, 5});
  EXPECT_EQ(error_of([&] {
              cross_entropy(context, logits, integers({2}, {0, 1}));
            }),
            "cross_entropy (targets): shape is [2], the rows are [2, 3]");
  EXPECT_EQ(error_of([&] {
              cross_entropy(context, logits, integers({2, 3}, {0, 1, -1, 4, 5, 0}));
            }),
            "cross_entropy (targets): target 5 at position 4 is outside the 5 classes");
  EXPECT_EQ(error_of([&] {
              cross_entropy(context, zeros({1, 5}), integers({1}, {-2}), {.ignored = -1});
            }),
            "cross_entropy (targets): target -2 at position 0 is outside the 5 classes");
  EXPECT_EQ(error_of([&] {
              cross_entropy(context, zeros({1, 5}), integers({1}, {0}), {.label_smoothing = 1.5F});
            }),
            "cross_entropy (label_smoothing): is 1.500000, it must be from 0 to 1");
  EXPECT_EQ(error_of([&] {
              linear_cross_entropy(context, zeros({1, 5}), zeros({7, 4}), integers({1}, {0}));
            }),
            "linear_cross_entropy (weight): shape is [7, 4], input rows have 5");
  EXPECT_EQ(error_of([&] {
              linear_cross_entropy(context, zeros({1, 4}), zeros({7, 4}), integers({1}, {7}));
            }),
            "linear_cross_entropy (targets): target 7 at position 0 is outside the 7 classes");
}

class AttentionRefusal : public Refusal {
 protected:
  // Query, key and value of 2 sequences, 3 queries, 4 keys, width 6.
  std::string error(const AttentionOptions& options, const Shape& query = {2, 3, 6},
                    const Shape& key = {2, 4, 6}, const Shape& value = {2, 4, 6}) {
    return error_of([&] { attention(context, zeros(query), zeros(key), zeros(value), options); });
  }
};

TEST_F(AttentionRefusal, names_shapes_that_do_not_fit) {
  EXPECT_EQ(error({}, {2, 6}), "attention (query): shape is [2, 6], rank 3 or 4 is needed");
  EXPECT_EQ(error({}, {2, 3, 6}, {2, 1, 4, 6}),
            "attention (key): shape is [2, 1, 4, 6], rank 3 is needed");
  EXPECT_EQ(error({}, {1, 3, 6}), "attention (key): the batch is 2, the query has 1");
  EXPECT_EQ(error({}, {2, 3, 6}, {2, 4, 6}, {1, 4, 6}),
            "attention (value): the batch is 1, the query has 2");
  EXPECT_EQ(error({}, {2, 3, 6}, {2, 4, 6}, {2, 5, 6}),
            "attention (value): the number of rows is 5, the key has 4");
  EXPECT_EQ(error({}, {2, 3, 6}, {2, 4, 5}),
            "attention (key): the width of a head is 5, the query has 6");
  EXPECT_EQ(error({}, {2, 2, 3, 6}, {2, 2, 4, 6}, {2, 1, 4, 6}),
            "attention (value): the number of heads is 1, the key has 2");
  EXPECT_EQ(error_of([&] {
              attention(context, zeros({1, 2, 2}), Value(), Value());
            }),
            "attention (key): is missing");
  EXPECT_EQ(error_of([&] { attention(context, Value(), Value(), Value()); }),
            "attention (query): is missing");
  EXPECT_EQ(error_of([&] {
              const Value q = zeros({1, 2, 2});
              attention(context, q, q, halves({1, 2, 2}));
            }),
            "attention (value): is float16, float32 is needed");
  const Value columns = Value::leaf(Tensor::zeros(DType::f32, {1, 3, 4}).permuted({0, 2, 1}));
  EXPECT_EQ(error_of([&] { attention(context, columns, columns, columns); }),
            "attention (query): shape [1, 4, 3] has a last axis that is not adjacent");
}

TEST_F(AttentionRefusal, names_heads_that_do_not_fit) {
  EXPECT_EQ(error({.heads = 4}),
            "attention (query): width 6 cannot be split into 4 heads; 3 or 6 would do");
  EXPECT_EQ(error({.heads = 0}),
            "attention (heads): 0 heads and 0 key/value heads, at least 1 is needed");
  EXPECT_EQ(error({.heads = 3, .kv_heads = 2}),
            "attention (kv_heads): 3 heads cannot share 2 key/value heads evenly");
  EXPECT_EQ(error({.heads = 2, .kv_heads = 1}),
            "attention (key): the width of a head is 6, the query has 3");
  EXPECT_EQ(error({.heads = 3}, {2, 2, 3, 6}, {2, 2, 4, 6}, {2, 2, 4, 6}),
            "attention (query): shape is [2, 2, 3, 6], 3 heads are asked for");
}

TEST_F(AttentionRefusal, names_masks_and_lengths_that_do_not_fit) {
  EXPECT_EQ(error({.past = integers({1}, {0})}), "attention (past): shape is [1], [2] is needed");
  EXPECT_EQ(error({.past = integers({2}, {0, std::numeric_limits<int64_t>::max()})}),
            "attention (past): 9223372036854775807 at position 1 is not within "
            "-1152921504606846976 and 1152921504606846976");
  EXPECT_EQ(error({.valid_lens = integers({2}, {4, 5})}),
            "attention (valid_lens): 5 at position 1 is not within 0 and 4");
  EXPECT_EQ(error({.valid_lens = integers({2}, {-1, 0})}),
            "attention (valid_lens): -1 at position 0 is not within 0 and 4");
  EXPECT_EQ(error({.valid_lens = integers({3}, {0, 0, 0})}),
            "attention (valid_lens): shape is [3], [2] or [2, 3] is needed");
  EXPECT_EQ(error({.query_lens = integers({2}, {0, 4})}),
            "attention (query_lens): 4 at position 1 is not within 0 and 3");
  EXPECT_EQ(error({.keep_mask = Tensor::zeros(DType::boolean, {4, 3})}),
            "attention (keep_mask): shape is [4, 3], [3, 4] with any axis 1 is needed");
  EXPECT_EQ(error({.forbid_mask = Tensor::zeros(DType::f32, {3, 4})}),
            "attention (forbid_mask): is float32, bool is needed");
  EXPECT_EQ(error({.bias = zeros({2, 2, 3, 4})}),
            "attention (bias): shape is [2, 2, 3, 4], [2, 1, 3, 4] with any axis 1 is needed");
  EXPECT_EQ(error({.bias = zeros({4})}),
            "attention (bias): shape is [4], [2, 1, 3, 4] with any axis 1 is needed");
  EXPECT_EQ(error({.heads = 2, .gates = zeros({3})}),
            "attention (gates): shape is [3], [2] or [2, 2] is needed");
}

TEST_F(AttentionRefusal, names_position_biases_that_do_not_fit) {
  using Kind = autograd::PositionBiasKind;
  const auto biased = [&](const autograd::PositionBias& bias) {
    return error({.heads = 2, .position_bias = bias});
  };
  EXPECT_EQ(biased({Kind::linear, zeros({3})}),
            "attention (position_bias): shape is [3], there are 2 heads");
  EXPECT_EQ(biased({Kind::linear, Value()}), "attention (position_bias): is missing");
  EXPECT_EQ(biased({Kind::buckets, Value()}), "attention (position_bias): is missing");
  EXPECT_EQ(biased({Kind::buckets, zeros({2, 32})}),
            "attention (position_bias): shape is [2, 32], a table of [buckets, 2] is needed");
  EXPECT_EQ(biased({Kind::buckets, halves({32, 2})}),
            "attention (position_bias): is float16, float32 is needed");
  EXPECT_EQ(
      biased({Kind::buckets, Value::leaf(Tensor::zeros(DType::f32, {2, 32}).permuted({1, 0}))}),
      "attention (position_bias): shape [32, 2] is not adjacent in memory");
  EXPECT_EQ(biased({Kind::buckets, zeros({3, 2})}),
            "attention (position_bias): 3 buckets for two directions, at least 4 are needed");
  EXPECT_EQ(biased({Kind::buckets, zeros({1, 2}), false}),
            "attention (position_bias): 1 buckets, at least 2 are needed");
  EXPECT_EQ(biased({Kind::buckets, zeros({32, 2}), false, 16}),
            "attention (position_bias): max_distance is 16, with 32 buckets it must be from 17 to "
            "1152921504606846976");
  EXPECT_EQ(biased({Kind::none, zeros({2})}),
            "attention (position_bias): coefficients of shape [2] have no kind");
}

TEST_F(AttentionRefusal, names_numbers_out_of_range) {
  EXPECT_EQ(error({.softcap = -1}), "attention (softcap): is -1.000000, it must be 0 or positive");
  EXPECT_EQ(error({.scale = std::numeric_limits<float>::infinity()}),
            "attention (scale): is inf, it must be finite");
  EXPECT_EQ(error({.window = -2}), "attention (window): is -2, it must be 0 (none) or positive");
  EXPECT_EQ(error({.dropout = 1}),
            "attention (probability): is 1.000000, it must be at least 0 and below 1");
}

TEST_F(AttentionRefusal, of_a_cache_names_what_the_cache_has) {
  const auto cached = [&](const autograd::CachedKeyValues& cache,
                          const AttentionOptions& options = {}) {
    return error_of([&] { cached_attention(context, zeros({2, 3, 6}).data(), cache, options); });
  };
  // Two sequences of four keys, in a tile each.
  const autograd::CachedKeyValues right{
      .tiles = {{}, {}}, .counts = {4, 4}, .kv_heads = 1, .key_width = 6, .value_width = 6};
  autograd::CachedKeyValues wrong = right;
  wrong.key_width = 5;
  EXPECT_EQ(cached(wrong), "attention (keys): the width of a head is 5, the query has 6");
  wrong = right;
  wrong.counts = {4};
  EXPECT_EQ(cached(wrong), "attention (cache): the batch is 1, the query has 2");
  wrong = right;
  wrong.counts = {4, 129};
  EXPECT_EQ(cached(wrong),
            "attention (cache): the number of tiles is 2, a batch of this length has 4");
  wrong = right;
  wrong.kv_heads = 2;
  EXPECT_EQ(cached(wrong, {.kv_heads = 1}),
            "attention (cache): the number of heads is 2, the layer has 1");
  EXPECT_EQ(cached(wrong), "attention (kv_heads): 1 heads cannot share 2 key/value heads evenly");
}

TEST_F(AttentionRefusal, of_additive_scoring_names_what_it_does_not_have) {
  const auto additive = [&](const Value& query, const Value& weights,
                            const AttentionOptions& options = {}) {
    return error_of([&] {
      additive_attention(context, query, zeros({2, 4, 6}), zeros({2, 4, 5}), weights, options);
    });
  };
  const Value query = zeros({2, 3, 6});
  EXPECT_EQ(additive(query, zeros({5})),
            "additive_attention (score_weights): shape is [5], query rows have 6");
  EXPECT_EQ(additive(query, Value()), "additive_attention (score_weights): is missing");
  EXPECT_EQ(additive(query, zeros({6}), {.heads = 2}),
            "additive_attention (heads): 2 are asked for, additive scoring has one");
  EXPECT_EQ(additive(query, zeros({6}), {.scale = 1}),
            "additive_attention (scale): additive scoring has none");
  EXPECT_EQ(additive(query, zeros({6}), {.softcap = 1}),
            "additive_attention (softcap): additive scoring has none");
  EXPECT_EQ(additive(query, zeros({6}),
                     {.position_bias = {autograd::PositionBiasKind::linear, zeros({1})}}),
            "additive_attention (position_bias): additive scoring has none");
  EXPECT_EQ(additive(zeros({2, 1, 3, 6}), zeros({6})),
            "additive_attention (query): shape is [2, 1, 3, 6], rank 3 is needed");
  EXPECT_EQ(additive(zeros({2, 3, 5}), zeros({5})),
            "additive_attention (key): the width of a head is 6, the query has 5");
}

}  // namespace
}  // namespace headlight::tests
