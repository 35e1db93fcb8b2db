// Attention as an operation: shared and fused inputs, dropout and memory.
#include <array>
#include <functional>

#include "tests/autograd/fixture.h"

namespace headlight::tests {
namespace {

using autograd::AttentionOptions;
using autograd::Context;
using autograd::Value;
using tensor::Shape;
using tensor::Tensor;
using Attention = Autograd;

constexpr int64_t kMegabyte = 1 << 20;

// Query, key and value as views of one tensor.
using Views = std::array<std::function<Value(const Value&)>, 3>;

class SharedAttention : public Autograd {
 protected:
  // The gradient of one tensor behind all three must be, to the bit, the sum of the gradients of
  // three tensors behind one each.
  void expect_sum_of_three(const Shape& shape, const Views& views) {
    const Value shared = random_leaf(shape, 1);
    run({views[0](shared), views[1](shared), views[2](shared)});
    const Value query = random_leaf(shape, 1);
    const Value key = random_leaf(shape, 1);
    const Value value = random_leaf(shape, 1);
    run({views[0](query), views[1](key), views[2](value)});
    std::vector<float> sum = floats(query.grad());
    for (size_t i = 0; i < sum.size(); ++i) {
      sum[i] = sum[i] + floats(key.grad())[i] + floats(value.grad())[i];
    }
    EXPECT_EQ(floats(shared.grad()), sum);
  }

