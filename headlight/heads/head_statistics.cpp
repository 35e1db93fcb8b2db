// Entropy, distance and role of heads, from their reconstructed weights.
#include "headlight/heads/head_statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

namespace headlight::heads {
namespace {

using kernels::ScoreStage;
using tensor::Tensor;

constexpr double kUniform = 0.95;  // of the largest possible entropy
constexpr double kShare = 0.5;     // of the weights

// A mean over the rows that have a say.
struct Mean {
  double sum = 0;
  int64_t count = 0;

  void add(double value) {
    sum += value;
    ++count;
  }
  double value() const { return count == 0 ? 0 : sum / static_cast<double>(count); }
};

constexpr std::array<HeadRole, 5> kRoles = {HeadRole::previous, HeadRole::next, HeadRole::first,
                                            HeadRole::self, HeadRole::rarest};

// One head's weights, row by row.
class HeadMeasure {
 public:
  HeadMeasure(bool is_self, std::vector<int64_t> key_counts)
      : is_self_(is_self), key_counts_(std::move(key_counts)) {}

  // The keys that the row sees are those whose masked score is not -infinity.
  void add_row(int64_t row, const float* masked_scores, const float* weights, int64_t keys) {
    std::vector<int64_t> seen;
    for (int64_t j = 0; j < keys; ++j) {
      if (masked_scores[j] != -std::numeric_limits<float>::infinity()) seen.push_back(j);
    }
    if (seen.size() < 2) return;
    double entropy = 0;
    double distance = 0;
    for (const int64_t j : seen) {
      const double weight = weights[j];
      if (weight > 0) entropy -= weight * std::log(weight);
      distance += weight * static_cast<double>(std::abs(row - j));
    }
    entropy_.add(entropy);
    relative_.add(entropy / std::log(static_cast<double>(seen.size())));
    distance_.add(distance);
    for (size_t r = 0; r < kRoles.size(); ++r) {
      const std::optional<int64_t> key = key_of(kRoles[r], row, seen);
      if (key) shares_[r].add(weights[*key]);
    }
    keys_.resize(static_cast<size_t>(keys));
    for (const int64_t j : seen) keys_[static_cast<size_t>(j)].add(weights[j]);
  }

  void write(HeadStatistics& to) const {
    to.entropy = entropy_.value();
    to.relative_entropy = relative_.value();
    to.mean_distance = distance_.value();
    to.selectivity = selectivity();
    for (size_t r = 0; r < kRoles.size(); ++r) take(kRoles[r], shares_[r], to);
    for (size_t j = 0; j < keys_.size(); ++j) {
      if (take(HeadRole::one_token, keys_[j], to)) to.key = static_cast<int64_t>(j);
    }
    if (to.relative_entropy >= kUniform) {
      to.role = HeadRole::uniform;
      to.measure = to.relative_entropy;
    }
    if (to.role != HeadRole::one_token) to.key = -1;
  }

 private:
  // Whether the share is the largest so far, of rows enough.
  bool take(HeadRole role, const Mean& share, HeadStatistics& to) const {
    if (2 * share.count < entropy_.count || share.value() <= to.measure) return false;
    to.role = share.value() >= kShare ? role : HeadRole::none;
    to.measure = share.value();
    return true;
  }

  double selectivity() const {
    double entropy = 0;
    for (const Mean& key : keys_) {
      const double weight = key.sum / static_cast<double>(entropy_.count);
      if (weight > 0) entropy -= weight * std::log(weight);
    }
    return std::max(0.0, entropy - entropy_.value());
  }

  // The key that a role would look at from this row, when the row sees it.
  std::optional<int64_t> key_of(HeadRole role, int64_t row,
                                const std::vector<int64_t>& seen) const {
    if (role == HeadRole::first) return seen.front();
    if (role == HeadRole::rarest) return rarest(seen);
    if (!is_self_) return {};
    const int64_t key = role == HeadRole::previous ? row - 1
                        : role == HeadRole::next   ? row + 1
                                                   : row;
    if (std::find(seen.begin(), seen.end(), key) == seen.end()) return {};
    return key;
  }

  std::optional<int64_t> rarest(const std::vector<int64_t>& seen) const {
    const auto count = [this](int64_t key) { return key_counts_[static_cast<size_t>(key)]; };
    const auto least = std::ranges::min_element(seen, {}, count);
    const bool is_first = least == seen.begin();  // a role of its own
    if (is_first || std::ranges::count(seen, count(*least), count) != 1) return {};
    return *least;
  }

  bool is_self_;
  std::vector<int64_t> key_counts_;
  Mean entropy_, relative_, distance_;
  std::array<Mean, kRoles.size()> shares_;
  std::vector<Mean> keys_;  // what each key gets of the rows that see it
};

// How often each of these ids stands in what is counted.
std::vector<int64_t> counts_of(const Tensor& ids, const std::vector<int64_t>& counts) {
  std::vector<int64_t> result;
  const int64_t* all = ids.data<int64_t>();
  for (int64_t i = 0; i < ids.elements(); ++i) {
    const auto id = static_cast<size_t>(all[i]);
    result.push_back(counts.empty()       ? std::count(all, all + ids.elements(), all[i])
                     : id < counts.size() ? counts[id]
                                          : 0);
  }
  return result;
}

// What heads of one attention are measured from.
struct AttentionRun {
  const autograd::Recording& recording;
  const autograd::Recording::Step& step;
  int64_t heads;
  int64_t kv_heads;

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
  const Tensor value = run.head_of(run.step.input("value")->value.data(), run.kv_heads,
                                   head / (run.heads / run.kv_heads));
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
  HeadMeasure measure(place.ends_with(".self"), key_counts);
  tensor::Arena arena;
  const kernels::Execution execution{threads, arena};
  const int64_t queries = run.step.input("query")->value.size(1);
  const autograd::Inside& inside = *run.step.report.inside;
  const Tensor weights = inside.stage(execution, ScoreStage::weights, head, {0, queries});
  const Tensor masked = inside.stage(execution, ScoreStage::masked, head, {0, queries});
  const int64_t keys = weights.size(2);
  for (int64_t row = 0; row < queries; ++row) {
    measure.add_row(row, masked.data<float>() + row * keys, weights.data<float>() + row * keys,
                    keys);
  }
  HeadStatistics statistics{.place = place, .head = head};
  measure.write(statistics);
  statistics.output_difference =
      output_difference(threads, run, weights.slice(0, 0, 1).reshaped({queries, keys}), head);
  return statistics;
}

}  // namespace

std::string_view name_of(HeadRole role) {
  constexpr std::array<std::string_view, 8> kNames = {"previous", "next",      "first",   "self",
                                                      "rarest",   "one_token", "uniform", "none"};
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
    const bool reads_source =
        batch.source_ids.defined() && (place.starts_with("encoder.") || place.ends_with(".cross"));
    const AttentionRun run{recording, step, static_cast<int64_t>(step.number("heads")),
                           static_cast<int64_t>(step.number("kv_heads"))};
    const std::vector<int64_t> key_counts =
        counts_of(reads_source ? batch.source_ids : batch.ids, counts);
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
