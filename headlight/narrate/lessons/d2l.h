// What the files of the lesson `d2l` share.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headlight/heads/heads.h"
#include "headlight/narrate/lessons/lesson.h"
#include "headlight/nn/nn.h"
#include "headlight/recipes/recipes.h"

namespace headlight::narrate {

inline constexpr int64_t kD2lWidth = 100;
inline constexpr int64_t kD2lHeads = 5;

// The tutorial's module: width 100, five heads, dropout 0.5, no biases.
nn::MultiHeadAttention d2l_module(uint64_t seed);

// The trained model of the exercises, `stories`, and stories of the kind that it was trained on.
struct StoriesModel {
  std::unique_ptr<recipes::FilesWithEmbedded> files;
  recipes::LoadedModel loaded;
  std::optional<text::Tokenizer> tokenizer = {};
  std::string first = {};            // of the stories, as it is written
  int64_t count = 0;                 // of either kind:
  heads::Examples chosen_by = {};    // stories that say which heads matter,
  heads::Examples measured_on = {};  // and others that say what is lost without heads

  models::Model& model() const { return *loaded.model; }
};
// Read when it is first asked for; the seed says which stories.
const StoriesModel& stories_model(LessonOptions& options);

// Exercise 1, the heads drawn: with the tutorial's inputs, the run "module", with others, and those
// of a trained model, the run "stories".
ShownStep d2l_drawn_heads(LessonOptions& options);
// Exercise 2, which head matters: in a random module, and in a trained model.
ShownStep d2l_head_importance(LessonOptions& options);
// Its second part: the trained model loses the heads that matter least.
ShownStep d2l_pruned_heads(LessonOptions& options);
// Its third part: what the smaller model saves by arithmetic, and what by the clock.
ShownStep d2l_timed_models(LessonOptions& options);

}  // namespace headlight::narrate
