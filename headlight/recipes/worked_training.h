// The worked model at work: training it, and what it says.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "headlight/recipes/worked_model.h"

namespace headlight::recipes {

struct WorkedTraining {
  int64_t steps = 0;
  double seconds = 0;
  std::vector<double> losses = {};     // before each step, and after the last
  nn::StateDict optimizer_state = {};  // a copy, to go on from
  double next_learning_rate = 0;
};

// By WorkedRecipe, until the steps are done. `on_step` is told each step's number and loss.
WorkedTraining train_worked_model(base::ThreadPool& threads, const WorkedModel& worked,
                                  const std::function<void(int64_t, double)>& on_step = {});

// What an encoder-decoder writes after a text, greedily, without special tokens; cut after a dozen.
std::string continuation_of(base::ThreadPool& threads, const models::Model& model,
                            const text::Tokenizer& tokenizer, const std::string& text,
                            text::EncodeOptions options = {});

}  // namespace headlight::recipes
