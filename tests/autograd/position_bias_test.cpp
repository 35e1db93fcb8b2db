// Position biases of attention: gradients to the coefficients alone, caches, and memory.
#include "tests/autograd/cached_rows.h"
#include "tests/autograd/fixture.h"

namespace headlight::tests {
namespace {

using autograd::AttentionOptions;
using autograd::Context;
using autograd::PositionBiasKind;
using autograd::Value;
using tensor::Tensor;
using PositionBias = Autograd;

// Four heads over two key/value heads, a soft cap.
AttentionOptions biased(PositionBiasKind kind, const Value& coefficients) {
  AttentionOptions options{.heads = 4, .kv_heads = 2, .softcap = 3, .causal = true};
  options.position_bias = {kind, coefficients, false, 40};
  return options;
}

TEST_F(PositionBias, learns_alone_what_it_learns_with_the_inputs) {
  for (const auto& [kind, shape] : {std::pair{PositionBiasKind::linear, tensor::Shape{4}},
                                    std::pair{PositionBiasKind::buckets, tensor::Shape{10, 4}}}) {
    const auto learn = [&, kind = kind, shape = shape](bool inputs, int threads) {
      base::ThreadPool pool(threads);
      Context context{.threads = pool, .arena = arena_, .tape = &tape_};
      const Value coefficients = random_leaf(shape, 1);
      const Value query = random_leaf({2, 110, 8}, 2, inputs);
      const Value key = random_leaf({2, 140, 4}, 3, inputs);
      const Value output = attention(context, query, key, key, biased(kind, coefficients));
      tape_.backward(context, output, random_leaf(output.shape(), 4).data());
      EXPECT_EQ(query.grad().defined(), inputs);
      return floats(coefficients.grad());
    };
    const std::vector<float> gradient = learn(true, 1);
    EXPECT_EQ(learn(false, 1), gradient);
    EXPECT_EQ(learn(true, 3), gradient);
    EXPECT_EQ(learn(false, 2), gradient);
    EXPECT_NE(gradient, std::vector<float>(gradient.size(), 0));
  }
}

TEST_F(PositionBias, adds_up_the_gradients_of_layers_that_share_a_table) {
  const Value query = random_leaf({1, 9, 8}, 2);
  const Value key = random_leaf({1, 9, 4}, 3);
  const auto learn = [&](const std::vector<Value>& tables) {
    Context context = recording_context();
    Value x = query;
    for (const Value& table : tables)
      x = attention(context, x, key, key, biased(PositionBiasKind::buckets, table));
    tape_.backward(context, x, random_leaf(x.shape(), 4).data());
  };
  const Value first = random_leaf({10, 4}, 1), second = random_leaf({10, 4}, 1);
  const Value shared = random_leaf({10, 4}, 1);
  learn({first, second});
  learn({shared, shared});
  for (size_t n = 0; n < 40; ++n) {
    EXPECT_FLOAT_EQ(floats(shared.grad())[n], floats(first.grad())[n] + floats(second.grad())[n]);
  }
}

TEST_F(PositionBias, of_one_row_against_a_cache_gives_the_bits_of_the_whole_sequence) {
  constexpr int64_t kTokens = 150, kWidth = 16;
  Context context = inference_context();
  const Value query = random_leaf({1, kTokens, 4 * kWidth}, 2);
  const Value key = random_leaf({1, kTokens, 2 * kWidth}, 3);
  for (AttentionOptions options : {biased(PositionBiasKind::linear, random_leaf({4}, 1)),
                                   biased(PositionBiasKind::buckets, random_leaf({10, 4}, 1))}) {
    const Tensor whole = attention(context, query, key, key, options).data();
    for (const int64_t row : {0, 1, 31, 64, 127, 128, 149}) {
      options.past = Tensor::of({1}, std::vector<int64_t>{row});
      const Tensor one = cached_attention(
          context, query.data().slice(1, row, 1),
          CachedRows(key.data().slice(1, 0, row + 1), key.data().slice(1, 0, row + 1), 2).view(),
          options);
      EXPECT_EQ(floats(one), floats(whole.slice(1, row, 1))) << "row " << row;
    }
  }
}

// What forward and backward of 12 heads of width 4 take at most.
int64_t peak_bytes(int64_t tokens, PositionBiasKind kind, const tensor::Shape& shape) {
  base::ThreadPool threads(2);
  tensor::Arena arena;
  autograd::Tape tape;
  Context context{.threads = threads, .arena = arena, .tape = &tape};
  const Value x = Value::leaf(Tensor::zeros(tensor::DType::f32, {1, tokens, 48}), true);
  AttentionOptions options{.heads = 12, .causal = true};
  if (kind != PositionBiasKind::none) {
    options.position_bias = {kind, Value::leaf(Tensor::zeros(tensor::DType::f32, shape), true),
                             false};
  }
  tape.backward(context, attention(context, x, x, x, options),
                Tensor::zeros(tensor::DType::f32, {1, tokens, 48}));
  return static_cast<int64_t>(arena.peak_bytes());
}

TEST_F(PositionBias, takes_memory_in_proportion_to_the_tokens) {
  constexpr int64_t kTokens = 1024;
  const int64_t without = peak_bytes(kTokens, PositionBiasKind::none, {1});
  const int64_t a_few_numbers_per_token = kTokens * 100;
  EXPECT_LT(peak_bytes(kTokens, PositionBiasKind::linear, {12}), without + a_few_numbers_per_token);
  EXPECT_LT(peak_bytes(kTokens, PositionBiasKind::buckets, {32, 12}),
            without + a_few_numbers_per_token);
}

}  // namespace
}  // namespace headlight::tests
