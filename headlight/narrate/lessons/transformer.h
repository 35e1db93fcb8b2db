// What the files of the lesson `transformer` share: what the tutorial says beyond the walk.
#pragma once

#include <string>

#include "headlight/narrate/lessons/lesson.h"
#include "headlight/narrate/steps.h"
#include "headlight/recipes/recipes.h"

namespace headlight::narrate {

// What is told besides the walk's own texts. References last as long as it does.
struct TransformerLesson {
  LessonOptions& options;
  const recipes::WorkedModel& worked;
  explain::Trace& trace;  // of the first sentence, before training; variants are added to it

  const Catalogue& catalogue() const { return options.catalogue; }
  std::string text(const std::string& key, const std::vector<Placeholder>& values = {}) const {
    return options.catalogue.text(key, values);
  }
};

// Adds to a step of the walk what the tutorial says there: pictures, sums by hand, and the numbers
// of its own ways beside ours.
void add_to_walk(const TransformerLesson& lesson, Step step, ShownStep& shown);

// All rows of the decoder read as one, as the tutorial does, beside the row of each word.
ShownStep transformer_flattened(const TransformerLesson& lesson);

// Masked attention beside the ordinary one, on the same numbers.
void add_masked_beside_ordinary(const TransformerLesson& lesson, const tensor::Tensor& ordinary,
                                const tensor::Tensor& masked, ShownStep& shown);

// The same model once more, which is trained; the run that is shown keeps its weights.
struct TrainedTransformer {
  recipes::WorkedModel worked;
  double gradient_norm = 0;  // of the first step
  double weight_before = 0;  // the first number of the first word
  double weight_after = 0;
  std::string continuation_before = {};
  std::string continuation_after = {};
  recipes::WorkedTraining training = {};
};
TrainedTransformer train_transformer(base::ThreadPool& threads, recipes::WorkedModel worked);

// The loop of training in its six points, with the numbers of one step and of all, and how the
// trained model writes word by word.
void add_training_loop(const TransformerLesson& lesson, const TrainedTransformer& trained,
                       ShownStep& shown);

// Three points to remember, and the papers.
ShownStep transformer_closing(const TransformerLesson& lesson);

}  // namespace headlight::narrate
