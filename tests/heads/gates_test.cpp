// Hard-concrete gates: their distribution, their gradient, and what they learn.
#include <algorithm>
#include <cmath>

#include "headlight/heads/heads.h"
#include "tests/heads/repeated_tokens.h"

namespace headlight::heads {
namespace {

using models::Batch;
using models::expect_has;
using models::same_bits;
using tensor::Tensor;

Batch gate_batch(const models::Model& model, uint64_t seed, int64_t rows = 3) {
  Batch batch{.ids = models::random_ids({rows, 7}, model.vocab_size(), seed),
              .targets = models::random_ids({rows, 7}, model.vocab_size(), seed + 1)};
  if (model.capabilities().translates)
    batch.source_ids = models::random_ids({rows, 5}, model.source_vocab_size(), seed + 2);
  return batch;
}

TEST(HardConcrete, draws_are_the_stretched_and_cut_sigmoid) {
  // By hand: u = 0.5, log_alpha = 0: s = 1/2, z = 0.5 * 1.2 - 0.1.
  EXPECT_NEAR(drawn_gate(0, 0.5).value, 0.5, 1e-12);
  EXPECT_NEAR(drawn_gate(0, 0.5).slope, 1.2 * 0.25 * 1.5, 1e-12);
  EXPECT_EQ(drawn_gate(5, 0.9).value, 1);
  EXPECT_EQ(drawn_gate(5, 0.9).slope, 0);
  EXPECT_EQ(drawn_gate(-5, 0.1).value, 0);
  EXPECT_EQ(drawn_gate(-5, 0.1).slope, 0);
  const double s = 1 / (1 + std::exp(-(std::log(0.3) - std::log(0.7) + 0.4) * 1.5));
  EXPECT_NEAR(drawn_gate(0.4, 0.3).value, s * 1.2 - 0.1, 1e-12);
  for (const double noise : {1e-17, 0.2, 0.5, 0.77, 1 - 1e-16}) {
    for (const double log_alpha : {-30.0, -1.0, 0.0, 0.7, 40.0}) {
      constexpr double kStep = 1e-6;
      const GateDraw drawn = drawn_gate(log_alpha, noise);
      EXPECT_GE(drawn.value, 0);
      EXPECT_LE(drawn.value, 1);
      const double slope = (drawn_gate(log_alpha + kStep, noise).value -
                            drawn_gate(log_alpha - kStep, noise).value) /
                           (2 * kStep);
      EXPECT_NEAR(drawn.slope, slope, 1e-6) << log_alpha << " " << noise;
    }
  }
}

TEST(HardConcrete, is_open_as_often_as_its_probability_says) {
  const base::Random random(5);
  for (const double log_alpha : {-3.0, -1.0, 0.0, 2.0}) {
    constexpr int kDraws = 20000;
    int open = 0;
    for (int i = 0; i < kDraws; ++i)
      open += drawn_gate(log_alpha, random.uniform64(static_cast<uint64_t>(i))).value > 0;
    EXPECT_NEAR(static_cast<double>(open) / kDraws, open_probability(log_alpha), 0.012)
        << log_alpha;
  }
}

TEST(HardConcrete, without_noise_goes_from_closed_to_open) {
  EXPECT_EQ(gate_value(-3), 0);
  EXPECT_EQ(gate_value(3), 1);
  EXPECT_NEAR(gate_value(0), 0.5, 1e-12);
  EXPECT_NEAR(gate_value(2), 0.9570, 1e-4);
  EXPECT_NEAR(open_probability(2), 0.9734, 1e-4);
}

class Gates : public testing::Test {
 protected:
  base::ThreadPool threads_{2};
  std::vector<std::unique_ptr<models::Model>> models_ = one_of_each_kind();
};

TEST_F(Gates, have_the_gradient_of_finite_differences) {
  for (const auto& model : models_) {
    for (const uint64_t seed : {1, 2}) {
      const GateOptions options{
          .penalty = 0.3, .seed = seed, .batch = [&](int64_t) { return gate_batch(*model, seed); }};
      const size_t count = heads_of(*model).size();
      std::vector<double> log_alphas(count);
      for (size_t i = 0; i < count; ++i)
        log_alphas[i] = base::Random(seed).normal(static_cast<uint64_t>(i));
      const GateObjective at = gate_objective(threads_, *model, options, log_alphas, 4);
      ASSERT_EQ(at.slopes.size(), count);
      double largest = 0;
      for (const double slope : at.slopes) largest = std::max(largest, std::abs(slope));
      ASSERT_GT(largest, 0.02);
      for (size_t i = 0; i < count; ++i) {
        constexpr double kStep = 0.01;
        double side[2];
        for (const int s : {0, 1}) {
          std::vector<double> moved = log_alphas;
          moved[i] += s == 1 ? kStep : -kStep;
          const GateObjective there = gate_objective(threads_, *model, options, moved, 4);
          side[s] = there.loss + there.penalty;
        }
        EXPECT_NEAR(at.slopes[i], (side[1] - side[0]) / (2 * kStep), 0.02 * largest)
            << model->type() << " head " << i << " seed " << seed;
      }
    }
  }
}

TEST_F(Gates, draw_other_noise_for_every_step_example_and_head) {
  models::Model& model = *models_[0];
  const std::vector<double> log_alphas(heads_of(model).size(), 0.0);
  const auto loss = [&](uint64_t seed, int64_t step) {
    const GateOptions options{.seed = seed, .batch = [&](int64_t) { return gate_batch(model, 9); }};
    return gate_objective(threads_, model, options, log_alphas, step).loss;
  };
  EXPECT_EQ(loss(1, 1), loss(1, 1));
  EXPECT_NE(loss(1, 1), loss(1, 2));
  EXPECT_NE(loss(1, 1), loss(2, 1));
}

TEST_F(Gates, are_the_same_bits_for_any_threads_and_others_for_another_seed) {
  for (const auto& model : models_) {
    std::vector<GatesResult> results;
    for (const auto& [threads, seed] : {std::pair{1, 7}, {2, 7}, {2, 8}}) {
      base::ThreadPool pool(threads);
      results.push_back(train_gates(pool, *model,
                                    {.penalty = 0.05,
                                     .steps = 12,
                                     .seed = static_cast<uint64_t>(seed),
                                     .batch = [&](int64_t step) {
                                       return gate_batch(*model, 20 + static_cast<uint64_t>(step));
                                     }}));
    }
    bool differs = false;
    for (size_t i = 0; i < results[0].heads.size(); ++i) {
      EXPECT_EQ(results[0].heads[i].log_alpha, results[1].heads[i].log_alpha);
      differs |= results[0].heads[i].log_alpha != results[2].heads[i].log_alpha;
    }
    EXPECT_TRUE(differs);
  }
}

TEST_F(Gates, close_on_heads_that_add_nothing_and_stay_open_on_those_that_answer) {
  const auto model = induction_circuit();
  const Tensor before = parameter_of(*model, "decoder.0.self.q.weight").value().data();
  const std::vector<float> numbers(before.data<float>(), before.data<float>() + before.elements());
  std::vector<GateStep> steps;
  const GatesResult result = train_gates(
      threads_, *model,
      {.penalty = 0.02,
       .steps = 120,
       .batch = [](int64_t step) { return repeated_batch(static_cast<uint64_t>(step)); },
       .step_done = [&](const GateStep& step) { steps.push_back(step); }});
  const std::vector<HeadName> closed = {{"decoder.0.self", 1}, {"decoder.1.self", 1}};
  EXPECT_EQ(result.closed(), closed);
  double sum = 0;
  for (const HeadGate& gate : result.heads) {
    sum += gate.probability;
    EXPECT_EQ(gate.open, gate.log_alpha >= 0);
    EXPECT_EQ(gate.value, gate_value(gate.log_alpha));
  }
  EXPECT_NEAR(result.expected_open, sum, 1e-9);
  EXPECT_LT(result.expected_open, 3);
  ASSERT_EQ(steps.size(), 120u);
  EXPECT_NEAR(steps.front().expected_open, 4 * open_probability(2), 1e-6);
  EXPECT_EQ(steps.back().step, 120);
  // The model is what it was.
  const Tensor after = parameter_of(*model, "decoder.0.self.q.weight").value().data();
  EXPECT_TRUE(std::equal(numbers.begin(), numbers.end(), after.data<float>()));
  for (const nn::MultiHeadAttention* attention : model->attentions())
    EXPECT_FALSE(attention->gates().defined());
  for (const nn::ParameterHandle& parameter : model->parameters()) {
    EXPECT_FALSE(parameter->frozen());
    EXPECT_FALSE(parameter->grad().defined());
  }
}

TEST_F(Gates, leave_out_heads_that_are_closed_already) {
  const auto model = induction_circuit();
  nn::MultiHeadAttention& second = *model->attentions()[1];
  second.set_gates(nn::Value::leaf(Tensor::of({2}, std::vector<float>{1, 0})));
  const GatesResult result = train_gates(
      threads_, *model, {.steps = 3, .batch = [](int64_t) { return repeated_batch(1); }});
  ASSERT_EQ(result.heads.size(), 3u);
  EXPECT_EQ(result.heads.back().head.text(), "decoder.1.self.0");
  EXPECT_EQ(second.gates().data().data<float>()[1], 0) << "they are put back";
}

TEST_F(Gates, train_the_weights_too_where_that_is_asked_for) {
  models::Model& model = *models_[2];
  const auto numbers_of = [&] {
    std::vector<float> all;
    for (const nn::ParameterHandle& parameter : model.parameters()) {
      const Tensor& one = parameter->value().data();
      all.insert(all.end(), one.data<float>(), one.data<float>() + one.elements());
    }
    return all;
  };
  GateOptions options{.steps = 30, .batch = [&](int64_t) { return gate_batch(model, 5); }};
  std::vector<double> losses;
  options.step_done = [&](const GateStep& step) { losses.push_back(step.loss); };
  const std::vector<float> before = numbers_of();
  EXPECT_FALSE(train_gates(threads_, model, options).trained_weights);
  EXPECT_EQ(before, numbers_of());
  options.trains_weights = true;
  options.weight_learning_rate = 1e-2;
  losses.clear();
  EXPECT_TRUE(train_gates(threads_, model, options).trained_weights);
  EXPECT_NE(before, numbers_of());
  EXPECT_LT(losses.back(), losses.front() - 0.3);
}

TEST_F(Gates, stop_when_they_are_told_to) {
  models::Model& model = *models_[0];
  int asked = 0;
  const GatesResult result = train_gates(threads_, model,
                                         {.steps = 50,
                                          .batch = [&](int64_t) { return gate_batch(model, 5); },
                                          .watch = {.interrupted = [&] { return ++asked > 3; }}});
  EXPECT_TRUE(result.interrupted);
  EXPECT_TRUE(result.heads.empty());
  EXPECT_FALSE(model.attentions()[0]->gates().defined());
}

// Numbers that later steps do not change.
nn::StateDict copies_of(const nn::StateDict& tensors) {
  nn::StateDict copies;
  for (const auto& [name, tensor] : tensors) {
    const float* numbers = tensor.data<float>();
    copies[name] = Tensor::of(tensor.shape(), std::vector(numbers, numbers + tensor.elements()));
  }
  return copies;
}

GateState copy_of(const GateState& state) { return {state.step, copies_of(state.tensors)}; }

TEST_F(Gates, go_on_from_any_step_to_the_same_bits) {
  for (const auto& each : models_) {
    models::Model& model = *each;
    const nn::StateDict weights = copies_of(nn::save_state(model.parameters()));
    for (const bool trains_weights : {false, true}) {
      std::vector<GateState> states;
      GateOptions options{
          .steps = 9,
          .trains_weights = trains_weights,
          .batch = [&](int64_t step) { return gate_batch(model, static_cast<uint64_t>(step)); },
          .standing = [&](const GateState& state) { states.push_back(copy_of(state)); }};
      nn::load_state(model.parameters(), copies_of(weights));
      const std::string whole = io::json_text(gates_json(train_gates(threads_, model, options)));
      const nn::StateDict learned = copies_of(nn::save_state(model.parameters()));
      ASSERT_EQ(states.size(), 9U);
      options.standing = {};
      for (const size_t step : {size_t{1}, size_t{5}, size_t{9}}) {
        nn::load_state(model.parameters(), copies_of(weights));
        options.begun = std::make_shared<GateState>(copy_of(states[step - 1]));
        EXPECT_EQ(io::json_text(gates_json(train_gates(threads_, model, options))), whole) << step;
        for (const auto& [name, tensor] : nn::save_state(model.parameters()))
          EXPECT_TRUE(same_bits(tensor, learned.at(name))) << name;
      }
    }
  }
}

TEST_F(Gates, refuse_a_state_of_another_training) {
  models::Model& model = *models_[0];
  GateState last;
  GateOptions options{.steps = 2,
                      .batch = [&](int64_t) { return gate_batch(model, 5); },
                      .standing = [&](const GateState& state) { last = copy_of(state); }};
  train_gates(threads_, model, options);
  const auto error = [&](GateState begun, bool trains_weights = false) {
    options.begun = std::make_shared<GateState>(std::move(begun));
    options.trains_weights = trains_weights;
    return models::error_of([&] { train_gates(threads_, model, options); });
  };
  GateState later = copy_of(last);
  later.step = 3;
  expect_has(error(later), "step 3");
  GateState more = copy_of(last);
  more.tensors["model.x"] = Tensor::of({1}, std::vector<float>{1});
  expect_has(error(more), "model.x");
  GateState fewer = copy_of(last);
  fewer.tensors.erase(fewer.tensors.begin());
  expect_has(error(fewer), "decoder.0.self");
  EXPECT_FALSE(error(copy_of(last), true).empty()) << "there are no weights in it";
}

TEST_F(Gates, refuse_numbers_that_cannot_be) {
  models::Model& model = *models_[0];
  const auto error = [&](GateOptions options) {
    options.batch = [&](int64_t) { return gate_batch(model, 5); };
    return models::error_of([&] { train_gates(threads_, model, options); });
  };
  expect_has(error({.penalty = -1}), "penalty");
  expect_has(error({.penalty = std::nan("")}), "penalty");
  expect_has(error({.steps = 0}), "steps");
  expect_has(error({.learning_rate = 0}), "learning rate");
  models::BertConfig config = models::small_bert();
  config.masked_words = false;
  models::Bert silent(config);
  models::fill(silent, 1);
  expect_has(models::error_of([&] { train_gates(threads_, silent, {}); }), "predicts nothing");
}

TEST_F(Gates, are_told_as_json) {
  const GatesResult result{
      .heads = {{.head = {"decoder.0.self", 0}, .log_alpha = 2, .probability = 0.875, .value = 1},
                {.head = {"decoder.0.self", 2},
                 .log_alpha = -3,
                 .probability = 0.125,
                 .value = 0,
                 .open = false}},
      .expected_open = 1.5,
      .penalty = 0.25,
      .steps = 7,
      .trained_weights = true};
  EXPECT_EQ(io::json_text(gates_json(result)),
            R"({"penalty":0.25,"steps":7,"trained_weights":true,"expected_open":1.5,"open":1,)"
            R"("heads":[{"head":"decoder.0.self.0","log_alpha":2.0,"probability":0.875,)"
            R"("value":1.0,"open":true},{"head":"decoder.0.self.2","log_alpha":-3.0,)"
            R"("probability":0.125,"value":0.0,"open":false}]})");
}

TEST_F(Gates, are_expected_to_be_open_as_their_probabilities_add_up) {
  models::Model& model = *models_[0];
  const GatesResult result = train_gates(
      threads_, model, {.steps = 2, .batch = [&](int64_t) { return gate_batch(model, 5); }});
  ASSERT_EQ(result.heads.size(), heads_of(model).size());
  double sum = 0;
  for (const HeadGate& gate : result.heads) sum += gate.probability;
  EXPECT_NEAR(result.expected_open, sum, 1e-9);
  EXPECT_TRUE(result.closed().empty()) << "two steps close nothing";
}

}  // namespace
}  // namespace headlight::heads
