// Task: where batches come from, for training and for validation.
#pragma once

#include <memory>

#include "headlight/data/data.h"
#include "headlight/models/models.h"

namespace headlight::train {

class Task {
 public:
  virtual ~Task() = default;

  // Batch `number` of all that training takes, from 0; it depends on the number alone.
  virtual models::Batch batch(int64_t number) = 0;
  // Batches that hold every target of the validation set once.
  virtual int64_t validation_batches() const = 0;
  virtual models::Batch validation_batch(int64_t index) const = 0;
};

// Predicting each token from those before it. A batch has `rows` windows.
std::unique_ptr<Task> lm_task(data::TrainingWindows training, data::ValidationWindows validation,
                              int64_t rows, uint64_t seed);
// Predicting the words that are hidden.
std::unique_ptr<Task> mlm_task(data::MaskedTrainingWindows training,
                               data::MaskedValidationWindows validation, int64_t rows,
                               uint64_t seed);
// From a source to a target.
std::unique_ptr<Task> pair_task(data::PairBatches training, data::PairSet validation,
                                const data::SequenceIds& ids);
// The same with cases that are made as they are needed; the task must outlive it.
std::unique_ptr<Task> generated_task(const data::GeneratedTask& task, int64_t rows, uint64_t seed,
                                     int64_t held_out_cases);

// For evaluating alone: there is nothing to train on.
std::unique_ptr<Task> validation_task(data::ValidationWindows windows);
std::unique_ptr<Task> validation_task(data::MaskedValidationWindows windows);
std::unique_ptr<Task> validation_task(data::PairSet pairs, const data::SequenceIds& ids);

// Targets that are not -1.
int64_t counted_targets(const models::Batch& batch);
// The ids that a model reads in a batch, padding left out.
int64_t tokens_read(const models::Batch& batch);

// A batch of pairs as models take it.
models::Batch model_batch(data::PairBatch batch);

}  // namespace headlight::train
