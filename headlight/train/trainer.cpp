// Gradients of a step, the change they make, and validation.
#include "headlight/train/trainer.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

namespace headlight::train {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

[[noreturn]] void refuse(int64_t step, const std::string& what, double value) {
  throw base::Error(base::ErrorKind::failed, "train", "step " + std::to_string(step),
                    "diverged: " + what + " is " +
                        (std::isnan(value) ? "not a number" : "infinite") +
                        "; a lower learning_rate, a longer warm-up or grad_clip may help");
}

}  // namespace

Trainer::Trainer(base::ThreadPool& threads, models::Model& model, Task& task,
                 const TrainerOptions& options, ranks::Group* group)
    : threads_(threads),
      model_(model),
      task_(task),
      options_(options),
      group_(group == nullptr ? alone_ : *group),
      parameters_(model.parameters()),
      shares_(optim::part_ends(parameters_), group_.count()),
      optimizer_(parameters_, options.optimizer, optim::is_matrix,
                 {shares_.of(group_.rank()).first, shares_.of(group_.rank()).end}) {}

ShardedStep Trainer::next_step() {
  const int64_t first = progress_.step * options_.accumulation;
  return {[this, first](size_t index) { return task_.batch(first + static_cast<int64_t>(index)); },
          static_cast<size_t>(options_.accumulation), options_.shards};
}

// Adds the share that a slice has in the step's gradients to the parameters'; returns the share
// that it has in the step's loss.
double Trainer::learn(const ShardedStep& step, const Slice& slice) {
  const auto number = static_cast<uint64_t>(progress_.step * options_.accumulation) + slice.batch;
  const double weight = step.weight(slice);
  autograd::Tape tape;
  autograd::Context context{
      .threads = threads_,
      .arena = arena_,
      .tape = &tape,
      .random = {.seed = options_.seed, .step = number, .first_sequence = slice.first},
      .training = true};
  const autograd::Value mean = model_.loss(context, step.part(slice), options_.label_smoothing);
  tape.backward(context, mean, tensor::Tensor::of(mean.shape(), {static_cast<float>(weight)}));
  return static_cast<double>(mean.item()) * weight;
}

double Trainer::learn_shard(const ShardedStep& step, int64_t shard) {
  double loss = 0;
  for (const Slice& slice : step.slices(shard)) loss += learn(step, slice);
  return loss;
}

// Of this rank. Their gradients, added up, are then the parameters'; the losses are returned.
std::vector<double> Trainer::learn_own_shards(const ShardedStep& step) {
  const int64_t count = options_.shards / group_.count(), first = count * group_.rank();
  if (count == 1) return {learn_shard(step, first)};
  std::vector<double> losses;
  GradientTree tree({threads_, arena_});
  for (int64_t shard = first; shard < first + count; ++shard) {
    losses.push_back(learn_shard(step, shard));
    GradientSet gradients;
    for (const nn::ParameterHandle& parameter : parameters_) gradients.push_back(parameter->grad());
    optimizer_.clear_gradients();
    tree.add(std::move(gradients), step.slices(shard).empty());
  }
  GradientSet sum = tree.take();
  autograd::Context context{.threads = threads_, .arena = arena_};
  for (size_t i = 0; i < sum.size(); ++i) {
    if (sum[i].defined()) parameters_[i]->value().gradient()->take(context, std::move(sum[i]));
  }
  return losses;
}

StepResult Trainer::step() {
  const auto start = std::chrono::steady_clock::now();
  const double waited = group_.seconds_waited();
  StepResult result{.step = progress_.step + 1,
                    .learning_rate = optim::learning_rate_at(options_.schedule, progress_.step)};
  const ShardedStep step = next_step();
  for (const double loss : group_.gather(learn_own_shards(step))) result.loss += loss;
  result.tokens = step.tokens();
  if (!std::isfinite(result.loss)) {
    optimizer_.clear_gradients();
    refuse(result.step, "the loss", result.loss);
  }
  if (!group_.is_alone()) share_gradients(step);
  result.gradient_norm = change_weights(result.learning_rate);
  optimizer_.clear_gradients();
  if (!std::isfinite(result.gradient_norm))
    refuse(result.step, "the norm of the gradients", result.gradient_norm);
  ++progress_.step;
  result.seconds = seconds_since(start);
  result.waiting_seconds = group_.seconds_waited() - waited;
  return result;
}

double Trainer::rehearse() {
  constexpr double kLong = 10;  // the first time, memory is taken from the system
  double seconds = 0;
  for (int attempt = 0; attempt < 2 && seconds < kLong; ++attempt) {
    const auto start = std::chrono::steady_clock::now();
    const ShardedStep step = next_step();
    if (options_.shards > 1) {
      learn_own_shards(step);
    } else {
      learn(step, step.slices(0).front());  // the other batches will take as long
    }
    seconds = seconds_since(start);
    optimizer_.clear_gradients();
  }
  if (options_.shards == 1) seconds *= static_cast<double>(options_.accumulation);
  const std::vector<double> all = group_.gather(std::span(&seconds, 1));
  return *std::ranges::max_element(all);
}

double Trainer::evaluate(const std::function<void(double share)>& progress) {
  const double loss = validation_loss(threads_, arena_, model_, task_, progress, &group_);
  if (!std::isfinite(loss)) refuse(progress_.step, "the validation loss", loss);
  progress_.evaluated_step = progress_.step;
  progress_.valid_loss = loss;
  if (loss < progress_.best_loss) {
    progress_.best_loss = loss;
    progress_.best_step = progress_.step;
    progress_.evaluations_since_best = 0;
  } else {
    ++progress_.evaluations_since_best;
  }
  return loss;
}

double validation_loss(base::ThreadPool& threads, tensor::Arena& arena, const models::Model& model,
                       const Task& task, const std::function<void(double share)>& progress,
                       ranks::Group* group) {
  ranks::Group alone;
  ranks::Group& ranks = group == nullptr ? alone : *group;
  double sum = 0;
  double count = 0;
  const int64_t batches = task.validation_batches();
  for (int64_t first = 0; first < batches; first += ranks.count()) {
    if (progress) progress(static_cast<double>(first) / static_cast<double>(batches));
    std::array<double, 2> mine{};  // sum and count of targets
    if (const int64_t index = first + ranks.rank(); index < batches) {
      const models::Batch batch = task.validation_batch(index);
      autograd::Context context{.threads = threads, .arena = arena};
      const auto targets = static_cast<double>(counted_targets(batch));
      mine = {static_cast<double>(model.loss(context, batch).item()) * targets, targets};
    }
    const std::vector<double> all = ranks.gather(mine);
    for (size_t i = 0; i < all.size(); i += 2) {
      sum += all[i];
      count += all[i + 1];
    }
  }
  return count == 0 ? 0 : sum / count;
}

}  // namespace headlight::train
