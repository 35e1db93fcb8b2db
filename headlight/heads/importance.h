// How much the loss would change with each head's gate, and what heads look at, over examples.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "headlight/heads/examples.h"
#include "headlight/heads/head_statistics.h"

namespace headlight::heads {

// With z the head's output and L the mean loss of one example's targets, sum(z * dL/dz) = dL/dgate:
// how fast the example's loss changes as the head is turned up.
struct HeadImportance {
  double gradient = 0;             // mean over examples of |dL/dgate|
  double gradient_signed = 0;      // mean over examples of dL/dgate
  double gradient_normalized = 0;  // `gradient` over the root of the sum of squares of its layer's
  HeadStatistics statistics = {};  // over the rows of all examples, padding left out
  double confidence = 0;           // mean over rows of the largest weight
  int64_t rows = 0;                // that see two keys at least; without any, the two say nothing
};

struct ImportanceResult {
  std::map<std::string, std::vector<HeadImportance>> heads = {};  // by place, then by head
  int64_t examples = 0;                                           // those with targets
  double loss = 0;                                                // mean per target
  bool interrupted = false;  // then there is nothing else in it
};

// Gates that modules have are kept: importance is then of what is left of a head. The model is as
// it was afterwards.
ImportanceResult measure_importance(base::ThreadPool& threads, models::Model& model,
                                    const Examples& examples, const Watch& watch = {});

}  // namespace headlight::heads
