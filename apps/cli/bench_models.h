// Whole models for `headlight bench`: training steps and decoding.
#pragma once

#include "apps/cli/bench_work.h"

namespace headlight::cli {

std::vector<WorkCase> model_cases();

}  // namespace headlight::cli
