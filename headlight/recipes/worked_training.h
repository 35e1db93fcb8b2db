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

// The ids that a model writes by itself after these, greedily: of an encoder-decoder those are its
// source. Without the id that ends them; at most so many, and none beyond the model's context.
// Empty for models that write nothing. `go_on` is called after each; what it throws ends it.
std::vector<int64_t> written_ids(base::ThreadPool& threads, const models::Model& model,
                                 const std::vector<int64_t>& ids, int64_t most,
                                 const std::function<void()>& go_on = {});

}  // namespace headlight::recipes
