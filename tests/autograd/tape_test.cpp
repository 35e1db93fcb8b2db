// The tape: how gradients gather, what is skipped and when memory goes back.
#include "tests/autograd/fixture.h"

namespace headlight::tests {
namespace {

using autograd::Context;
using autograd::Value;
using tensor::Tensor;
using Tape = Autograd;

TEST_F(Tape, adds_up_the_gradients_of_a_value_that_is_used_twice) {
  Context context = recording_context();
  const Value x = leaf({2}, {1, 2});
  const Value y = add(context, x, scale(context, x, 3));
  tape_.backward(context, y, Tensor::of({2}, std::vector<float>{1, 10}));
  EXPECT_EQ(floats(x.grad()), (std::vector<float>{4, 40}));
}

TEST_F(Tape, takes_a_value_as_both_inputs_of_one_operation) {
  Context context = recording_context();
  const Value x = leaf({2}, {1, 2});
  tape_.backward(context, add(context, x, x), Tensor::of({2}, std::vector<float>{1, 10}));
  EXPECT_EQ(floats(x.grad()), (std::vector<float>{2, 20}));
}

TEST_F(Tape, gives_tied_weights_the_gradients_of_both_uses) {
  const Value table = random_leaf({5, 3}, 1);
  const Tensor ids = Tensor::of({4}, std::vector<int64_t>{1, 4, 1, 0});
  const Tensor targets = Tensor::of({4}, std::vector<int64_t>{4, 1, 0, 3});
  Context context = recording_context();
  tape_.backward(context,
                 linear_cross_entropy(context, embedding(context, ids, table), table, targets));
  const std::vector<float> tied = floats(table.grad());

  const Value first = Value::leaf(table.data(), true);
  const Value second = Value::leaf(table.data(), true);
  tape_.backward(context,
                 linear_cross_entropy(context, embedding(context, ids, first), second, targets));
  for (size_t i = 0; i < tied.size(); ++i) {
    EXPECT_FLOAT_EQ(tied[i], floats(first.grad())[i] + floats(second.grad())[i]);
  }
}

TEST_F(Tape, adds_to_the_gradients_of_earlier_passes_until_they_are_cleared) {
  Context context = recording_context();
  Value x = leaf({1}, {2});
  for (int pass = 0; pass < 3; ++pass) tape_.backward(context, scale(context, x, 5));
  EXPECT_EQ(floats(x.grad()), std::vector<float>{15});
  x.clear_grad();
  EXPECT_FALSE(x.grad().defined());
  tape_.backward(context, scale(context, x, 5));
  EXPECT_EQ(floats(x.grad()), std::vector<float>{5});
}

TEST_F(Tape, leaves_values_that_want_no_gradient_alone) {
  Context context = recording_context();
  const Value wanted = leaf({2}, {1, 2});
  const Value unwanted = leaf({2}, {3, 4}, false);
  tape_.backward(context, add(context, wanted, unwanted),
                 Tensor::of({2}, std::vector<float>{1, 1}));
  EXPECT_TRUE(wanted.grad().defined());
  EXPECT_FALSE(unwanted.grad().defined());
}

TEST_F(Tape, records_nothing_where_no_gradient_is_wanted) {
  Context context = recording_context();
  const Value y = scale(context, leaf({2}, {1, 2}, false), 2);
  EXPECT_EQ(tape_.size(), 0u);
  EXPECT_FALSE(y.requires_grad());
}

TEST_F(Tape, skips_what_the_root_does_not_depend_on) {
  Context context = recording_context();
  const Value x = leaf({1}, {1});
  const Value other = leaf({1}, {1});
  const Value root = scale(context, x, 2);
  scale(context, other, 2);
  tape_.backward(context, root);
  EXPECT_TRUE(x.grad().defined());
  EXPECT_FALSE(other.grad().defined());
  EXPECT_EQ(tape_.size(), 0u);
}

TEST_F(Tape, keeps_the_gradient_of_a_value_in_the_middle_while_somebody_holds_it) {
  Context context = recording_context();
  const Value x = leaf({2}, {1, -2});
  const Value middle = scale(context, x, 3);
  const Value other = scale(context, middle, 5);
  const Value sum = add(context, middle, other);
  tape_.backward(context, scale(context, sum, 2), Tensor::of({2}, std::vector<float>{1, 10}));
  EXPECT_EQ(floats(sum.grad()), (std::vector<float>{2, 20}));
  EXPECT_EQ(floats(other.grad()), (std::vector<float>{2, 20}));
  EXPECT_EQ(floats(middle.grad()), (std::vector<float>{12, 120}));
  EXPECT_EQ(floats(x.grad()), (std::vector<float>{36, 360}));
}

TEST_F(Tape, keeps_the_gradient_of_an_activated_value_while_somebody_holds_it) {
  Context context = recording_context();
  const Value y = linear(context, random_leaf({1, 2}, 1), random_leaf({2, 2}, 2), Value(),
                         {.activation = kernels::Activation::gelu});
  tape_.backward(context, scale(context, y, 2), Tensor::of({1, 2}, std::vector<float>{1, 10}));
  EXPECT_EQ(floats(y.grad()), (std::vector<float>{2, 20}));
}

TEST_F(Tape, gives_the_same_gradients_whether_or_not_the_middle_is_held) {
  const Value norm_weight = random_leaf({6}, 5, false);
  const auto gradient = [&](bool hold) {
    Context context = recording_context();
    const Value x = random_leaf({4, 6}, 2);
    const Value weight = random_leaf({6, 6}, 3);
    std::vector<Value> held;
    Value y = x;
    for (int layer = 0; layer < 3; ++layer) {
      const Value hidden =
          linear(context, y, weight, Value(), {.activation = kernels::Activation::gelu});
      const autograd::ResidualNorm both = residual_norm(context, hidden, y, norm_weight, Value());
      y = add(context, both.sum, both.normalized);
      if (hold) held.insert(held.end(), {hidden, both.sum, both.normalized, y});
    }
    tape_.backward(context, y, random_leaf({4, 6}, 4).data());
    return std::pair{floats(x.grad()), floats(weight.grad())};
  };
  EXPECT_EQ(gradient(true), gradient(false));
}

TEST_F(Tape, adds_both_gradients_of_a_value_that_is_its_own_gate) {
  Context context = recording_context();
  const Value x = leaf({3}, {-1, 2, 3});
  const Value y = gated_product(context, x, x, kernels::Activation::relu);
  tape_.backward(context, y, Tensor::of({3}, {1, 1, 10}));
  EXPECT_EQ(floats(y.data()), (std::vector<float>{0, 4, 9}));
  EXPECT_EQ(floats(x.grad()), (std::vector<float>{0, 4, 60}));
}

TEST_F(Tape, gives_memory_back_as_it_goes) {
  Context context = recording_context();
  const Value weight = Value::leaf(Tensor::zeros(tensor::DType::f32, {64, 64}), true);
  const auto step = [&] {
    Value y = Value::leaf(Tensor::zeros(arena_, tensor::DType::f32, {256, 64}), true);
    for (int layer = 0; layer < 20; ++layer) y = linear(context, y, weight, Value());
    const size_t after_forward = arena_.bytes_in_use();
    tape_.backward(context, y, Tensor::zeros(arena_, tensor::DType::f32, {256, 64}));
    return after_forward;
  };
  const size_t activation = 256 * 64 * sizeof(float);
  const size_t after_forward = step();
  EXPECT_GE(after_forward, 20 * activation);
  // Backward needs the gradients of two neighbours at a time, not of all twenty.
  EXPECT_LT(arena_.peak_bytes(), after_forward + 8 * activation);
  const size_t reserved = arena_.bytes_reserved();
  step();
  EXPECT_EQ(arena_.bytes_reserved(), reserved) << "the second step found all memory in the arena";
  EXPECT_LE(arena_.bytes_in_use(), 64 * 64 * sizeof(float)) << "only the weight's gradient is left";
}

TEST_F(Tape, saves_nothing_in_inference) {
  Context context = inference_context();
  const Value weight = random_leaf({64, 64}, 5);
  Value y = Value::leaf(Tensor::zeros(arena_, tensor::DType::f32, {256, 64}));
  const size_t activation = arena_.bytes_in_use();
  for (int layer = 0; layer < 20; ++layer) {
    y = linear(context, y, weight, Value(), {.activation = kernels::Activation::gelu});
  }
  EXPECT_EQ(arena_.bytes_in_use(), activation);
  EXPECT_LT(arena_.peak_bytes(), 8 * activation);
}

TEST_F(Tape, forgets_what_was_recorded_when_it_is_cleared) {
  Context context = recording_context();
  scale(context, leaf({1}, {1}), 2);
  EXPECT_EQ(tape_.size(), 1u);
  tape_.clear();
  EXPECT_EQ(tape_.size(), 0u);
  EXPECT_EQ(arena_.bytes_in_use(), 0u);
}

TEST_F(Tape, says_what_is_wrong_with_the_root) {
  Context context = recording_context();
  const Value x = leaf({2}, {1, 2});
  EXPECT_EQ(error_of([&] { tape_.backward(context, leaf({1}, {1}, false)); }),
            "backward (root): nothing it depends on wants a gradient");
  EXPECT_EQ(error_of([&] { tape_.backward(context, scale(context, x, 2)); }),
            "backward (root): shape is [2], only a single number needs no gradient");
  EXPECT_EQ(
      error_of([&] {
        tape_.backward(context, scale(context, x, 2), Tensor::of({3}, std::vector<float>{1, 2, 3}));
      }),
      "backward (gradient): shape is [3], root is [2]");
}

TEST_F(Tape, gives_no_gradients_to_integers) {
  EXPECT_EQ(error_of([&] { Value::leaf(Tensor::of({1}, std::vector<int64_t>{1}), true); }),
            "leaf: is int64, float32 is needed");
}

}  // namespace
}  // namespace headlight::tests
