// The steps that answer a request, with the numbers of a run.
#pragma once

#include <vector>

#include "headlight/narrate/explained_run.h"
#include "headlight/narrate/shown_step.h"

namespace headlight::narrate {

// Why a cell has its value; or the tensors that are named; or the steps of the walk, with the
// variants and the heads.
std::vector<ShownStep> asked_steps(const ExplainWork& work, const ExplainedRun& run);
// The tensors that are named, each followed by what becomes of it in the variants asked for.
std::vector<ShownStep> named_steps(const ExplainWork& work, const ExplainedRun& run);

}  // namespace headlight::narrate
