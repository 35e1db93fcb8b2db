// LogitMetric: one number of a run that heads are asked about: the logit of a word at a position,
// or how far it is above another word's.
#pragma once

#include <optional>

#include "headlight/models/models.h"

namespace headlight::heads {

struct LogitMetric {
  int64_t position = 0;  // of the ids, from 0: its logits say what comes next there or, in a model
                         // that fills masks, what stands there
  int64_t word = 0;      // an id
  std::optional<int64_t> against = {};
};

// logit(word) - logit(against), or the logit alone, of a row of V logits.
double metric_of(const float* logits, const LogitMetric& metric);

// One sequence without lengths, and ids and a position that there are. Throws Error(bad_input),
// begun by `what`, also for a model that predicts no words.
void check_metric(std::string_view what, const models::Model& model, const models::Batch& batch,
                  const LogitMetric& metric);

}  // namespace headlight::heads
