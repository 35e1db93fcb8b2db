// How good a model is on data.
#pragma once

#include <optional>
#include <string>

#include "headlight/infer/infer.h"
#include "headlight/recipes/exact_match.h"
#include "headlight/recipes/named_model.h"

namespace headlight::recipes {

struct EvaluationRequest {
  std::string task = {};                            // of kTasks; empty: what the model is for
  std::string data = {};                            // a text, or tab-separated pairs to translate
  std::string encoding = {};                        // of the data, when not UTF-8
  std::optional<infer::SearchOptions> search = {};  // of translations; nothing: greedy
  std::function<void(double share)> progress =
      {};                         // told the share that is done, where it is known
  ranks::Group* group = nullptr;  // ranks that share the work; all get all results
};

// Losses are natural-log, mean per target token; BLEU and chrF are sacreBLEU's.
struct Evaluation {
  std::optional<int64_t> tokens = {};     // of a text, that are predicted
  std::optional<int64_t> sentences = {};  // of pairs
  double loss = 0;
  double perplexity = 0;
  std::optional<double> bleu = {};
  std::optional<double> chrf = {};
  std::optional<ExactMatch> exact_match = {};  // of a task that makes its data
};

// The task asked for, or that which the model is for. Throws Error(bad_input) for a model that
// cannot do it.
std::string evaluation_task(const LoadedModel& loaded, const std::string& asked = {});

// Throws Error(bad_input) for data that the model cannot read.
Evaluation evaluate(base::ThreadPool& threads, base::FileSystem& files, const LoadedModel& loaded,
                    const EvaluationRequest& request);

// What there is of it, by name.
io::Json::Object evaluation_json(const Evaluation& evaluation);

}  // namespace headlight::recipes
