// The exam of a task that makes its own data: how many held-out cases a model gets exactly right.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "headlight/data/data.h"
#include "headlight/io/io.h"
#include "headlight/models/models.h"

namespace headlight::recipes {

// Shares from 0 to 1.
struct ExactMatch {
  double all = 0;
  std::vector<std::pair<std::string, double>> kinds = {};  // for a task of several kinds: "en", ...
};

// Greedy outputs of up to 1000 cases of each kind, against what they should be.
ExactMatch exact_match(base::ThreadPool& threads, const models::Model& model,
                       const data::GeneratedTask& task);

// {"exact_match", all} and {"exact_match_en", ...} for each kind.
io::Json::Object exact_match_json(const ExactMatch& result);

}  // namespace headlight::recipes
