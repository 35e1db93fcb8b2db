// Attention is explained with everything that the kernel can do: any mask, window, offset, bias,
// cap, grouped heads, gates and position biases, every cell of every step.
#include "tests/explain/support.h"

namespace headlight::explain {
namespace {

using autograd::AttentionOptions;
using autograd::Value;

constexpr int64_t kHeads = 4, kQueries = 5, kKeys = 6, kWidth = 3, kValueWidth = 2;

class ExplainedAttention : public ExplainTest {
 protected:
  static Value drawn(const tensor::Shape& shape, uint64_t seed) {
    const base::Random random(seed);
    std::vector<float> numbers(static_cast<size_t>(shape.elements()));
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = random.normal(i);
    return Value::leaf(Tensor::of(shape, numbers));
  }

  static Tensor mask(const tensor::Shape& shape, uint64_t seed) {
    Tensor made = Tensor::uninitialized(DType::boolean, shape);
    const base::Random random(seed);
    for (int64_t i = 0; i < made.elements(); ++i) {
      made.mutable_data<bool>()[i] = random.below(static_cast<uint64_t>(i), 3) != 0;
    }
    return made;
  }

  static Tensor integers(const tensor::Shape& shape, const std::vector<int64_t>& numbers) {
    return Tensor::of(shape, numbers);
  }

  Trace explained(AttentionOptions options) {
    options.heads = kHeads;
    options.place = "decoder.0.self";
    const int64_t kv_heads = options.kv_heads == 0 ? kHeads : options.kv_heads;
    Trace trace = trace_run(threads_, {}, [&](autograd::Context& context) {
      const Value query = drawn({1, kQueries, kHeads * kWidth}, 1);
      const Value key = drawn({1, kKeys, kv_heads * kWidth}, 2);
      const Value value = drawn({1, kKeys, kv_heads * kValueWidth}, 3);
      name_value(context, "decoder.0.self", "projected_query", query);
      name_value(context, "decoder.0.self", "projected_key", key);
      name_value(context, "decoder.0.self", "projected_value", value);
      name_value(context, "decoder.0.self", "concatenated",
                 attention(context, query, key, value, options));
    });
    expect_all_explained(trace);
    return trace;
  }
};

TEST_F(ExplainedAttention, with_masks_of_every_kind) {
  for (const tensor::Shape& shape : {tensor::Shape{kQueries, kKeys}, tensor::Shape{1, 1, kKeys},
                                     tensor::Shape{1, kHeads, kQueries, kKeys}}) {
    explained({.keep_mask = mask(shape, 5)});
    explained({.forbid_mask = mask(shape, 6)});
    explained({.keep_mask = mask(shape, 7), .forbid_mask = mask({1, kKeys}, 8)});
  }
  explained({.valid_lens = integers({1}, {4})});
  explained({.valid_lens = integers({1, kQueries}, {4, 0, 6, 1, 2})});
  explained({.query_lens = integers({1}, {3})});
}

TEST_F(ExplainedAttention, with_windows_and_offsets) {
  explained({.causal = true});
  explained({.causal = true, .past = integers({1}, {2})});
  explained({.causal = true, .past = integers({1}, {-2})});  // the first rows see nothing
  explained({.window = 2});
  explained({.causal = true, .window = 3, .past = integers({1}, {1})});
}

TEST_F(ExplainedAttention, with_scale_cap_and_biases) {
  explained({.scale = 1.0F});
  explained({.scale = 0.3F, .softcap = 0.7F});
  explained({.bias = drawn({kQueries, kKeys}, 9)});
  explained({.softcap = 2, .causal = true, .bias = drawn({1, kHeads, 1, kKeys}, 10)});
  const Trace linear =
      explained({.causal = true,
                 .past = integers({1}, {1}),
                 .position_bias = {autograd::PositionBiasKind::linear, drawn({kHeads}, 11)}});
  EXPECT_NE(linear.find("decoder.0.self.position_bias"), nullptr);
  explained({.bias = drawn({kQueries, kKeys}, 9),
             .position_bias = {autograd::PositionBiasKind::buckets, drawn({8, kHeads}, 12),
                               /*bidirectional=*/true, /*max_distance=*/9}});
  explained({.causal = true,
             .past = integers({1}, {3}),
             .position_bias = {autograd::PositionBiasKind::buckets, drawn({8, kHeads}, 12),
                               /*bidirectional=*/false, /*max_distance=*/9}});
}

TEST_F(ExplainedAttention, with_grouped_heads_and_gates) {
  explained({.kv_heads = 2, .causal = true});
  explained({.kv_heads = 1, .gates = drawn({kHeads}, 13)});
  explained({.gates = drawn({1, kHeads}, 14)});
}

TEST_F(ExplainedAttention, that_scores_by_a_layer_of_its_own) {
  for (const tensor::Shape& shape : {tensor::Shape{kWidth}, tensor::Shape{1, kWidth}}) {
    const Trace trace = trace_run(threads_, {}, [&](autograd::Context& context) {
      const Value query = drawn({1, kQueries, kWidth}, 1);
      const Value key = drawn({1, kKeys, kWidth}, 2);
      const Value value = drawn({1, kKeys, kValueWidth}, 3);
      name_value(context, "a", "projected_query", query);
      name_value(context, "a", "projected_key", key);
      name_value(context, "a", "projected_value", value);
      const Value weights = drawn(shape, 4);
      name_value(context, "a", "score_weights", weights);
      additive_attention(context, query, key, value, weights,
                         {.valid_lens = integers({1}, {4}), .place = "a"});
    });
    expect_all_explained(trace);
    EXPECT_EQ(trace.at("a.scores").operation, "additive_scores");
  }
}

}  // namespace
}  // namespace headlight::explain
