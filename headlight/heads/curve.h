// Quality against the share of heads removed, for each way of choosing them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headlight/heads/prune.h"

namespace headlight::heads {

// Kinds of heads that are removed: "all", and "encoder" (its self-attention), "decoder" (the same)
// and "cross" where a model has more than one of these.
std::vector<std::string> head_types(const models::Model& model);
// The heads of one; Error(usage) for another word, Error(bad_input) where the model has none.
std::vector<HeadName> heads_of_type(const models::Model& model, const std::string& type);

struct CurveOptions {
  std::vector<PruneMethod> methods = {PruneMethod::gradient, PruneMethod::ablation,
                                      PruneMethod::entropy, PruneMethod::gates,
                                      PruneMethod::random};
  std::vector<std::string> types = {};  // empty: all that the model has
  // Of the heads of a type, rounded as rounded_share does it.
  std::vector<double> shares = {0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1};
  int64_t random_orders = 10;
  RemovalOptions removal = {};            // by, count, among and watch are set here
  const Examples* measured_on = nullptr;  // null: what heads are chosen by
  std::optional<Metric> metric = {};      // quality; without one it is the loss
  // Each point again, after the smaller model was trained on; empty: no such points. Its time, in
  // steps forwards and backwards, is for the progress.
  FineTuning finetune = {};
  int64_t finetune_steps = 0;
  // Parts that an earlier run has finished, by name, and where to put those that this one finishes:
  // an interrupted experiment goes on. Parts do not depend on each other but through the orders,
  // which are parts too: "order random encoder 3" (names of heads), "point random encoder 3 12"
  // (12 heads removed: a measurement), "finetuned random encoder 3 12". Points with nothing removed
  // are the same for all: "point none", "finetuned none".
  std::function<std::optional<io::Json>(const std::string& part)> known = {};
  std::function<void(const std::string& part, const io::Json& result)> finished = {};
  Watch watch = {};
};

struct CurvePoint {
  int64_t heads = 0;   // removed
  double removed = 0;  // their share of the type's heads
  double loss = 0;
  double quality = 0;  // the metric, or the loss
  // Of random orders loss and quality are means; the least and the largest quality of all orders.
  double low = 0;
  double high = 0;
};

struct Curve {
  PruneMethod method = PruneMethod::gradient;
  std::string type = {};
  bool finetuned = false;
  int64_t orders = 1;  // of heads: several of random, one of others
  std::vector<CurvePoint> points = {};
};

struct CurveResult {
  std::string metric = {};  // what quality is: "exact_match", or "loss"
  bool higher_is_better = false;
  int64_t examples = 0;            // that quality was measured on
  std::vector<Curve> curves = {};  // by type, method, before and after fine-tuning
  bool interrupted = false;        // then there are no curves; what was finished has been told
};

// A smaller model cannot lose its last head: with none left there is no point after fine-tuning.
// Throws as removal_order does, and Error(usage) for a method or type that is named twice.
CurveResult prune_curves(base::ThreadPool& threads, models::Model& model, const Examples& examples,
                         const CurveOptions& options);

// The largest share that can go, with all smaller ones measured, while quality is worse than that
// of the whole model (the curve's own first point) by `tolerance` at most.
double removable_share(const Curve& curve, bool higher_is_better, double tolerance);

// {"curves": [{"method", "type", "finetuned", "points": [{"removed", "quality", "heads",
// "loss"}]}], "metric", "higher_is_better", "examples"}; of random "orders" beside the points, and
// in each "low" and "high".
io::Json::Object curves_json(const CurveResult& result);

}  // namespace headlight::heads
