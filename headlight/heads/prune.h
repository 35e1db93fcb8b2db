// A model without the heads that it can do without: chosen, removed for good, trained on.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headlight/heads/pruned_model.h"
#include "headlight/heads/removal_order.h"

namespace headlight::heads {

// Trains a model on; false: it was told to stop.
using FineTuning = std::function<bool(models::Model& model, const Watch& watch)>;

struct PruneOptions {
  // This share of the model's heads is kept (heads_kept); or else these heads go.
  double keep = 1;
  std::vector<HeadName> heads_off = {};
  RemovalOptions removal = {};  // how they are chosen; count and watch are set here
  // The result has the shape of the model, with output weights of 0 (silenced_model).
  bool same_shape = false;
  FineTuning finetune = {};               // after the removal; empty: none
  const Examples* measured_on = nullptr;  // null: nothing is measured
  std::optional<Metric> metric = {};      // beside the loss
  Watch watch = {};
};

struct PruneResult {
  std::optional<PruneMethod> by = {};  // none: heads were named
  int64_t heads = 0;                   // of the model, before
  std::vector<RemovedHead> removed = {};
  bool same_shape = false;
  int64_t parameters_before = 0;  // numbers
  int64_t parameters_after = 0;
  std::string metric = {};                    // the name of the other metric; empty: none
  std::optional<Measurement> before = {};     // where it was measured: the whole model,
  std::optional<Measurement> pruned = {};     // without the heads,
  std::optional<Measurement> finetuned = {};  // and trained on
  std::unique_ptr<models::Model> model = {};
  bool interrupted = false;  // then there is nothing else in it

  int64_t kept() const { return heads - static_cast<int64_t>(removed.size()); }
};

// `examples` are what heads are chosen by; named heads and a random choice need none. The model
// itself stays as it is. Throws Error(usage) for a share that is none, Error(bad_input) for heads
// that the model does not have and when none would stay. Where the watch spreads work, the first
// process alone trains the model on.
PruneResult prune_heads(base::ThreadPool& threads, models::Model& model, const Examples& examples,
                        const PruneOptions& options);

// {"by", "heads", "kept", "removed": [{"head", "round", "score"}], "same_shape",
// "parameters": {"before", "after"}, "before": {"loss", ...}, "pruned": {...}, "finetuned": {...}};
// "by" and scores are null where there are none, measurements are absent.
io::Json::Object prune_json(const PruneResult& result);
// {"loss"} and the other metric, where there is one, by its name.
io::Json::Object measurement_json(const Measurement& measured, const std::string& metric);

// How many numbers a model has.
int64_t number_count(const models::Model& model);

}  // namespace headlight::heads
