// What heads are chosen by, what a pruned model is trained on, and what it is measured by.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "headlight/data/data.h"
#include "headlight/recipes/head_examples.h"
#include "headlight/train/train.h"

namespace headlight::recipes {

// Data are cut as training cuts them: of a text the last tenth of the letters is measured on, of
// pairs, of rows of ids, and of lines with hidden words, every 20th; the rest is what heads are
// chosen by and models trained on. Generated tasks train and choose on cases of training and
// measure on held-out ones.
struct PruningData {
  std::string task;
  heads::Examples chosen_by = {};
  heads::Examples measured_on = {};
  std::optional<heads::Metric> metric = {};             // of tasks that have one besides the loss
  std::unique_ptr<data::GeneratedTask> generated = {};  // of tasks that make their data
  std::unique_ptr<train::Task> training = {};           // its batches have about 1000 tokens
};

// As many examples of either kind as the request says. Throws as make_head_examples does, and
// Error(bad_input) for data that are too few to be cut.
PruningData make_pruning_data(base::FileSystem& files, const LoadedModel& loaded,
                              const ExamplesRequest& request);

struct FineTuneOptions {
  int64_t steps = 0;
  // The highest: it grows over the first tenth of the steps and falls to a tenth of itself over the
  // others. 0: 0.064 / width, which is 1e-3 for 64 and 8e-5 for 768.
  double learning_rate = 0;
  uint64_t seed = 0;  // of dropout
};
// AdamW without decay on the task's batches from the first on, gradients clipped at 1: models that
// are trained by it see the same. The task outlives it.
heads::FineTuning fine_tuning(base::ThreadPool& threads, train::Task& task,
                              const FineTuneOptions& options);

}  // namespace headlight::recipes
