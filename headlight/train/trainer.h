// Trainer: one step of learning after another, and the loss of the whole validation set.
#pragma once

#include <functional>
#include <limits>

#include "headlight/optim/optim.h"
#include "headlight/ranks/ranks.h"
#include "headlight/train/shards.h"
#include "headlight/train/task.h"

namespace headlight::train {

struct TrainerOptions {
  optim::OptimizerOptions optimizer = {};
  optim::ScheduleOptions schedule = {};
  int64_t accumulation = 1;   // batches of a step; their gradients are averaged
  float label_smoothing = 0;  // in training only
  uint64_t seed = 0;          // of dropout
  // Runs into which a step's sequences are cut, a power of two; their gradients are computed one by
  // one and added in a fixed tree. 1: each batch as a whole.
  int64_t shards = 1;
};

struct StepResult {
  int64_t step = 0;  // its number, from 1
  double loss = 0;   // mean over the step's batches
  double learning_rate = 0;
  double gradient_norm = 0;  // before clipping
  int64_t tokens = 0;        // read by the model
  double seconds = 0;
  double waiting_seconds = 0;  // of these, for other ranks and what they send
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

// Uses model, task, threads and group, which outlive it; one thread uses it at a time. The ranks of
// a group train one model: each computes the gradients of an aligned run of shards and changes a
// part of the weights. All call the same functions in the same order, and all have the same weights
// and the same progress, which depend on the number of shards and not on that of ranks.
class Trainer {
 public:
  // The group has at most as many ranks as there are shards. Null: this process is alone.
  Trainer(base::ThreadPool& threads, models::Model& model, Task& task,
          const TrainerOptions& options, ranks::Group* group = nullptr);

  // Reads the next batches, goes backwards, changes the weights. Throws Error(failed) when the loss
  // or the gradients are not finite; weights and progress are then as they were.
  StepResult step();
  // How many seconds a step will take: the work of the next one is done, without its change and
  // without other ranks.
  double rehearse();
  // Mean loss per target of the validation set; takes note of the best. `progress` is told before
  // each batch; what it throws ends it, and nothing is noted. Throws as step() does.
  double evaluate(const std::function<void(double share)>& progress = {});

  const Progress& progress() const noexcept { return progress_; }
  void set_progress(const Progress& progress) { progress_ = progress; }
  optim::Optimizer& optimizer() noexcept { return optimizer_; }
  ranks::Group& group() noexcept { return group_; }
  // How the numbers of all parameters, one after the other, are shared among ranks.
  const ranks::Shares& shares() const noexcept { return shares_; }
  models::Model& model() noexcept { return model_; }
  // Of activations and scratch.
  const tensor::Arena& arena() const noexcept { return arena_; }

 private:
  ShardedStep next_step();
  double learn(const ShardedStep& step, const Slice& slice);
  double learn_shard(const ShardedStep& step, int64_t shard);
  std::vector<double> learn_own_shards(const ShardedStep& step);
  void share_gradients(const ShardedStep& step);
  double change_weights(double learning_rate);
  std::vector<double> shared_square_sums();

  base::ThreadPool& threads_;
  models::Model& model_;
  Task& task_;
  TrainerOptions options_;
  tensor::Arena arena_;
  ranks::Group alone_;
  ranks::Group& group_;
  nn::Parameters parameters_;
  ranks::Shares shares_;
  optim::Optimizer optimizer_;
  Progress progress_;
};

// Mean loss per target over all validation batches of a task, which ranks take in turn. `progress`
// is told the share that is done, from 0 to 1.
double validation_loss(base::ThreadPool& threads, tensor::Arena& arena, const models::Model& model,
                       const Task& task, const std::function<void(double share)>& progress = {},
                       ranks::Group* group = nullptr);

}  // namespace headlight::train
