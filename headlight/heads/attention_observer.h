// AttentionObserver: hands on what each attention of a run says of itself, while it is there. For
// heads' own use.
#pragma once

#include <functional>
#include <utility>

#include "headlight/autograd/autograd.h"

namespace headlight::heads {

// An attention of a run and its weights, which are computed when they are asked for.
struct SeenAttention {
  const std::string& place;
  int64_t batch = 0;
  int64_t heads = 0;
  int64_t queries = 0;
  int64_t keys = 0;
  bool causal = false;
  const autograd::Inside& inside;

  // All sequences' rows of one head, (B, T, S); safe to call from several threads.
  tensor::Tensor stage(base::ThreadPool& threads, kernels::ScoreStage stage, int64_t head) const;
};

class AttentionObserver : public autograd::Observer {
 public:
  explicit AttentionObserver(std::function<void(const SeenAttention&)> take)
      : take_(std::move(take)) {}

  bool wants(std::string_view /*place*/) override { return false; }
  void see(std::string_view /*place*/, const tensor::Tensor& /*values*/) override {}
  bool listens() const override { return true; }
  void report(const autograd::Report& report) override;
  void name(std::string_view /*place*/, const autograd::Value& /*value*/) override {}

 private:
  std::function<void(const SeenAttention&)> take_;
};

}  // namespace headlight::heads
