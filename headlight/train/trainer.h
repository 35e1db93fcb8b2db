// Trainer: one step of learning after another, and the loss of the whole validation set.
#pragma once

#include <functional>
#include <limits>

#include "headlight/optim/optim.h"
#include "headlight/train/task.h"

namespace headlight::train {

struct TrainerOptions {
  optim::OptimizerOptions optimizer = {};
  optim::ScheduleOptions schedule = {};
  int64_t accumulation = 1;   // batches of a step; their gradients are averaged
  float label_smoothing = 0;  // in training only
  uint64_t seed = 0;          // of dropout
};

struct StepResult {
  int64_t step = 0;  // its number, from 1
  double loss = 0;   // mean over the step's batches
  double learning_rate = 0;
  double gradient_norm = 0;  // before clipping
  int64_t tokens = 0;        // read by the model
  double seconds = 0;
};

// Where a run stands, with the weights and the optimizer's state all that a checkpoint needs.
struct Progress {
  int64_t step = 0;                                             // steps done
  int64_t evaluated_step = 0;                                   // the last one
  double valid_loss = std::numeric_limits<double>::infinity();  // of the validation set then
  double best_loss = std::numeric_limits<double>::infinity();
  int64_t best_step = 0;
  int64_t evaluations_since_best = 0;
};

// Uses model, task and threads, which outlive it; one thread uses it at a time.
class Trainer {
 public:
  Trainer(base::ThreadPool& threads, models::Model& model, Task& task,
          const TrainerOptions& options);

  // Reads the next batches, goes backwards, changes the weights. Throws Error(failed) when the loss
  // or the gradients are not finite; weights and progress are then as they were.
  StepResult step();
  // How many seconds a step will take: the next batch's work is done, without its change.
  double rehearse();
  // Mean loss per target of the validation set; takes note of the best. `progress` is told before
  // each batch; what it throws ends it, and nothing is noted. Throws as step() does.
  double evaluate(const std::function<void(double share)>& progress = {});

  const Progress& progress() const noexcept { return progress_; }
  void set_progress(const Progress& progress) { progress_ = progress; }
  optim::Optimizer& optimizer() noexcept { return optimizer_; }
  models::Model& model() noexcept { return model_; }
  // Of activations and scratch.
  const tensor::Arena& arena() const noexcept { return arena_; }

 private:
  struct Learned {
    double loss = 0;
    int64_t tokens = 0;
  };
  Learned learn(int64_t number);

  base::ThreadPool& threads_;
  models::Model& model_;
  Task& task_;
  TrainerOptions options_;
  tensor::Arena arena_;
  optim::Optimizer optimizer_;
  Progress progress_;
};

// Mean loss per target over all validation batches of a task. `progress` is told the share that is
// done, from 0 to 1.
double validation_loss(base::ThreadPool& threads, tensor::Arena& arena, const models::Model& model,
                       const Task& task, const std::function<void(double share)>& progress = {});

}  // namespace headlight::train
