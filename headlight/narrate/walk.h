// The walk: the steps from a data set to a learned weight, with the numbers of a trace.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headlight/heads/heads.h"
#include "headlight/narrate/shown_step.h"
#include "headlight/narrate/steps.h"
#include "headlight/recipes/recipes.h"

namespace headlight::narrate {

// What is walked through. References last as long as the walk.
struct Walk {
  const Catalogue& catalogue;
  const explain::Trace& trace;
  std::vector<recipes::SentencePair> sentences = {};  // the data set, where it is known
  int64_t vocabulary_size = 0;
  std::optional<std::string> continuation = {};  // what the model writes by itself
  std::optional<double> loss = {};               // where the target is known
  bool with_numbers = true;                      // not only names and shapes of tensors
  bool weight_is_asked = false;                  // by its name, for the way back
};

// Steps that the model does not have say so. Learning tells the loss; the way back is
// backward_steps'.
ShownStep walk_step(const Walk& walk, Step step);

// The ids of the `most` largest probabilities, the largest first; of equals the first.
std::vector<int64_t> likeliest(const float* probabilities, int64_t words, size_t most);

// Learning with the way back to one weight: the gradients, then the weight's own terms and update.
std::vector<ShownStep> backward_steps(const Walk& walk, const explain::BackwardWalk& backward);

// The way back to a weight ("encoder.layers.0.fc1.weight[3,2]"), or to the one with the largest
// gradient of the matrices of attention, and its update as the worked model's recipe has it.
// `training`: as in explain_run. Throws Error(bad_input) without a target.
explain::BackwardWalk walk_to_weight(const explain::Trace& trace, models::Model& model,
                                     const std::optional<std::string>& weight,
                                     const recipes::WorkedTraining* training);

// Why a cell has its value.
ShownStep cell_step(const Walk& walk, const explain::CellTerms& cell);

// A sentence on how the worked model was trained: steps, seconds, losses.
std::string trained_text(const Catalogue& catalogue, const recipes::WorkedTraining& training);

// What the heads of a trace look at, measured.
std::vector<heads::HeadStatistics> heads_of(const explain::Trace& trace);
// All heads, token to token, with what was measured of them.
ShownStep heads_step(const Walk& walk, const std::vector<heads::HeadStatistics>& heads);

}  // namespace headlight::narrate
