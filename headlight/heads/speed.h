// How much faster a model is than another: what its arithmetic promises and what a clock says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headlight/heads/examples.h"
#include "headlight/heads/operation_count.h"

namespace headlight::heads {

struct SpeedOptions {
  std::vector<int64_t> batches = {1, 8, 64};
  std::vector<int64_t> tokens = {16, 64, 128, 256, 512};  // those beyond a context are left out
  // Of each row of the table, for pairs of runs: more of them until this time is over, but at least
  // `fewest` (3 where a pair takes longer than five times this time) and at most `most`.
  double seconds = 1;
  int64_t fewest = 5;
  int64_t most = 201;
  uint64_t seed = 0;  // of the ids that are read
  Watch watch = {};
};

// Why a row of the table has not what arithmetic promises.
enum class SpeedReason {
  reached,    // at least 9 tenths of what arithmetic saves, or arithmetic saves nothing
  rest,       // work that pruning leaves as it is (norms, activations, sums, feed-forward layers)
              // takes more of the time than of the arithmetic
  attention,  // attention itself has become smaller by more than it has become faster
  noise,      // measurements do not tell: they differ by more than what is missing
};
std::string_view name_of(SpeedReason reason);  // "reached", ...

// Of a model in one row of the table, in seconds.
struct TimedParts {
  double attention = 0;  // projections, heads and the output projection
  double rest = 0;

  double all() const { return attention + rest; }
};

struct SpeedRow {
  int64_t batch = 0;
  int64_t tokens = 0;   // of each sequence; an encoder-decoder reads and writes as many
  double bound = 1;     // operations of the full model over those of the pruned one
  double measured = 1;  // time of a full run over that of the pruned run after it, the median
  double low = 1;       // half of all pairs lie between these two
  double high = 1;
  int64_t pairs = 0;
  double seconds_full = 0;  // medians
  double seconds_pruned = 0;
  // The time saved over the time that arithmetic saves; 1 where it saves none.
  double saved = 1;
  SpeedReason reason = SpeedReason::reached;
  // What the reason goes by: operations, and times of one run each in which someone holds a watch.
  OperationCount operations_full = {}, operations_pruned = {};
  TimedParts timed_full = {}, timed_pruned = {};

  // What is left of attention by arithmetic and by the clock; what the rest is of the full model by
  // either. All are shares from 0 to 1.
  double attention_operations_left() const;
  double attention_time_left() const;
  double rest_of_operations() const { return operations_full.rest / operations_full.all(); }
  double rest_of_time() const { return timed_full.rest / timed_full.all(); }
};

// By all that is measured of the row.
SpeedReason speed_reason(const SpeedRow& row);

struct SpeedResult {
  std::vector<SpeedRow> rows = {};  // by tokens, then by batch
  int64_t threads = 0;
  bool interrupted = false;  // then it holds the rows that were measured until then
};

// Runs of both models take turns, the full one first: predicting every word of the same random ids.
// Throws Error(bad_input) for two models that cannot read the same.
SpeedResult compare_speed(base::ThreadPool& threads, models::Model& full, models::Model& pruned,
                          const SpeedOptions& options = {});

// {"rows": [{"batch", "tokens", "bound", "measured", "low", "high", "pairs", "seconds_full",
// "seconds_pruned", "saved", "reason", "attention": {"operations_full", "operations_pruned",
// "seconds_full", "seconds_pruned"}, "rest": {...}}], "threads"}.
io::Json::Object speed_json(const SpeedResult& result);

}  // namespace headlight::heads
