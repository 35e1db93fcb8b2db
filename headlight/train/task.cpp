// The three kinds of tasks.
#include "headlight/train/task.h"

#include <algorithm>

namespace headlight::train {
namespace {

// Tokens of a validation batch: enough to keep all cores busy, few enough to need less memory than
// training.
constexpr int64_t kValidationTokens = 4096;

class LmTask : public Task {
 public:
  LmTask(data::TrainingWindows training, data::ValidationWindows validation, int64_t rows,
         uint64_t seed)
      : training_(std::move(training)),
        validation_(std::move(validation)),
        rows_(rows),
        validation_rows_(
            std::max<int64_t>(1, kValidationTokens / validation_.batch(0, 1).ids.size(1))),
        seed_(seed) {}

  models::Batch batch(int64_t number) override {
    return of(training_.batch(seed_, static_cast<uint64_t>(number), rows_));
  }
  int64_t validation_batches() const override {
    return (validation_.window_count() + validation_rows_ - 1) / validation_rows_;
  }
  models::Batch validation_batch(int64_t index) const override {
    return of(validation_.batch(index * validation_rows_, validation_rows_));
  }

 private:
  static models::Batch of(data::LmBatch batch) {
    return {.ids = std::move(batch.ids), .targets = std::move(batch.targets)};
  }

  data::TrainingWindows training_;
  data::ValidationWindows validation_;
  int64_t rows_;
  int64_t validation_rows_;
  uint64_t seed_;
};

// The validation set of pairs, in batches of similar length.
class PairValidation {
 public:
  PairValidation(data::PairSet pairs, const data::SequenceIds& ids)
      : pairs_(std::move(pairs)),
        batches_(data::sorted_batches(pairs_, kValidationTokens)),
        ids_(ids) {}

  int64_t batches() const { return static_cast<int64_t>(batches_.size()); }
  models::Batch batch(int64_t index) const {
    return model_batch(data::make_batch(pairs_, batches_[static_cast<size_t>(index)], ids_));
  }

 private:
  data::PairSet pairs_;
  std::vector<data::PairIndices> batches_;
  data::SequenceIds ids_;
};

class PairTask : public Task {
 public:
  PairTask(data::PairBatches training, data::PairSet validation, const data::SequenceIds& ids)
      : training_(std::move(training)), validation_(std::move(validation), ids) {}

  models::Batch batch(int64_t number) override { return model_batch(training_.batch(number)); }
  int64_t validation_batches() const override { return validation_.batches(); }
  models::Batch validation_batch(int64_t index) const override { return validation_.batch(index); }

 private:
  data::PairBatches training_;
  PairValidation validation_;
};

class GeneratedPairs : public Task {
 public:
  GeneratedPairs(const data::GeneratedTask& task, int64_t rows, uint64_t seed, int64_t held_out)
      : task_(task), rows_(rows), seed_(seed), validation_(all_of(task, held_out), task.ids()) {}

  models::Batch batch(int64_t number) override {
    return model_batch(task_.batch(seed_, static_cast<uint64_t>(number), rows_));
  }
  int64_t validation_batches() const override { return validation_.batches(); }
  models::Batch validation_batch(int64_t index) const override { return validation_.batch(index); }

 private:
  static data::PairSet all_of(const data::GeneratedTask& task, int64_t count) {
    data::PairSet all(task.tokenizer().size(), task.tokenizer().size());
    for (const data::HeldOutCases& cases : task.held_out(count)) {
      for (int64_t i = 0; i < cases.pairs.size(); ++i)
        all.append(cases.pairs.source(i), cases.pairs.target(i));
    }
    return all;
  }

  const data::GeneratedTask& task_;
  int64_t rows_;
  uint64_t seed_;
  PairValidation validation_;
};

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
  return std::make_unique<LmTask>(std::move(training), std::move(validation), rows, seed);
}

std::unique_ptr<Task> pair_task(data::PairBatches training, data::PairSet validation,
                                const data::PairBatchOptions& options) {
  return std::make_unique<PairTask>(std::move(training), std::move(validation), options.ids);
}

std::unique_ptr<Task> generated_task(const data::GeneratedTask& task, int64_t rows, uint64_t seed,
                                     int64_t held_out_cases) {
  return std::make_unique<GeneratedPairs>(task, rows, seed, held_out_cases);
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
