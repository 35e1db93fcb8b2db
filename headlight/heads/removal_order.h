// Which heads go first: by what they are worth, measured again after every round.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/heads/ablation.h"
#include "headlight/heads/gates.h"
#include "headlight/heads/head_name.h"

namespace headlight::heads {

// What a head is worth to a model that lacks those which went before; the least goes first:
enum class PruneMethod {
  gradient,  // mean over examples of |dL/dgate|: HeadImportance::gradient
  ablation,  // how much the loss grows without it
  entropy,   // 1 - relative entropy of its weights: heads that look at everything alike go first
  gates,     // log_alpha of its gate, trained for this round
  random,    // drawn by the seed; there are no scores
};
std::string_view name_of(PruneMethod method);
// Throws Error(usage) for another word.
PruneMethod prune_method(std::string_view word);

// The heads that are kept of so many when a share of them is: halves are rounded up. Throws
// Error(usage) for a share that is not above 0 and at most 1, Error(bad_input) when no head would
// be left.
int64_t heads_kept(double share, int64_t heads);
// share * count, halves rounded up: 0.145 of 100 is 15.
int64_t rounded_share(double share, int64_t count);

struct RemovalOptions {
  PruneMethod by = PruneMethod::gradient;
  int64_t count = 0;                 // how many go
  std::vector<HeadName> among = {};  // of these; empty: of all that the model has
  // So many go before scores are measured again; 0: a tenth of the model's heads, rounded down,
  // and at least one.
  int64_t per_round = 0;
  GateOptions gates = {};  // of PruneMethod::gates, which needs its batches; seed and watch are
                           // those below, weights are not trained
  uint64_t seed = 0;
  // Rounds that an earlier run has finished, by name ("round 3": scores by head), and where to put
  // those that this one finishes: interrupted work goes on.
  std::function<std::optional<io::Json>(const std::string& part)> known = {};
  std::function<void(const std::string& part, const io::Json& result)> finished = {};
  Watch watch = {};
};

struct RemovedHead {
  HeadName head;
  int64_t round = 1;
  std::optional<double> score = {};  // what it was worth in that round
};

struct RemovalOrder {
  std::vector<RemovedHead> heads = {};  // the first goes first
  bool interrupted = false;             // then there is nothing in it

  std::vector<HeadName> first(size_t count) const;
};

// Equals go in the order of the model. The model itself keeps all its heads. Throws
// Error(bad_input) for heads that it does not have and a count that is more than there are.
RemovalOrder removal_order(base::ThreadPool& threads, models::Model& model,
                           const Examples& examples, const RemovalOptions& options);

// Loss, and the metric where one is given, with some heads' gates at 0; nothing when it was told to
// stop.
struct MeasureOptions {
  std::optional<Metric> metric = {};
  std::vector<HeadName> without = {};
  Watch watch = {};
};
std::optional<Measurement> measure_model(base::ThreadPool& threads, models::Model& model,
                                         const Examples& examples,
                                         const MeasureOptions& options = {});

}  // namespace headlight::heads
