// Entropy, distance and role of heads, from their reconstructed weights.
#include "headlight/heads/head_statistics.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "headlight/heads/head_measure.h"

namespace headlight::heads {
namespace {

using kernels::ScoreStage;
using tensor::Tensor;

// What heads of one attention are measured from.
struct AttentionRun {
  const autograd::Recording& recording;
  const autograd::Recording::Step& step;
  int64_t heads;
  int64_t kv_heads;

  // The number of the head at this place among those that there are.
  int64_t number_of(int64_t head) const { return entry("head_numbers", head).value_or(head); }
  int64_t kv_head_of(int64_t head) const {
    return entry("kv_head_of", head).value_or(head / (heads / kv_heads));
  }
  std::optional<int64_t> entry(const char* role, int64_t head) const {
    const autograd::Recording::Input* list = step.input(role);
    if (list == nullptr) return std::nullopt;
    return list->value.data().data<int64_t>()[head];
  }

  // (T, W) of a head of (B, T, H*W), of the first sequence.
  Tensor head_of(const Tensor& x, int64_t count, int64_t head) const {
    const int64_t width = x.size(2) / count;
    return x.slice(0, 0, 1).slice(2, head * width, width).contiguous().reshaped({x.size(1), width});
  }
};

// The largest |A V - O|.
double output_difference(base::ThreadPool& threads, const AttentionRun& run, const Tensor& weights,
                         int64_t head) {
  const int64_t ungated = run.step.output("ungated");
  const int64_t output = ungated >= 0 ? ungated : run.step.output("output");
  const Tensor expected = run.head_of(run.recording.value(output).data(), run.heads, head);
  const Tensor value =
      run.head_of(run.step.input("value")->value.data(), run.kv_heads, run.kv_head_of(head));
  Tensor again = Tensor::uninitialized(tensor::DType::f32, expected.shape());
  tensor::Arena arena;
  kernels::matmul({threads, arena}, weights.matrix(), value.matrix(), again.mutable_matrix());
  double most = 0;
  for (int64_t i = 0; i < again.elements(); ++i) {
    most = std::max(
        most, std::abs(static_cast<double>(again.data<float>()[i]) - expected.data<float>()[i]));
  }
  return most;
}

HeadStatistics measured(base::ThreadPool& threads, const AttentionRun& run, int64_t head,
                        const std::vector<int64_t>& key_counts) {
  const std::string& place = run.step.report.place;
  HeadMeasure measure(place.ends_with(".self"));
  tensor::Arena arena;
  const kernels::Execution execution{threads, arena};
  const int64_t queries = run.step.input("query")->value.size(1);
  const autograd::Inside& inside = *run.step.report.inside;
  const Tensor weights = inside.stage(execution, ScoreStage::weights, head, {0, queries});
  const Tensor masked = inside.stage(execution, ScoreStage::masked, head, {0, queries});
  const int64_t keys = weights.size(2);
  for (int64_t row = 0; row < queries; ++row) {
    measure.add_row(row, masked.data<float>() + row * keys, weights.data<float>() + row * keys,
                    key_counts);
  }
  HeadStatistics statistics{.place = place, .head = run.number_of(head)};
  measure.write(statistics);
  statistics.output_difference =
      output_difference(threads, run, weights.slice(0, 0, 1).reshaped({queries, keys}), head);
  return statistics;
}

}  // namespace

std::string_view name_of(HeadRole role) {
  constexpr std::array<std::string_view, 10> kNames = {
      "previous",  "next",    "first",     "self",      "rarest",
      "one_token", "uniform", "induction", "duplicate", "none"};
  return kNames[static_cast<size_t>(role)];
}

std::vector<HeadStatistics> head_statistics(base::ThreadPool& threads,
                                            const autograd::Recording& recording,
                                            const models::Batch& batch,
                                            const std::vector<int64_t>& counts) {
  std::vector<HeadStatistics> all;
  for (const autograd::Recording::Step& step : recording.steps()) {
    if (step.is_name() || step.report.operation != "attention") continue;
    const std::string& place = step.report.place;
    const bool keys_are_source =
        batch.source_ids.defined() && (place.starts_with("encoder.") || place.ends_with(".cross"));
    const AttentionRun run{recording, step, static_cast<int64_t>(step.number("heads")),
                           static_cast<int64_t>(step.number("kv_heads"))};
    const Tensor& ids = keys_are_source ? batch.source_ids : batch.ids;
    const std::vector<int64_t> key_counts =
        id_counts({ids.data<int64_t>(), static_cast<size_t>(ids.elements())}, counts);
    for (int64_t head = 0; head < run.heads; ++head) {
      all.push_back(measured(threads, run, head, key_counts));
    }
  }
  return all;
}

io::Json head_json(const HeadStatistics& head) {
  return io::Json::Object{{"name", head.name()},
                          {"place", head.place},
                          {"head", head.head},
                          {"entropy", head.entropy},
                          {"relative_entropy", head.relative_entropy},
                          {"mean_distance", head.mean_distance},
                          {"role", name_of(head.role)},
                          {"measure", head.measure},
                          {"key", head.key < 0 ? io::Json() : io::Json(head.key)},
                          {"selectivity", head.selectivity},
                          {"output_difference", head.output_difference}};
}

}  // namespace headlight::heads
