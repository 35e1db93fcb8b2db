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

// What the training of gates depends on.
io::Json::Object gates_request_json(base::FileSystem& files, const LoadedModel& loaded,
                                    const GatesRequest& request);

// Where the training of gates stands, in a file of the folder of its state.
class KeptGates {
 public:
  // The request begins where the file says, when there is one, and tells where it stands. Both
  // outlive it. Throws Error(bad_input) for a file that is none of this training.
  KeptGates(base::FileSystem& files, ExperimentState& state, GatesRequest& request);

  int64_t step() const { return last_.step; }
  void save();
  // Takes file and folder away: what they were for is done.
  void remove();

 private:
  void read(GatesRequest& request);

  base::FileSystem& files_;
  ExperimentState& state_;
  std::string path_;  // empty: nothing is kept
  heads::GateState last_ = {};
  int64_t saved_step_ = 0;
  std::chrono::steady_clock::time_point saved_at_ = std::chrono::steady_clock::now();
};

}  // namespace headlight::recipes
