// What can be seen to be wrong from the settings of a run alone.
#pragma once

#include "headlight/recipes/train_settings.h"

namespace headlight::recipes {

// What is typed beats a variable, and a variable a configuration file, also where they exclude each
// other: drops what is left without a meaning. Before presets and defaults are filled in. Throws as
// exclude() does.
void settle_train_values(GivenValues& values);

// Throws Error(usage) for keys that contradict each other or have no meaning for the task,
// Error(bad_input) when a file says so or the numbers do not fit. `values` hold all keys.
void check_train_settings(const GivenValues& values, const TrainSettings& settings);

// Who is wrong where a key is: the command line with its environment, or a file.
base::ErrorKind kind_of_wrong(const GivenValues& values, std::string_view key);

}  // namespace headlight::recipes
