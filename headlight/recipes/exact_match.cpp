// Greedy outputs against what they should be.
#include "headlight/recipes/exact_match.h"

#include "headlight/infer/infer.h"

namespace headlight::recipes {

ExactMatch exact_match(base::ThreadPool& threads, const models::Model& model,
                       const data::GeneratedTask& task) {
  constexpr int64_t kCases = 1000;  // of each kind
  tensor::Arena arena;
  autograd::Context context{.threads = threads, .arena = arena};
  int64_t right = 0, all = 0;
  ExactMatch result;
  for (const data::HeldOutCases& cases : task.held_out(kCases)) {
    std::vector<std::vector<int64_t>> sources;
    for (int64_t i = 0; i < cases.pairs.size(); ++i) sources.push_back(cases.pairs.source(i));
    const auto outputs = infer::greedy_outputs(context, model, sources);
    int64_t here = 0;
    for (int64_t i = 0; i < cases.pairs.size(); ++i)
      here += outputs[static_cast<size_t>(i)].ids == cases.pairs.target(i);
    right += here;
    all += cases.pairs.size();
    if (!cases.kind.empty()) {
      result.kinds.emplace_back(
          cases.kind, static_cast<double>(here) / static_cast<double>(cases.pairs.size()));
    }
  }
  result.all = static_cast<double>(right) / static_cast<double>(all);
  return result;
}

io::Json::Object exact_match_json(const ExactMatch& result) {
  io::Json::Object facts{{"exact_match", result.all}};
  for (const auto& [kind, share] : result.kinds) facts.emplace_back("exact_match_" + kind, share);
  return facts;
}

}  // namespace headlight::recipes
