// One run of a model with all that is told about it.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "headlight/heads/heads.h"
#include "headlight/narrate/catalogue.h"
#include "headlight/narrate/subject.h"

namespace headlight::narrate {

// One run of the model, ready to be shown.
struct ExplainedRun {
  explain::Trace trace;
  std::vector<heads::HeadStatistics> heads = {};
  std::vector<explain::Variant> variants = {};
  std::optional<explain::BackwardWalk> backward = {};
  std::optional<std::string> continuation = {};
  std::optional<double> loss = {};
};

// What is at hand while something is explained.
struct ExplainWork {
  base::ThreadPool& threads;
  base::FileSystem& files;
  ExplainRequest request;
  const Catalogue& catalogue;
  Subject subject;
  std::function<void()> go_on = {};  // called at each step of it; what it throws ends it
};

// How many tokens the model goes on by itself at most: as asked, and on a page, where no target is
// known, as many as its tables stay small with.
int64_t tokens_written(const ExplainWork& work);

// Of the decoder, or of an encoder alone.
int64_t model_layer_count(const models::Model& model);
// Layers that are traced; empty: all. Of a large model a reader sees one at a time; other programs
// get all.
std::set<int64_t> layers_traced(const ExplainWork& work);

// `training`: the one that has just ended, from which the next step would go on; null: none. Where
// it is wanted, the model as it is now goes on after what it is given.
ExplainedRun explain_run(ExplainWork& work, const recipes::WorkedTraining* training);

// The forms of a tensor in the variants that are asked for: "variant.scale.none.logits"; not where
// the model's own way is asked for.
std::vector<std::string> asked_forms(const ExplainWork& work, const ExplainedRun& run,
                                     const std::string& tensor);
// Throws Error(bad_input) when the variants asked for leave the tensor as it is.
void refuse_unchanged(const ExplainWork& work, const ExplainedRun& run, const std::string& tensor);
// The cell asked for, of the variant asked for. Throws Error(bad_input).
explain::CellReference asked_cell(const ExplainWork& work, const ExplainedRun& run);

}  // namespace headlight::narrate