 private:
  void run(const std::array<Value, 3>& inputs) {
    Context context = recording_context();
    const Value output = attention(context, inputs[0], inputs[1], inputs[2], {.heads = 2});
    tape_.backward(context, output, random_leaf(output.shape(), 9).data());
  }
};

Value whole(const Value& x) { return x; }
std::function<Value(const Value&)> columns(int64_t first, int64_t count) {
  return [=](const Value& x) { return slice(x, -1, first, count); };
}

TEST_F(SharedAttention, of_a_tensor_with_itself_adds_three_gradients) {
  expect_sum_of_three({2, 19, 6}, {whole, whole, whole});
}

TEST_F(SharedAttention, of_a_fused_projection_adds_nothing_twice) {
  expect_sum_of_three({2, 19, 18}, {columns(0, 6), columns(6, 6), columns(12, 6)});
  expect_sum_of_three({2, 19, 18}, {columns(12, 6), columns(0, 6), columns(6, 6)});
}

TEST_F(SharedAttention, of_overlapping_columns_adds_where_they_overlap) {
  expect_sum_of_three({1, 19, 9}, {columns(0, 6), columns(2, 6), columns(3, 6)});
  expect_sum_of_three({1, 19, 9}, {columns(3, 6), columns(2, 6), columns(0, 6)});
}

TEST_F(SharedAttention, of_one_memory_in_three_shapes_adds_where_they_overlap) {
  const auto key = [](const Value& x) { return slice(reshape(x, {1, 400, 20}), -1, 1, 6); };
  const auto value = [](const Value& x) {
    return slice(slice(reshape(x, {1, 500, 16}), 1, 0, 400), -1, 5, 6);
  };
  expect_sum_of_three({1, 1000, 8}, {columns(1, 6), key, value});
}

TEST_F(SharedAttention, of_heads_already_split_adds_three_gradients) {
  expect_sum_of_three({2, 2, 19, 3}, {whole, whole, whole});
}

TEST_F(Attention, of_a_fused_projection_takes_no_more_memory_than_of_three) {
  const auto peak = [](const std::vector<Value>& pieces) {
    base::ThreadPool threads(2);
    tensor::Arena arena;
    autograd::Tape tape;
    Context context{.threads = threads, .arena = arena, .tape = &tape};
    const Value output = attention(context, pieces[0], pieces[1], pieces[2], {.heads = 12});
    tape.backward(context, output, Tensor::zeros(tensor::DType::f32, output.shape()));
    return arena.peak_bytes();
  };
  const auto zeros = [](int64_t width) {
    return Value::leaf(Tensor::zeros(tensor::DType::f32, {1, 512, width}), true);
  };
  EXPECT_EQ(peak(split(zeros(3 * 768), {768, 768, 768})),
            peak({zeros(768), zeros(768), zeros(768)}));
}

TEST_F(Attention, of_heads_already_split_is_that_of_rows) {
  Context context = inference_context();
  const Value rows = random_leaf({2, 5, 6}, 1);
  const Value heads = Value::leaf(rows.data().reshaped({2, 5, 3, 2}).permuted({0, 2, 1, 3}));
  const Value by_rows = attention(context, rows, rows, rows, {.heads = 3});
  const Value by_heads = attention(context, heads, heads, heads);
  EXPECT_EQ(by_heads.shape(), (Shape{2, 3, 5, 2}));
  EXPECT_EQ(floats(by_heads.data().permuted({0, 2, 1, 3})), floats(by_rows.data()));
}

TEST_F(Attention, drops_weights_only_in_training_and_differently_at_each_place_and_step) {
  const Value x = random_leaf({1, 16, 8}, 1);
  const auto run = [&](bool training, uint64_t step, std::string_view place) {
    Context context = inference_context();
    context.training = training;
    context.random = {7, step};
    return floats(attention(context, x, x, x, {.dropout = 0.5F, .place = place}).data());
  };
  EXPECT_EQ(run(false, 1, "a"), run(false, 2, "b"));
  EXPECT_NE(run(true, 1, "a"), run(false, 1, "a"));
  EXPECT_EQ(run(true, 1, "a"), run(true, 1, "a"));
  EXPECT_NE(run(true, 1, "a"), run(true, 2, "a"));
  EXPECT_NE(run(true, 1, "a"), run(true, 1, "b"));
}

// What forward and backward add to inputs, outputs and gradients, at width 768 and 12 heads.
int64_t added_bytes(int64_t tokens) {
  base::ThreadPool threads;
  tensor::Arena arena;
  autograd::Tape tape;
  Context context{.threads = threads, .arena = arena, .tape = &tape};
  const Shape shape{1, tokens, 768};
  Value inputs[3];
  for (Value& input : inputs) input = Value::leaf(Tensor::zeros(tensor::DType::f32, shape), true);
  const Tensor gradient = Tensor::zeros(tensor::DType::f32, shape);
  tape.backward(context,
                attention(context, inputs[0], inputs[1], inputs[2], {.heads = 12, .causal = true}),
                gradient);
  // The output, its gradient and those of the three inputs.
  return static_cast<int64_t>(arena.peak_bytes()) - 5 * static_cast<int64_t>(gradient.bytes());
}

TEST_F(Attention, keeps_memory_in_proportion_to_the_tokens) {
  EXPECT_LT(added_bytes(2048), 400 * kMegabyte / 8);
}

TEST(LongAttention, of_16384_tokens_adds_less_than_400_megabytes) {
  EXPECT_LT(added_bytes(16384), 400 * kMegabyte);
}

using Dropout = Autograd;

TEST_F(Dropout, is_the_input_itself_outside_training) {
  Context context = recording_context();
  const Value x = random_leaf({4, 4}, 1);
  EXPECT_EQ(dropout(context, x, 0.5F, "a").data().data<float>(), x.data().data<float>());
  context.training = true;
  EXPECT_EQ(dropout(context, x, 0, "a").data().data<float>(), x.data().data<float>());
  EXPECT_NE(floats(dropout(context, x, 0.5F, "a").data()), floats(x.data()));
  EXPECT_EQ(tape_.size(), 1u);
}

using LinearCrossEntropy = Autograd;

TEST_F(LinearCrossEntropy, in_chunks_gives_the_bits_of_the_whole_in_less_memory) {
  constexpr int64_t kRows = 500, kWidth = 4, kClasses = 70000;
  const Value x = random_leaf({kRows, kWidth}, 1);
  const Value weight = random_leaf({kClasses, kWidth}, 2);
  std::vector<int64_t> targets(kRows);
  for (size_t i = 0; i < targets.size(); ++i) {
    targets[i] = i % 7 == 0 ? -1 : static_cast<int64_t>(i * 131 % kClasses);
  }
  const Tensor target_tensor = Tensor::of({kRows}, targets);
  const size_t logits = kRows * kClasses * sizeof(float);

  Context context = recording_context();
  const Value loss = linear_cross_entropy(context, x, weight, target_tensor);
  tape_.backward(context, loss);
  EXPECT_LT(arena_.peak_bytes(), logits * 2 / 3);

  const Value x_again = Value::leaf(x.data(), true);
  const Value weight_again = Value::leaf(weight.data(), true);
  const Value whole =
      cross_entropy(context, linear(context, x_again, weight_again, Value()), target_tensor);
  tape_.backward(context, whole);
  EXPECT_EQ(floats(loss.data()), floats(whole.data()));
  EXPECT_EQ(floats(x.grad()), floats(x_again.grad()));
  EXPECT_EQ(floats(weight.grad()), floats(weight_again.grad()));
}

TEST_F(LinearCrossEntropy, of_ignored_targets_alone_is_zero_with_zero_gradients) {
  Context context = recording_context();
  const Value x = random_leaf({3, 2}, 1);
  const Value weight = random_leaf({5, 2}, 2);
  const Tensor targets = Tensor::of({3}, std::vector<int64_t>{-1, -1, -1});
  const Value loss = linear_cross_entropy(context, x, weight, targets);
  tape_.backward(context, loss);
  EXPECT_EQ(floats(loss.data()), std::vector<float>{0});
  EXPECT_EQ(floats(x.grad()), std::vector<float>(6, 0));
  EXPECT_EQ(floats(weight.grad()), std::vector<float>(10, 0));
}

}  // namespace
}  // namespace headlight::tests
