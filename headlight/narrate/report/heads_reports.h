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

}  // namespace headlight::narrate
