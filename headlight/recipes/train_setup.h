// From settings to what a run works with: texts, tokens, a model, batches.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headlight/recipes/train_settings.h"
#include "headlight/train/train.h"

namespace headlight::recipes {

struct TrainSetup {
  std::unique_ptr<data::GeneratedTask> generated;  // of tasks that make their data
  std::optional<text::Tokenizer> tokenizer;
  std::unique_ptr<models::Model> model;  // with its first weights
  std::unique_ptr<train::Task> task;
  std::vector<data::Pair> samples;  // validation cases whose answers show how it goes
  std::string example;              // a short text that the model can go on with
  int64_t train_tokens = 0;         // 0: they are made as they are needed
  double epoch_steps = 0;           // steps that see all of them once; 0: there is no such number
  std::string data_text;            // "1003854 tokens to train on, 111540 to validate"
  std::string data_sum;             // changes when the tokens do
};

// `values`: how keys are written, for errors. Throws Error(bad_input) for data that the settings do
// not fit, Error(out_of_memory) before anything large is made when the run needs more memory than
// there is.
TrainSetup make_train_setup(base::FileSystem& files, const TrainSettings& settings,
                            const GivenValues& values = {});

// How a run learns.
train::TrainerOptions trainer_options(const TrainSettings& settings, const models::Model& model);

}  // namespace headlight::recipes
