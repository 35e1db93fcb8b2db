// Experiments on heads as reports: what their results mean, in sentences, tables and pictures.
#pragma once

#include <string>
#include <vector>

#include "headlight/heads/heads.h"
#include "headlight/narrate/report/report.h"
#include "headlight/recipes/recipes.h"

namespace headlight::narrate {

Report score_report(const heads::HeadScores& scores, const std::string& model);
Report ablation_report(const heads::AblationResult& result, const std::string& model);
Report find_report(const recipes::FoundRelation& relation, const std::string& model);
Report attribution_report(const recipes::AttributeAnswer& answer, const std::string& model,
                          const text::Tokenizer* tokenizer);
Report patching_report(const recipes::PatchAnswer& answer, const std::string& model);

// A model that was written without some of its heads.
struct SmallerModel {
  std::string whole;    // the name of the model that it was made of
  std::string program;  // how the program was started, for commands to go on with
  recipes::PrunedFolder written = {};
};
// `heads`: those that the whole model had.
Report prune_report(const heads::PruneResult& result, const std::vector<heads::HeadName>& heads,
                    const SmallerModel& model);
Report gates_report(const recipes::ModelGatesResult& result, const SmallerModel& model);
Report curve_report(const heads::CurveResult& result, const std::string& model);
Report speed_report(const heads::SpeedResult& result, const std::string& full,
                    const std::string& pruned);

}  // namespace headlight::narrate
