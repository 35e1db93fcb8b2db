// Reconstruction: scores, weights and weighted values of a recorded run, when they are asked for.
// Inside explain only.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "headlight/autograd/autograd.h"

namespace headlight::explain {

// What a run left of one attention.
struct AttentionRun {
  tensor::Tensor query;  // (B, H, T, D)
  tensor::Tensor key;    // (B, Hkv, S, D)
  tensor::Tensor value;  // (B, Hkv, S, E)
  float scale = 1;
  bool causal = false;
};

// One stage of attention by its public name, e.g. "weights", of all heads and rows, by the engine's
// own attention on the run's own numbers: the same bits as in the run.
tensor::Tensor attention_stage(base::ThreadPool& threads, const AttentionRun& run,
                               std::string_view stage);
// Of one head (B, T, S) and, when `row` is not negative, one row (B, 1, S).
tensor::Tensor attention_stage(base::ThreadPool& threads, const AttentionRun& run,
                               std::string_view stage, int64_t head, int64_t row = -1);

// Attentions by place, with the rows that were asked for last.
class Reconstruction {
 public:
  void add(const std::string& place, AttentionRun run) { runs_[place] = std::move(run); }
  const AttentionRun* find(std::string_view place) const;
  // Row `row` of one head: the S numbers of each sequence, (B, 1, S).
  const tensor::Tensor& row(base::ThreadPool& threads, const std::string& place,
                            const std::string& stage, int64_t head, int64_t row);

 private:
  std::map<std::string, AttentionRun, std::less<>> runs_;
  std::map<std::tuple<std::string, std::string, int64_t, int64_t>, tensor::Tensor> rows_;
};

}  // namespace headlight::explain
