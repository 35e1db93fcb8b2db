// Entropy, distance and role of heads, from their reconstructed weights.
#include "headlight/explain/head_statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "headlight/explain/row_statistics.h"

namespace headlight::explain {
namespace {

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
  HeadMeasure(bool is_self, bool causal, std::vector<int64_t> key_counts)
      : is_self_(is_self), causal_(causal), key_counts_(std::move(key_counts)) {}

  void add_row(int64_t row, const float* weights, int64_t keys) {
    const int64_t seen = causal_ ? std::min(row + 1, keys) : keys;
    if (seen < 2) return;
    double entropy = 0;
    double distance = 0;
    for (int64_t j = 0; j < seen; ++j) {
      const double weight = weights[j];
      if (weight > 0) entropy -= weight * std::log(weight);
      distance += weight * static_cast<double>(std::abs(row - j));
    }
    entropy_.add(entropy);
    relative_.add(entropy / std::log(static_cast<double>(seen)));
    distance_.add(distance);
    for (size_t r = 0; r < kRoles.size(); ++r) {
      const std::optional<int64_t> key = key_of(kRoles[r], row, seen);
      if (key) shares_[r].add(weights[*key]);
    }
  }

  void write(HeadStatistics& to) const {
    to.entropy = entropy_.value();
    to.relative_entropy = relative_.value();
    to.mean_distance = distance_.value();
    for (size_t r = 0; r < kRoles.size(); ++r) {
      const Mean& share = shares_[r];
      if (2 * share.count < entropy_.count || share.value() <= to.measure) continue;
      to.role = share.value() >= kShare ? kRoles[r] : HeadRole::none;
      to.measure = share.value();
    }
    if (to.relative_entropy < kUniform) return;
    to.role = HeadRole::uniform;
    to.measure = to.relative_entropy;
  }

 private:
  // The key that a role would look at from this row, when the row sees it.
  std::optional<int64_t> key_of(HeadRole role, int64_t row, int64_t seen) const {
    if (role == HeadRole::first) return 0;
    if (role == HeadRole::rarest) return rarest(seen);
    if (!is_self_) return {};
    const int64_t key = role == HeadRole::previous ? row - 1
                        : role == HeadRole::next   ? row + 1
                                                   : row;
    if (key < 0 || key >= seen) return {};
    return key;
  }

  std::optional<int64_t> rarest(int64_t seen) const {
    const auto end = key_counts_.begin() + seen;
    const auto least = std::min_element(key_counts_.begin(), end);
    const bool is_first = least == key_counts_.begin();  // a role of its own
    if (is_first || std::count(key_counts_.begin(), end, *least) != 1) return {};
    return least - key_counts_.begin();
  }

  bool is_self_;
  bool causal_;
  std::vector<int64_t> key_counts_;
  Mean entropy_, relative_, distance_;
  std::array<Mean, kRoles.size()> shares_;
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

double output_difference(const Trace& trace, const std::string& prefix, const Tensor& weights,
                         int64_t kv_head) {
  const std::string place = prefix.substr(0, prefix.find(".head."));
  const Tensor value = trace.values(place + ".head." + std::to_string(kv_head) + ".value");
  const Tensor output = trace.values(prefix + ".head_output");
  const Tensor again = Tensor::uninitialized(tensor::DType::f32, output.shape());
  tensor::Arena arena;
  kernels::matmul({trace.threads(), arena}, weights.matrix(), value.matrix(), again.matrix());
  return largest_difference(again, output);
}

HeadStatistics measured(const Trace& trace, const std::string& place, int64_t head,
                        const std::vector<int64_t>& counts) {
  const TracedTensor& traced = trace.at(place + ".weights");
  const bool is_self = place.ends_with(".self");
  const Tensor ids = traced.axes[3] == Axis::source_token ? trace.input().batch.source_ids
                                                          : trace.input().batch.ids;
  HeadMeasure measure(is_self, trace.at(place + ".masked_scores").number("causal") != 0,
                      counts_of(ids, counts));
  const std::string prefix = place + ".head." + std::to_string(head);
  const Tensor weights = trace.values(prefix + ".weights");
  const int64_t keys = weights.size(2);
  for (int64_t row = 0; row < weights.size(1); ++row) {
    measure.add_row(row, weights.data<float>() + row * keys, keys);
  }
  HeadStatistics statistics{.place = place, .head = head};
  measure.write(statistics);
  const int64_t group = traced.shape[1] / trace.at(place + ".value").shape[1];
  statistics.output_difference = output_difference(trace, prefix, weights, head / group);
  return statistics;
}

}  // namespace

std::string_view name_of(HeadRole role) {
  constexpr std::array<std::string_view, 7> kNames = {"previous", "next",    "first", "self",
                                                      "rarest",   "uniform", "none"};
  return kNames[static_cast<size_t>(role)];
}

std::vector<HeadStatistics> head_statistics(const Trace& trace,
                                            const std::vector<int64_t>& counts) {
  constexpr std::string_view kWeights = ".weights";
  std::vector<HeadStatistics> all;
  for (const TracedTensor& tensor : trace.tensors()) {
    if (!tensor.variant.empty() || !tensor.name.ends_with(kWeights)) continue;
    const std::string place = tensor.name.substr(0, tensor.name.size() - kWeights.size());
    for (int64_t head = 0; head < tensor.shape[1]; ++head) {
      all.push_back(measured(trace, place, head, counts));
    }
  }
  return all;
}

}  // namespace headlight::explain
