// What the ranks of a training compare before the first step: where they differ they would wait for
// each other, or train a model that nobody asked for.
#pragma once

#include "headlight/recipes/train_setup.h"

namespace headlight::recipes {

// Throws Error(usage) naming the first key that differs. The settings are those of run.json.
void check_same_settings(ranks::Group& group, io::Json settings, bool is_resumed);

// Throws Error(bad_input) where data, tokenizers or first models differ.
void check_same_setup(ranks::Group& group, const TrainSetup& setup);

}  // namespace headlight::recipes
