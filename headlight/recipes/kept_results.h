// Results of experiments as an ExperimentState keeps them, and what they depend on.
#pragma once

#include "headlight/recipes/experiment_state.h"
#include "headlight/recipes/head_examples.h"
#include "headlight/recipes/head_pruning.h"

namespace headlight::recipes {

// What a request for examples says, with a sum of the bytes of its data.
io::Json::Object examples_json(base::FileSystem& files, const ExamplesRequest& request);

// Ablations take from the state what it knows, and give it what they measure. It outlives them.
void keep_ablations(heads::AblationOptions& options, ExperimentState& state);

// What single parts of curves depend on. Methods, types, shares and the number of random orders say
// which parts there are: an experiment may go on with more of them.
io::Json::Object curve_request_json(base::FileSystem& files, const LoadedModel& loaded,
                                    const CurveRequest& request);
// As above, with parts of curves.
void keep_curves(heads::CurveOptions& options, ExperimentState& state);

// The same of rounds in which heads are chosen. What is done afterwards is done anew.
io::Json::Object prune_request_json(base::FileSystem& files, const LoadedModel& loaded,
                                    const PruneRequest& request);
void keep_rounds(PruneRequest& request, ExperimentState& state);

}  // namespace headlight::recipes
