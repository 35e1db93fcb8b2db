// The kinds of tasks.
#include "headlight/train/task.h"

#include <algorithm>
#include <functional>

namespace headlight::train {
namespace {

// Tokens of a validation batch: enough to keep all cores busy, few enough to need less memory than
// training.
constexpr int64_t kValidationTokens = 4096;

models::Batch lm_batch(data::LmBatch batch) {
  return {.ids = std::move(batch.ids), .targets = std::move(batch.targets)};
}

// What a task validates on.
class Validation {
 public:
  virtual ~Validation() = default;
  virtual int64_t batches() const = 0;
  virtual models::Batch batch(int64_t index) const = 0;
};

class LmValidation : public Validation {
 public:
  explicit LmValidation(data::ValidationWindows windows)
      : windows_(std::move(windows)),
        rows_(std::max<int64_t>(1, kValidationTokens / windows_.batch(0, 1).ids.size(1))) {}

  int64_t batches() const override { return (windows_.window_count() + rows_ - 1) / rows_; }
  models::Batch batch(int64_t index) const override {
    return lm_batch(windows_.batch(index * rows_, rows_));
  }

 private:
  data::ValidationWindows windows_;
  int64_t rows_;
};

models::Batch masked_batch(data::MaskedBatch batch) {
  return {.ids = std::move(batch.ids),
          .lens = std::move(batch.lens),
          .targets = std::move(batch.targets)};
}

class MaskedValidation : public Validation {
 public:
  explicit MaskedValidation(data::MaskedValidationWindows windows)
      : windows_(std::move(windows)),
        rows_(std::max<int64_t>(1, kValidationTokens / windows_.window_length())) {}

  int64_t batches() const override { return (windows_.window_count() + rows_ - 1) / rows_; }
  models::Batch batch(int64_t index) const override {
    return masked_batch(windows_.batch(index * rows_, rows_));
  }

 private:
  data::MaskedValidationWindows windows_;
  int64_t rows_;
};

// Pairs in batches of similar length.
class PairValidation : public Validation {
 public:
  PairValidation(data::PairSet pairs, const data::SequenceIds& ids)
      : pairs_(std::move(pairs)),
        batches_(data::sorted_batches(pairs_, kValidationTokens)),
        ids_(ids) {}

  int64_t batches() const override { return static_cast<int64_t>(batches_.size()); }
  models::Batch batch(int64_t index) const override {
    return model_batch(data::make_batch(pairs_, batches_[static_cast<size_t>(index)], ids_));
  }

 private:
  data::PairSet pairs_;
  std::vector<data::PairIndices> batches_;
  data::SequenceIds ids_;
};

// A function that gives batches, and what is validated on.
class ComposedTask : public Task {
 public:
  using Batches = std::function<models::Batch(int64_t number)>;
  ComposedTask(Batches training, std::unique_ptr<Validation> validation)
      : training_(std::move(training)), validation_(std::move(validation)) {}

  models::Batch batch(int64_t number) override { return training_(number); }
  int64_t validation_batches() const override { return validation_->batches(); }
  models::Batch validation_batch(int64_t index) const override { return validation_->batch(index); }

 private:
  Batches training_;
  std::unique_ptr<Validation> validation_;
};

data::PairSet held_out_pairs(const data::GeneratedTask& task, int64_t count) {
  data::PairSet all(task.tokenizer().size(), task.tokenizer().size());
  for (const data::TaskCases& cases : task.held_out(count)) {
    for (int64_t i = 0; i < cases.pairs.size(); ++i)
      all.append(cases.pairs.source(i), cases.pairs.target(i));
  }
  return all;
}

models::Batch nothing_to_train_on(int64_t) { return {}; }

int64_t sum_or_all(const tensor::Tensor& lens, const tensor::Tensor& ids) {
  if (!ids.defined()) return 0;
  if (!lens.defined()) return ids.elements();
  int64_t sum = 0;
  for (int64_t b = 0; b < lens.elements(); ++b) sum += lens.data<int64_t>()[b];
  return sum;
}

}  // namespace

std::unique_ptr<Task> lm_task(data::TrainingWindows training, data::ValidationWindows validation,
                              int64_t rows, uint64_t seed) {
  return std::make_unique<ComposedTask>(
      [training = std::move(training), rows, seed](int64_t number) {
        return lm_batch(training.batch(seed, static_cast<uint64_t>(number), rows));
      },
      std::make_unique<LmValidation>(std::move(validation)));
}

std::unique_ptr<Task> mlm_task(data::MaskedTrainingWindows training,
                               data::MaskedValidationWindows validation, int64_t rows,
                               uint64_t seed) {
  return std::make_unique<ComposedTask>(
      [training = std::move(training), rows, seed](int64_t number) {
        return masked_batch(training.batch(seed, static_cast<uint64_t>(number), rows));
      },
      std::make_unique<MaskedValidation>(std::move(validation)));
}

std::unique_ptr<Task> pair_task(data::PairBatches training, data::PairSet validation,
                                const data::SequenceIds& ids) {
  return std::make_unique<ComposedTask>(
      [training = std::move(training)](int64_t number) mutable {
        return model_batch(training.batch(number));
      },
      std::make_unique<PairValidation>(std::move(validation), ids));
}

std::unique_ptr<Task> generated_task(const data::GeneratedTask& task, int64_t rows, uint64_t seed,
                                     int64_t held_out_cases) {
  return std::make_unique<ComposedTask>(
      [&task, rows, seed](int64_t number) {
        return model_batch(task.batch(seed, static_cast<uint64_t>(number), rows));
      },
      std::make_unique<PairValidation>(held_out_pairs(task, held_out_cases), task.ids()));
}

std::unique_ptr<Task> validation_task(data::ValidationWindows windows) {
  return std::make_unique<ComposedTask>(nothing_to_train_on,
                                        std::make_unique<LmValidation>(std::move(windows)));
}

std::unique_ptr<Task> validation_task(data::MaskedValidationWindows windows) {
  return std::make_unique<ComposedTask>(nothing_to_train_on,
                                        std::make_unique<MaskedValidation>(std::move(windows)));
}

std::unique_ptr<Task> validation_task(data::PairSet pairs, const data::SequenceIds& ids) {
  return std::make_unique<ComposedTask>(nothing_to_train_on,
                                        std::make_unique<PairValidation>(std::move(pairs), ids));
}

int64_t counted_targets(const models::Batch& batch) {
  const int64_t* targets = batch.targets.data<int64_t>();
  return std::count_if(targets, targets + batch.targets.elements(),
                       [](int64_t target) { return target != -1; });
}

int64_t tokens_read(const models::Batch& batch) {
  return sum_or_all(batch.lens, batch.ids) + sum_or_all(batch.source_lens, batch.source_ids);
}

models::Batch model_batch(data::PairBatch batch) {
  return {.ids = std::move(batch.input_ids),
          .lens = std::move(batch.target_lens),
          .source_ids = std::move(batch.source_ids),
          .source_lens = std::move(batch.source_lens),
          .targets = std::move(batch.targets)};
}

}  // namespace headlight::train
