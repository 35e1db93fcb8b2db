// Gradients of a step, the change they make, and validation.
#include "headlight/train/trainer.h"

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
                 const TrainerOptions& options)
    : threads_(threads),
      model_(model),
      task_(task),
      options_(options),
      optimizer_(model.parameters(), options.optimizer) {}

// Adds the share that batch `number` of the run has in its step's gradients to the parameters'.
Trainer::Learned Trainer::learn(int64_t number) {
  const auto share = 1.0F / static_cast<float>(options_.accumulation);
  const models::Batch batch = task_.batch(number);
  autograd::Tape tape;
  autograd::Context context{.threads = threads_,
                            .arena = arena_,
                            .tape = &tape,
                            .random = {options_.seed, static_cast<uint64_t>(number)},
                            .training = true};
  const autograd::Value mean = model_.loss(context, batch, options_.label_smoothing);
  tape.backward(context, mean, tensor::Tensor::of(mean.shape(), {share}));
  return {static_cast<double>(mean.item()), tokens_read(batch)};
}

StepResult Trainer::step() {
  const auto start = std::chrono::steady_clock::now();
  StepResult result{.step = progress_.step + 1,
                    .learning_rate = optim::learning_rate_at(options_.schedule, progress_.step)};
  for (int64_t part = 0; part < options_.accumulation; ++part) {
    const Learned learned = learn(progress_.step * options_.accumulation + part);
    result.loss += learned.loss / static_cast<double>(options_.accumulation);
    result.tokens += learned.tokens;
  }
  if (!std::isfinite(result.loss)) {
    optimizer_.clear_gradients();
    refuse(result.step, "the loss", result.loss);
  }
  result.gradient_norm = optimizer_.step({threads_, arena_}, result.learning_rate);
  optimizer_.clear_gradients();
  if (!std::isfinite(result.gradient_norm))
    refuse(result.step, "the norm of the gradients", result.gradient_norm);
  ++progress_.step;
  result.seconds = seconds_since(start);
  return result;
}

double Trainer::rehearse() {
  constexpr double kLong = 10;  // the first time, memory is taken from the system
  double seconds = 0;
  for (int attempt = 0; attempt < 2 && seconds < kLong; ++attempt) {
    const auto start = std::chrono::steady_clock::now();
    learn(progress_.step * options_.accumulation);
    seconds = seconds_since(start);
    optimizer_.clear_gradients();
  }
  return seconds * static_cast<double>(options_.accumulation);
}

double Trainer::evaluate(const std::function<void(double share)>& progress) {
  const double loss = validation_loss(threads_, arena_, model_, task_, progress);
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
                       const Task& task, const std::function<void(double share)>& progress) {
  double sum = 0;
  int64_t count = 0;
  const int64_t batches = task.validation_batches();
  for (int64_t index = 0; index < batches; ++index) {
    if (progress) progress(static_cast<double>(index) / static_cast<double>(batches));
    const models::Batch batch = task.validation_batch(index);
    autograd::Context context{.threads = threads, .arena = arena};
    const int64_t targets = counted_targets(batch);
    const autograd::Value mean = model.loss(context, batch);
    sum += static_cast<double>(mean.item()) * static_cast<double>(targets);
    count += targets;
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

}  // namespace headlight::train
