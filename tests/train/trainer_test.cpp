// Steps, losses of whole sets, divergence, memory.
#include "headlight/train/trainer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/train/support.h"

namespace headlight::train {
namespace {

std::vector<float> weights_of(const models::Model& model) {
  std::vector<float> weights;
  for (const auto& [name, tensor] : model.state())
    weights.insert(weights.end(), tensor.data<float>(), tensor.data<float>() + tensor.elements());
  return weights;
}

// Another's batches from a number on.
class Later : public Task {
 public:
  Later(Task& other, int64_t first) : other_(other), first_(first) {}
  models::Batch batch(int64_t number) override { return other_.batch(first_ + number); }
  int64_t validation_batches() const override { return other_.validation_batches(); }
  models::Batch validation_batch(int64_t index) const override {
    return other_.validation_batch(index);
  }

 private:
  Task& other_;
  int64_t first_;
};

// What one step changes, with plain gradient descent: the gradients times the rate.
std::vector<float> change_of_a_step(int64_t first_batch, int64_t accumulation) {
  SmallRun run;
  models::Seq2SeqConfig config = small_config(*run.cases);
  config.dropout = 0;
  models::Seq2Seq model(config);
  model.draw(5);
  Later task(*run.task, first_batch);
  Trainer trainer(
      run.threads, model, task,
      {.optimizer = {.kind = optim::OptimizerKind::sgd, .momentum = 0, .weight_decay = 0},
       .schedule = {.learning_rate = 0.5},
       .accumulation = accumulation});
  const std::vector<float> before = weights_of(model);
  trainer.step();
  std::vector<float> change = weights_of(model);
  for (size_t i = 0; i < change.size(); ++i) change[i] -= before[i];
  return change;
}

TEST(TrainerTest, accumulates_the_mean_gradient) {
  const std::vector<float> first = change_of_a_step(0, 1), second = change_of_a_step(1, 1);
  const std::vector<float> both = change_of_a_step(0, 2);
  double largest = 0, distance = 0;
  for (size_t i = 0; i < both.size(); ++i) {
    largest = std::max<double>(largest, std::abs(both[i]));
    distance = std::max<double>(distance, std::abs(both[i] - (first[i] + second[i]) / 2));
  }
  EXPECT_GT(largest, 1e-3);
  EXPECT_LT(distance, 1e-5 * largest + 1e-7);
}

TEST(TrainerTest, learns) {
  SmallRun run;
  const double before = run.trainer.evaluate();
  run.steps(100);
  EXPECT_LT(run.trainer.evaluate(), before - 0.3);
  EXPECT_EQ(run.trainer.progress().best_step, 100);
}

TEST(TrainerTest, gives_the_same_bits_for_any_number_of_threads) {
  std::string bits;
  for (const int threads : {1, 2, 4}) {
    SmallRun run(threads);
    run.steps(5);
    run.trainer.evaluate();
    if (bits.empty()) bits = bits_of(run.trainer);
    EXPECT_EQ(bits_of(run.trainer), bits) << threads << " threads";
  }
}

TEST(TrainerTest, rehearses_without_a_change) {
  SmallRun run, other;
  EXPECT_GT(run.trainer.rehearse(), 0);
  EXPECT_EQ(bits_of(run.trainer), bits_of(other.trainer));
  run.steps(2);
  other.steps(2);
  EXPECT_EQ(bits_of(run.trainer), bits_of(other.trainer));
}

TEST(TrainerTest, says_that_it_diverged_and_changes_nothing) {
  TrainerOptions wild = small_options();
  wild.optimizer = {.kind = optim::OptimizerKind::sgd, .momentum = 0, .weight_decay = 0};
  wild.schedule = {.learning_rate = 1e30};
  SmallRun run(1, wild);
  for (int i = 0; i < 20; ++i) {
    const std::string before = bits_of(run.trainer);
    try {
      run.trainer.step();
    } catch (const base::Error& error) {
      EXPECT_EQ(error.kind(), base::ErrorKind::failed);
      EXPECT_NE(std::string(error.what()).find("diverged: the "), std::string::npos);
      EXPECT_EQ(bits_of(run.trainer), before);
      return;
    }
  }
  FAIL() << "a learning rate of 1e30 went well";
}

TEST(TrainerTest, takes_no_more_memory_once_it_runs) {
  SmallRun run;
  run.steps(10);
  const size_t reserved = run.trainer.arena().bytes_reserved();
  EXPECT_GT(reserved, 0u);
  run.steps(10);
  EXPECT_EQ(run.trainer.arena().bytes_reserved(), reserved);
}

TEST(TrainerTest, takes_no_more_memory_between_evaluations_either) {
  SmallRun run;
  const auto round = [&run] {
    run.steps(2);
    run.trainer.evaluate();
    return run.trainer.arena().bytes_reserved();
  };
  for (int i = 0; i < 10; ++i) round();
  const size_t reserved = round();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(round(), reserved);
}

double loss_of(SmallRun& run, const models::Batch& batch) {
  tensor::Arena arena;
  autograd::Context context{.threads = run.threads, .arena = arena};
  return static_cast<double>(run.model.loss(context, batch).item());
}

TEST(ValidationLoss, weighs_every_target_the_same) {
  SmallRun run;
  const data::SequenceIds ids = run.cases->ids();
  data::PairSet pairs(run.cases->tokenizer().size(), run.cases->tokenizer().size());
  const std::vector<std::vector<int64_t>> targets = {{3}, {4, 5, 6, 7}, {8, 9, 3, 4, 5, 6, 7, 8}};
  double sum = 0, count = 0;
  for (const auto& target : targets) {
    data::PairSet one(run.cases->tokenizer().size(), run.cases->tokenizer().size());
    one.append(std::vector<int64_t>{3, 4, 5}, target);
    pairs.append(std::vector<int64_t>{3, 4, 5}, target);
    const int64_t first = 0;
    const auto weight = static_cast<double>(target.size() + 1);
    sum += weight * loss_of(run, model_batch(data::make_batch(one, {&first, 1}, ids)));
    count += weight;
  }
  tensor::Arena arena;
  const auto task = validation_task(std::move(pairs), ids);
  EXPECT_NEAR(validation_loss(run.threads, arena, run.model, *task), sum / count, 1e-6);
}

}  // namespace
}  // namespace headlight::train
