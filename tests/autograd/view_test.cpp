// Views: split, slice and reshape share memory forwards and backwards.
#include "tests/autograd/fixture.h"

namespace headlight::tests {
namespace {

using autograd::Context;
using autograd::Value;
using tensor::Tensor;
using View = Autograd;

TEST_F(View, of_a_split_share_the_memory_of_the_whole) {
  const Value x = leaf({2, 5}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  const std::vector<Value> pieces = split(x, {2, 0, 3});
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(floats(pieces[0].data()), (std::vector<float>{0, 1, 5, 6}));
  EXPECT_EQ(floats(pieces[2].data()), (std::vector<float>{2, 3, 4, 7, 8, 9}));
  EXPECT_EQ(pieces[2].data().data<float>(), x.data().data<float>() + 2);
}

TEST_F(View, of_a_split_gather_their_gradients_in_the_gradient_of_the_whole) {
  Context context = recording_context();
  const Value x = leaf({2, 3}, {1, 2, 3, 4, 5, 6});
  const std::vector<Value> pieces = split(x, {1, 2});
  tape_.backward(context, scale(context, pieces[1], 10),
                 Tensor::of({2, 2}, std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(floats(x.grad()), (std::vector<float>{0, 10, 20, 0, 30, 40}));
  EXPECT_EQ(floats(pieces[1].grad()), (std::vector<float>{10, 20, 30, 40}));
  EXPECT_EQ(pieces[1].grad().data<float>(), x.grad().data<float>() + 1);
}

TEST_F(View, leave_no_trace_on_the_tape) {
  const Value x = leaf({2, 3}, {1, 2, 3, 4, 5, 6});
  split(reshape(x, {3, 2}), {1, 1});
  EXPECT_EQ(tape_.size(), 0u);
}

TEST_F(View, of_another_shape_pass_the_whole_gradient_on) {
  Context context = recording_context();
  const Value x = leaf({2, 3}, {1, 2, 3, 4, 5, 6});
  const Value weight = leaf({1, 2}, {1, 10});
  const Value y = linear(context, reshape(x, {3, 2}), weight, Value());
  tape_.backward(context, y, Tensor::of({3, 1}, std::vector<float>{1, 2, 3}));
  EXPECT_EQ(floats(x.grad()), (std::vector<float>{1, 10, 2, 20, 3, 30}));
}

TEST_F(View, of_views_find_their_way_to_the_whole) {
  Context context = recording_context();
  const Value x = leaf({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Value inner = slice(slice(x, 0, 1, 1), -1, 1, 2);
  tape_.backward(context, scale(context, inner, 2), Tensor::of({1, 2}, std::vector<float>{1, 3}));
  EXPECT_EQ(floats(x.grad()), (std::vector<float>{0, 0, 0, 0, 0, 2, 6, 0}));
}

TEST_F(View, of_several_axes_take_gradients_that_are_no_matrix) {
  Context context = recording_context();
  const Value x = random_leaf({2, 3, 4}, 1);
  const Value part = slice(slice(x, 1, 0, 2), 2, 1, 2);
  const Tensor gradient = random_leaf({2, 2, 2}, 2).data();
  tape_.backward(context, part, gradient);
  EXPECT_EQ(floats(part.grad()), floats(gradient));
}

TEST_F(View, that_does_not_fit_is_refused) {
  const Value x = leaf({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(error_of([&] {
              split(x, {1, 1});
            }),
            "split (widths): add up to 2, the last axis of [2, 3] has 3");
  EXPECT_NE(error_of([&] { split(x, {4, -1}); }), "");
  EXPECT_EQ(error_of([&] { split(Value(), {}); }), "split (input): has no axis to split");
  EXPECT_EQ(error_of([&] { reshape(x, {4, 2}); }), "reshape: [2, 3] cannot be read as [4, 2]");
  EXPECT_NE(error_of([&] { slice(x, 0, 1, 2); }), "");
}

}  // namespace
}  // namespace headlight::tests
