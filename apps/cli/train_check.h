// What can be seen to be wrong from the settings of a run alone.
#pragma once

#include "apps/cli/train_settings.h"

namespace headlight::cli {

struct GivenSettings {
  const Arguments& typed;  // on the command line or in the environment
  const Arguments& given;  // and in a configuration file
  const Arguments& all;    // and by presets and defaults
};

// Throws Error(usage) for keys that contradict each other or have no meaning for the task,
// Error(bad_input) when a file says so or the numbers do not fit.
void check_train_settings(const GivenSettings& from, const TrainSettings& settings);

}  // namespace headlight::cli
