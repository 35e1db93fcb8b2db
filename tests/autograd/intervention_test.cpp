// Interventions change what they name and let the gradient pass.
#include "tests/autograd/observing.h"

namespace headlight::tests {
namespace {

using autograd::AttentionOptions;
using autograd::Context;
using autograd::Value;
using tensor::Tensor;

class Dial : public autograd::Intervention {
 public:
  Dial(std::string place, std::function<void(Tensor&)> turn)
      : place_(std::move(place)), turn_(std::move(turn)) {}
  bool changes(std::string_view place) override { return place == place_; }
  void change(std::string_view, Tensor& values) override { turn_(values); }

 private:
  std::string place_;
  std::function<void(Tensor&)> turn_;
};

using Intervening = Observing;

TEST_F(Intervening, on_the_gates_of_heads_takes_a_head_out) {
  AttentionOptions plain = options();
  plain.gates = Value();
  Context context = inference_context();
  const std::vector<float> whole = floats(attention(context, query, key, value, plain).data());
  Dial off("decoder.0.self.head_gates", [](Tensor& values) {
    EXPECT_EQ(floats(values), (std::vector<float>{1, 1, 1, 1}));
    values.mutable_data<float>()[2] = 0;
  });
  context.intervention = &off;
  const std::vector<float> without = floats(attention(context, query, key, value, plain).data());
  for (size_t i = 0; i < whole.size(); ++i) {
    const bool of_head_2 = i / kValueWidth % kHeads == 2;
    EXPECT_EQ(without[i], of_head_2 ? 0 : whole[i]);
  }
}

TEST_F(Intervening, on_given_gates_starts_from_them_and_leaves_them_as_they_are) {
  Dial dial("decoder.0.self.head_gates", [](Tensor& values) {
    EXPECT_EQ(floats(values), (std::vector<float>{1, 0.5F, 2, 0}));
    values.mutable_data<float>()[0] = 7;
  });
  Context context = recording_context();
  context.intervention = &dial;
  const Value output = attention(context, query, key, value, options());
  EXPECT_EQ(floats(gates.data()), (std::vector<float>{1, 0.5F, 2, 0}));
  tape_.backward(context, output, random_leaf(output.shape(), 4).data());
  EXPECT_TRUE(gates.grad().defined());
}

TEST_F(Intervening, on_a_value_lets_the_gradient_pass) {
  Dial dial("decoder.0.residual_out", [](Tensor& values) { values.mutable_data<float>()[1] = -1; });
  Context context = recording_context();
  context.intervention = &dial;
  const Value x = leaf({2}, {1, 2});
  const Value changed = intervene(context, "decoder.0", "residual_out", x);
  EXPECT_EQ(floats(x.data()), (std::vector<float>{1, 2}));
  EXPECT_EQ(floats(changed.data()), (std::vector<float>{1, -1}));
  const Value other = intervene(context, "decoder.0", "residual_in", x);
  EXPECT_EQ(other.data().data<float>(), x.data().data<float>());
  tape_.backward(context, scale(context, changed, 3), Tensor::of({2}, std::vector<float>{1, 1}));
  EXPECT_EQ(floats(x.grad()), (std::vector<float>{3, 3}));
}

TEST_F(Intervening, with_another_shape_is_refused) {
  Dial dial("x", [](Tensor& values) { values = Tensor::zeros(tensor::DType::f32, {3}); });
  Context context = inference_context();
  context.intervention = &dial;
  EXPECT_EQ(error_of([&] {
              intervene(context, "", "x", leaf({2}, {1, 2}));
            }),
            "intervention (x): shape is [3], the original is [2]");
}

}  // namespace
}  // namespace headlight::tests
