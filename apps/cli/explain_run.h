// One run of a model with all that is told about it.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "apps/cli/explain_subject.h"

namespace headlight::cli {

// One run of the model, ready to be shown.
struct Explained {
  explain::Trace trace;
  std::vector<explain::HeadStatistics> heads = {};
  std::vector<explain::Variant> variants = {};
  std::optional<explain::BackwardWalk> backward = {};
  std::optional<std::string> says = {};
  std::optional<double> loss = {};
};

// What a command of one run has at hand.
struct Explaining {
  Session& session;
  const ExplainOptions& options;
  const explain::Catalogue& catalogue;
  base::ThreadPool& threads;
  Subject subject;
};

// Of the decoder, or of an encoder alone.
int64_t layer_count(const models::Model& model);
// Layers that are traced; empty: all. Of a large model a reader sees one at a time; other programs
// get all.
std::set<int64_t> layers_shown(const Explaining& work);

// `training`: the one that has just ended, from which the next step would go on; null: none.
Explained explain_run(const Explaining& work, const WorkedTraining* training);

}  // namespace headlight::cli
