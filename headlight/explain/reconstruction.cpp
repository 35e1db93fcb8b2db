// Asks the engine's attention for one of its stages.
#include "headlight/explain/reconstruction.h"

namespace headlight::explain {
namespace {

using autograd::Value;
using tensor::Tensor;

constexpr size_t kMostRows = 4096;  // that are kept

// Wants one place and keeps it.
class Glance : public autograd::Observer {
 public:
  explicit Glance(std::string place) : place_(std::move(place)) {}
  bool wants(std::string_view place) override { return place == place_; }
  void see(std::string_view /*place*/, const Tensor& values) override { values_ = values; }
  const Tensor& values() const { return values_; }

 private:
  std::string place_;
  Tensor values_;
};

// `past` is the number of the first query.
Tensor stage_of(base::ThreadPool& threads, const AttentionRun& run, const std::string& name,
                int64_t past) {
  tensor::Arena arena;
  Glance glance("at." + name);
  autograd::Context context{.threads = threads, .arena = arena, .observer = &glance};
  const std::vector<int64_t> pasts(static_cast<size_t>(run.query.size(0)), past);
  autograd::attention(context, Value::leaf(run.query), Value::leaf(run.key), Value::leaf(run.value),
                      {.scale = run.scale,
                       .causal = run.causal,
                       .past = Tensor::of({run.query.size(0)}, pasts),
                       .place = "at"});
  return glance.values();
}

}  // namespace

Tensor attention_stage(base::ThreadPool& threads, const AttentionRun& run, std::string_view stage) {
  return stage_of(threads, run, std::string(stage), 0);
}

Tensor attention_stage(base::ThreadPool& threads, const AttentionRun& run, std::string_view stage,
                       int64_t head, int64_t row) {
  const int64_t kv_head = head / (run.query.size(1) / run.key.size(1));
  AttentionRun one = run;
  one.query = run.query.slice(1, head, 1);
  one.key = run.key.slice(1, kv_head, 1);
  one.value = run.value.slice(1, kv_head, 1);
  if (row >= 0) one.query = one.query.slice(2, row, 1);
  return stage_of(threads, one, "head.0." + std::string(stage), row >= 0 ? row : 0);
}

const AttentionRun* Reconstruction::find(std::string_view place) const {
  const auto found = runs_.find(place);
  return found == runs_.end() ? nullptr : &found->second;
}

const Tensor& Reconstruction::row(base::ThreadPool& threads, const std::string& place,
                                  const std::string& stage, int64_t head, int64_t row) {
  const std::tuple key(place, stage, head, row);
  const auto found = rows_.find(key);
  if (found != rows_.end()) return found->second;
  if (rows_.size() >= kMostRows) rows_.clear();
  return rows_[key] = attention_stage(threads, runs_.find(place)->second, stage, head, row);
}

}  // namespace headlight::explain
