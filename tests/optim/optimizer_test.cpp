// Ten steps of each optimizer against PyTorch 2.13 (foreach=False), state, decay and errors.
#include <gtest/gtest.h>

#include <cmath>

#include "headlight/optim/optim.h"
#include "tests/nn/support.h"

namespace headlight::optim {
namespace {

using nn::expect_has;
using nn::Parameter;
using nn::Parameters;
using tensor::DType;
using tensor::Tensor;
using tests::error_of;

// A matrix of 2 x 3 and a bias of 3, with numbers and gradients that binary fractions hold exactly,
// so that PyTorch was given the same.
class Optimizing : public testing::Test {
 protected:
  static Parameters make_parameters() {
    std::vector<float> numbers;
    for (int i = 0; i < 9; ++i) numbers.push_back(static_cast<float>((i * 3) % 7 - 3) / 4);
    return {
        std::make_shared<Parameter>(
            "weight", Tensor::of({2, 3}, std::vector<float>(numbers.begin(), numbers.begin() + 6))),
        std::make_shared<Parameter>(
            "bias", Tensor::of({3}, std::vector<float>(numbers.begin() + 6, numbers.end())))};
  }

  void set_gradient(const nn::ParameterHandle& parameter, const std::vector<float>& numbers) {
    parameter->clear_grad();
    parameter->value().gradient()->add(context_, Tensor::of(parameter->shape(), numbers));
  }

  void set_gradients(const Parameters& parameters, int step) {
    int i = 0;
    for (const nn::ParameterHandle& parameter : parameters) {
      std::vector<float> gradient;
      for (int64_t n = 0; n < parameter->shape().elements(); ++n, ++i) {
        gradient.push_back(static_cast<float>((i * 7 + step * 5) % 11 - 5) / 8);
      }
      set_gradient(parameter, gradient);
    }
  }

  static double rate(int step) { return 0.05 * (1 + step % 3); }

  // Steps [begin, end); returns the norms.
  std::vector<double> run(Optimizer& optimizer, const Parameters& parameters, int begin, int end) {
    std::vector<double> norms;
    for (int step = begin; step < end; ++step) {
      set_gradients(parameters, step);
      norms.push_back(optimizer.step(context_.execution(), rate(step)));
    }
    return norms;
  }

  static std::vector<float> numbers_of(const Parameters& parameters) {
    std::vector<float> numbers;
    for (const nn::ParameterHandle& parameter : parameters) {
      const Tensor& tensor = parameter->value().data();
      numbers.insert(numbers.end(), tensor.data<float>(), tensor.data<float>() + tensor.elements());
    }
    return numbers;
  }

  void expect_after_ten_steps(const OptimizerOptions& options, const std::vector<float>& want) {
    const Parameters parameters = make_parameters();
    Optimizer optimizer(parameters, options);
    const std::vector<double> norms = run(optimizer, parameters, 0, 10);
    const double want_norms[] = {1.25,  1.15244305, 1.26243806, 1.15244305, 1.25,
                                 1.125, 1.21192002, 1.14564395, 1.14564395, 1.21192002};
    for (size_t i = 0; i < 10; ++i) EXPECT_NEAR(norms[i], want_norms[i], 1e-7) << i;
    const std::vector<float> got = numbers_of(parameters);
    for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 5e-7) << i;
  }

