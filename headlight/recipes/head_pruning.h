// Models that lose heads, from a request to a folder: gates, pruning, curves.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "headlight/recipes/pruning_data.h"

namespace headlight::recipes {

// Folders that are written must be new: that is looked at before anything is computed. They hold
// what write_model_copy writes. An empty name writes nothing; interrupted work writes nothing.

struct GatesRequest {
  ExamplesRequest data = {};
  double penalty = 0;           // of each open gate; above 0
  int64_t steps = 0;            // 0: as GateOptions has it
  bool trains_weights = false;  // the model's own too
  std::string out = {};         // the model without the heads whose gates closed
  // Where an earlier run stood, and where this one stands after each step.
  std::shared_ptr<const heads::GateState> begun = {};
  std::function<void(const heads::GateState&)> standing = {};
};
struct ModelGatesResult {
  heads::GatesResult gates;
  int64_t heads = 0;
  std::string metric = {};         // the name of the other metric; empty: none
  heads::Measurement before = {};  // of the model as it was,
  heads::Measurement gated = {};   // with each gate at its value (and its weights trained),
  heads::Measurement binary = {};  // and with gates open or closed
  bool interrupted = false;        // then there is nothing else in it
};
// Trains the loaded model's own weights where the request says so. Throws Error(usage) for a
// penalty that is not above 0, Error(bad_input) when all gates close. Where the watch spreads work,
// the first process alone trains and has the gates.
ModelGatesResult gate_model_heads(base::ThreadPool& threads, base::FileSystem& files,
                                  const LoadedModel& loaded, const GatesRequest& request,
                                  const heads::Watch& watch = {});
// gates_json() and "before", "gated", "binary": {"loss", ...}.
io::Json::Object model_gates_json(const ModelGatesResult& result);

struct PruneRequest {
  ExamplesRequest data = {};
  double keep = 0;             // the share of heads that stays; or else
  std::string heads_off = {};  // names of those that go
  heads::PruneMethod by = heads::PruneMethod::gradient;
  double penalty = 0;        // of PruneMethod::gates; 0: as GateOptions has it
  int64_t finetune = 0;      // steps
  double learning_rate = 0;  // of these; 0: as FineTuneOptions has it
  bool same_shape = false;
  std::string out = {};
  // Rounds of choosing that an earlier run has finished, as RemovalOptions has them.
  std::function<std::optional<io::Json>(const std::string& part)> known = {};
  std::function<void(const std::string& part, const io::Json& result)> finished = {};
};
// Named heads, and heads drawn by chance, need no data unless the model is trained on; where none
// are given and the model's task does not make any, nothing is measured then.
heads::PruneResult prune_model_heads(base::ThreadPool& threads, base::FileSystem& files,
                                     const LoadedModel& loaded, const PruneRequest& request,
                                     const heads::Watch& watch = {});

// How large the files of a model were, and are in the folder that was written.
struct PrunedFolder {
  std::string folder = {};
  uint64_t bytes_before = 0;
  uint64_t bytes_after = 0;
};
PrunedFolder pruned_folder(base::FileSystem& files, const LoadedModel& loaded,
                           const std::string& folder);
// {"bytes": {"before", "after"}} beside what is there.
void add_folder_json(io::Json::Object& facts, const PrunedFolder& folder);

struct CurveRequest {
  ExamplesRequest data = {};
  // Methods, types, shares, orders; known and finished parts. The rest is set here.
  heads::CurveOptions curves = {};
  double penalty = 0;
  int64_t finetune = 0;  // steps; 0: no points after fine-tuning
  double learning_rate = 0;
};
heads::CurveResult curve_model_heads(base::ThreadPool& threads, base::FileSystem& files,
                                     const LoadedModel& loaded, const CurveRequest& request,
                                     const heads::Watch& watch = {});

// heads::compare_speed. Throws Error(out_of_memory) first when the largest batch needs more memory
// than is free.
heads::SpeedResult compare_model_speed(base::ThreadPool& threads, base::FileSystem& files,
                                       const LoadedModel& full, const LoadedModel& pruned,
                                       const heads::SpeedOptions& options);

}  // namespace headlight::recipes
