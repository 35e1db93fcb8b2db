// What can be seen to be wrong from the settings of a run alone.
#pragma once

#include "apps/cli/train_settings.h"

namespace headlight::cli {

// What is typed beats a variable, and a variable a configuration file, also where they exclude each
// other: drops what is left without a meaning. Before presets and defaults are filled in. Throws as
// exclude() does.
void settle_train_options(Arguments& arguments);

// Throws Error(usage) for keys that contradict each other or have no meaning for the task,
// Error(bad_input) when a file says so or the numbers do not fit. `arguments` hold all keys.
void check_train_settings(const Arguments& arguments, const TrainSettings& settings);

// Who is wrong where a key is: the command line with its environment, or a file.
base::ErrorKind kind_of_wrong(const Arguments& arguments, std::string_view key);

}  // namespace headlight::cli