  base::ThreadPool threads_{2};
  tensor::Arena arena_;
  autograd::Context context_{.threads = threads_, .arena = arena_};
};

TEST_F(Optimizing, ten_steps_of_adamw_are_those_of_pytorch) {
  expect_after_ten_steps({.beta2 = 0.99, .weight_decay = 0.1},
                         {-0.658063591F, 0.037940383F, 0.86653614F, -0.53763485F, 0.427673429F,
                          -0.174116969F, 0.144454971F, -1.079579F, 0.229532003F});
}

TEST_F(Optimizing, ten_steps_of_clipped_adamw_are_those_of_pytorch) {
  expect_after_ten_steps({.beta2 = 0.99, .weight_decay = 0.1, .grad_clip = 0.5},
                         {-0.647514582F, 0.0481412187F, 0.836205244F, -0.51415652F, 0.426063061F,
                          -0.194100156F, 0.176781401F, -1.09415853F, 0.224409938F});
}

TEST_F(Optimizing, ten_steps_of_clipped_adam_are_those_of_pytorch) {
  expect_after_ten_steps(
      {.kind = OptimizerKind::adam, .epsilon = 1e-6, .weight_decay = 0.1, .grad_clip = 0.5},
      {-0.431031525F, 0.0442966856F, 0.509782195F, -0.379733533F, 0.260122597F, -0.0733453259F,
       0.177034512F, -1.09430218F, 0.224395424F});
}

TEST_F(Optimizing, ten_steps_of_sgd_with_momentum_are_those_of_pytorch) {
  expect_after_ten_steps({.kind = OptimizerKind::sgd, .weight_decay = 0.1},
                         {-0.571890473F, 0.0334504358F, 0.726205587F, -0.512290716F, 0.19709833F,
                          -0.00419318071F, 0.25583759F, -1.20958507F, 0.210498273F});
}

TEST_F(Optimizing, ten_steps_of_clipped_sgd_without_momentum_are_those_of_pytorch) {
  expect_after_ten_steps(
      {.kind = OptimizerKind::sgd, .momentum = 0, .weight_decay = 0.1, .grad_clip = 0.5},
      {-0.702834427F, -0.0293059349F, 0.672329128F, -0.225348368F, 0.44521907F, -0.443126112F,
       0.271842331F, -0.768557787F, 0.00882343296F});
}

TEST_F(Optimizing, goes_on_with_the_same_bits_from_a_saved_state) {
  for (const OptimizerKind kind : {OptimizerKind::adamw, OptimizerKind::adam, OptimizerKind::sgd}) {
    const OptimizerOptions options{.kind = kind, .grad_clip = 0.5};
    const Parameters whole = make_parameters(), first = make_parameters();
    Optimizer uninterrupted(whole, options), before(first, options);
    run(uninterrupted, whole, 0, 10);
    run(before, first, 0, 6);

    const Parameters second = make_parameters();
    nn::load_state(second, nn::save_state(first));
    Optimizer after(second, options);
    after.load_state(before.state());
    run(after, second, 6, 10);
    EXPECT_EQ(numbers_of(second), numbers_of(whole));
    for (const auto& [name, tensor] : uninterrupted.state()) {
      EXPECT_TRUE(nn::same_bits(tensor, after.state().at(name))) << name;
    }
  }
}

TEST_F(Optimizing, keeps_its_state_under_the_names_that_pytorch_uses) {
  const auto names_of = [](OptimizerKind kind) {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : Optimizer(make_parameters(), {.kind = kind}).state()) {
      names.push_back(name + " " + tensor.shape().text());
    }
    return names;
  };
  EXPECT_EQ(
      names_of(OptimizerKind::adamw),
      (std::vector<std::string>{"exp_avg.bias [3]", "exp_avg.weight [2, 3]", "exp_avg_sq.bias [3]",
                                "exp_avg_sq.weight [2, 3]", "step.bias []", "step.weight []"}));
  EXPECT_EQ(names_of(OptimizerKind::sgd),
            (std::vector<std::string>{"momentum_buffer.bias [3]", "momentum_buffer.weight [2, 3]",
                                      "step.bias []", "step.weight []"}));
}

TEST_F(Optimizing, refuses_a_state_that_does_not_fit_and_stays_as_it_was) {
  const Parameters parameters = make_parameters();
  Optimizer optimizer(parameters, {});
  run(optimizer, parameters, 0, 3);
  nn::StateDict state = Optimizer(make_parameters(), {}).state();
  state.erase("exp_avg.bias");
  state["exp_avg_sq.bias"] = Tensor::zeros(DType::f32, {4});
  state["momentum_buffer.bias"] = Tensor::zeros(DType::f32, {3});
  const std::string message = error_of([&] { optimizer.load_state(state); });
  expect_has(message, "1 missing: exp_avg.bias");
  expect_has(message, "exp_avg_sq.bias is float32 [4] and should be [3]");
  expect_has(message, "1 unexpected: momentum_buffer.bias");
  EXPECT_EQ(optimizer.state().at("step.weight").data<float>()[0], 3);
}

