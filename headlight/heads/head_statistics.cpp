// Entropy, distance and role of heads, from their reconstructed weights.
#include "headlight/heads/head_statistics.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "headlight/heads/head_measure.h"
#include "headlight/heads/measured_heads.h"

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

void measure_head(base::ThreadPool& threads, const AttentionRun& run,
                  const std::vector<int64_t>& key_counts, MeasuredHead& head,
                  const std::function<void(const Tensor& weights)>& see) {
  const std::string& place = run.step.report.place;
  HeadMeasure measure(place.ends_with(".self"));
  tensor::Arena arena;
  const kernels::Execution execution{threads, arena};
  const int64_t queries = run.step.input("query")->value.size(1);
  const autograd::Inside& inside = *run.step.report.inside;
  const Tensor all_weights = inside.stage(execution, ScoreStage::weights, head.index, {0, queries});
  const Tensor masked = inside.stage(execution, ScoreStage::masked, head.index, {0, queries});
  const int64_t keys = all_weights.size(2);
  const Tensor weights = all_weights.slice(0, 0, 1).reshaped({queries, keys});
  for (int64_t row = 0; row < queries; ++row) {
    measure.add_row(row, masked.data<float>() + row * keys, weights.data<float>() + row * keys,
                    key_counts);
  }
  HeadStatistics& statistics = head.statistics;
  statistics.place = place;
  statistics.head = run.number_of(head.index);
  measure.write(statistics);
  statistics.output_difference = output_difference(threads, run, weights, head.index);
  head.first_share = measure.first_share();
  if (see) see(weights);
}

bool reports_attention(const autograd::Recording::Step& step) {
  return !step.is_name() && step.report.operation == "attention";
}

// How common each key of an attention is.
std::vector<int64_t> counts_of_keys(const std::string& place, const models::Batch& batch,
                                    const std::vector<int64_t>& counts) {
  const bool keys_are_source =
      batch.source_ids.defined() && (place.starts_with("encoder.") || place.ends_with(".cross"));
  const Tensor& ids = keys_are_source ? batch.source_ids : batch.ids;
  return id_counts({ids.data<int64_t>(), static_cast<size_t>(ids.elements())}, counts);
}

}  // namespace

MeasuredHeads measure_heads(base::ThreadPool& threads, const autograd::Recording& recording,
                            const models::Batch& batch, const std::vector<int64_t>& counts,
                            const SeeWeights& see) {
  MeasuredHeads all;
  std::vector<const autograd::Recording::Step*> steps;
  std::vector<std::vector<int64_t>> key_counts;
  for (const autograd::Recording::Step& step : recording.steps()) {
    if (!reports_attention(step)) continue;
    const auto heads = static_cast<int64_t>(step.number("heads"));
    key_counts.push_back(counts_of_keys(step.report.place, batch, counts));
    all.attentions.push_back({step.report.place, heads, step.input("query")->value.size(1),
                              std::ssize(key_counts.back())});
    for (int64_t head = 0; head < heads; ++head) {
      all.heads.push_back({.attention = steps.size(), .index = head});
    }
    steps.push_back(&step);
  }
  // Heads are measured side by side, each by one thread.
  threads.parallel_for(std::ssize(all.heads), [&](int64_t i, int /*worker*/) {
    const auto at = static_cast<size_t>(i);
    MeasuredHead& head = all.heads[at];
    const autograd::Recording::Step& step = *steps[head.attention];
    const AttentionRun run{recording, step, static_cast<int64_t>(step.number("heads")),
                           static_cast<int64_t>(step.number("kv_heads"))};
    measure_head(threads, run, key_counts[head.attention], head, [&](const Tensor& weights) {
      if (see) see(at, weights);
    });
  });
  return all;
}

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
  for (MeasuredHead& head : measure_heads(threads, recording, batch, counts).heads) {
    all.push_back(std::move(head.statistics));
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