TEST_F(Optimizing, leaves_parameters_without_a_gradient_alone_and_starts_them_when_one_comes) {
  const Parameters parameters = make_parameters(), late = make_parameters();
  Optimizer optimizer(parameters, {}), fresh(late, {});
  const std::vector<float> before = numbers_of(parameters);
  const uint64_t version = parameters[1]->version();
  for (int step = 0; step < 3; ++step) {
    set_gradient(parameters[0], {1, 1, 1, 1, 1, 1});
    EXPECT_NEAR(optimizer.step(context_.execution()), std::sqrt(6.0), 1e-6);
    optimizer.clear_gradients();
    EXPECT_FALSE(parameters[0]->grad().defined());
  }
  const std::vector<float> after = numbers_of(parameters);
  EXPECT_TRUE(std::equal(after.begin() + 6, after.end(), before.begin() + 6));
  EXPECT_EQ(parameters[1]->version(), version);
  EXPECT_NE(after[0], before[0]);
  // Its first step is corrected as a first step.
  set_gradient(parameters[1], {1, 2, 3});
  set_gradient(late[1], {1, 2, 3});
  optimizer.step(context_.execution());
  fresh.step(context_.execution());
  EXPECT_TRUE(std::equal(after.begin(), after.begin() + 6, numbers_of(parameters).begin()));
  EXPECT_EQ(parameters[1]->value().data().data<float>()[0],
            late[1]->value().data().data<float>()[0]);
}

TEST_F(Optimizing, tells_a_norm_that_is_not_finite_and_changes_nothing) {
  for (const float wrong : {NAN, INFINITY, 3e38F}) {
    const Parameters parameters = make_parameters();
    Optimizer optimizer(parameters, {.grad_clip = 1});
    run(optimizer, parameters, 0, 2);
    const std::vector<float> before = numbers_of(parameters);
    const uint64_t version = parameters[0]->version();
    set_gradients(parameters, 2);
    set_gradient(parameters[1], {0, wrong, 0});
    EXPECT_FALSE(std::isfinite(optimizer.step(context_.execution())));
    EXPECT_EQ(numbers_of(parameters), before);
    EXPECT_EQ(parameters[0]->version(), version);
    EXPECT_EQ(optimizer.state().at("step.weight").data<float>()[0], 2);
  }
}

TEST_F(Optimizing, makes_new_versions_of_what_it_changes) {
  const Parameters parameters = make_parameters();
  Optimizer optimizer(parameters, {});
  const uint64_t before = parameters[0]->version();
  run(optimizer, parameters, 0, 1);
  EXPECT_NE(parameters[0]->version(), before);
}

TEST_F(Optimizing, decays_what_the_caller_names) {
  const auto shrunk = [this](const Decays& decays) {
    const Parameters parameters = make_parameters();
    Optimizer optimizer(parameters, {.learning_rate = 0.5, .weight_decay = 1}, decays);
    set_gradient(parameters[0], std::vector<float>(6, 0));
    set_gradient(parameters[1], std::vector<float>(3, 0));
    optimizer.step(context_.execution());
    const std::vector<float> before = numbers_of(make_parameters()), after = numbers_of(parameters);
    return std::pair(after[0] == before[0] / 2, after[6] == before[6] / 2);
  };
  EXPECT_EQ(shrunk(is_matrix), std::pair(true, false));
  EXPECT_EQ(shrunk([](const Parameter& parameter) { return parameter.name() == "bias"; }),
            std::pair(false, true));
}

TEST_F(Optimizing, refuses_options_out_of_range) {
  const auto refusal = [](const OptimizerOptions& options) {
    return error_of([&options] { Optimizer optimizer(make_parameters(), options); });
  };
  expect_has(refusal({.beta1 = 1}),
             "optimizer (beta1): is 1.000000, must be at least 0 and below 1");
  expect_has(refusal({.beta2 = -0.5}), "optimizer (beta2): is -0.500000, must be at least 0");
  expect_has(refusal({.momentum = NAN}), "optimizer (momentum): is nan");
  expect_has(refusal({.learning_rate = -1}), "optimizer (learning_rate): is -1.000000");
  expect_has(refusal({.epsilon = INFINITY}), "optimizer (epsilon): is inf, must be finite");
  expect_has(refusal({.weight_decay = -1}), "optimizer (weight_decay): is -1.000000");
  expect_has(refusal({.grad_clip = -1}), "optimizer (grad_clip): is -1.000000");
}

}  // namespace
}  // namespace headlight::optim
