// What is kept of a row of logits, and the draw.
#include "headlight/infer/sampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "headlight/base/base.h"

namespace headlight::infer {
namespace {

using base::Error;
using base::ErrorKind;

// Small, since there is one for each id of the vocabulary; vocabularies have less than 2^31 ids.
struct Scored {
  float logit = 0;
  float weight = 0;  // proportional to the probability; 1 for the highest logit
  int32_t id = 0;
};

bool is_likelier(const Scored& a, const Scored& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

void require(bool is_right, const char* option, double value, const char* range) {
  if (is_right) return;
  throw Error(ErrorKind::bad_input, "sampling", option,
              "is " + std::to_string(value) + ", must be " + range);
}

// NaN and +infinity are mistakes wherever they stand.
float highest(std::span<const float> logits) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  // Several at a time: this runs over the whole vocabulary for each new id.
  constexpr size_t kLanes = 16;
  std::array<float, kLanes> best;
  std::array<int, kLanes> mistakes = {};
  best.fill(-kInfinity);
  const auto look = [&](size_t lane, float logit) {
    best[lane] = logit > best[lane] ? logit : best[lane];
    mistakes[lane] |= logit < kInfinity ? 0 : 1;
  };
  size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) look(lane, logits[i + lane]);
  }
  for (; i < logits.size(); ++i) look(0, logits[i]);
  const float result = *std::ranges::max_element(best);
  if (std::ranges::count(mistakes, 0) != kLanes || result == -kInfinity) {
    throw Error(ErrorKind::failed, "sampling", "logits",
                "are not finite; the model's weights are too large or not finite");
  }
  return result;
}

std::vector<float> penalized(std::span<const float> logits, std::span<const int64_t> history,
                             float penalty) {
  std::vector<float> all(logits.begin(), logits.end());
  // However often an id is there, it is penalised once; each time starts from its own logit.
  for (const int64_t id : history) {
    const float logit = logits[static_cast<size_t>(id)];
    all[static_cast<size_t>(id)] = logit > 0 ? logit / penalty : logit * penalty;
  }
  return all;
}

// The `count`-th highest logit: of a heap of the highest, with the lowest of them on top, at which
// most others only look.
float high_logit(std::span<const float> logits, int64_t count) {
  std::vector<float> heap(logits.begin(), logits.begin() + count);
  std::ranges::make_heap(heap, std::greater<>());
  for (const float logit : logits.subspan(heap.size())) {
    if (logit <= heap.front()) continue;
    std::ranges::pop_heap(heap, std::greater<>());
    heap.back() = logit;
    std::ranges::push_heap(heap, std::greater<>());
  }
  return heap.front();
}

// By id. What top-k leaves out is never written down.
std::vector<Scored> kept_by_top_k(std::span<const float> logits, int64_t top_k) {
  const bool keeps_all = top_k == 0 || top_k >= static_cast<int64_t>(logits.size());
  const float lowest =
      keeps_all ? -std::numeric_limits<float>::infinity() : high_logit(logits, top_k);
  std::vector<Scored> scored;
  if (keeps_all) scored.reserve(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] >= lowest) scored.push_back({logits[i], 0, static_cast<int32_t>(i)});
  }
  return scored;
}

double total_weight(const std::vector<Scored>& scored) {
  double total = 0;
  for (const Scored& entry : scored) total += static_cast<double>(entry.weight);
  return total;
}

void keep_top_p(std::vector<Scored>& scored, float top_p) {
  if (top_p >= 1) return;
  const double total = total_weight(scored);
  const double wanted = static_cast<double>(top_p) * total;
  // All that lie below this together make no more than what may go: most need no sorting.
  const double cutoff = (total - wanted) / static_cast<double>(scored.size());
  std::erase_if(scored, [&](const Scored& entry) {
    return entry.weight < 1 && static_cast<double>(entry.weight) < cutoff;
  });
  std::ranges::sort(scored, is_likelier);
  double sum = 0;
  size_t count = 0;
  do {
    sum += static_cast<double>(scored[count++].weight);
  } while (sum < wanted && count < scored.size());
  scored.resize(count);
}

// `tell` is given what is left after each of top-k, top-p and min-p.
template <class Tell>
std::vector<Scored> kept(std::span<const float> logits, std::span<const int64_t> history,
                         const SamplingOptions& options, const Tell& tell) {
  highest(logits);
  std::vector<float> changed;
  if (options.repetition_penalty != 1) {
    changed = penalized(logits, history, options.repetition_penalty);
    logits = changed;
  }
  const auto best = std::ranges::max_element(logits);
  const auto best_id = static_cast<int32_t>(best - logits.begin());
  if (options.temperature == 0) return {{*best, 1, best_id}};
  std::vector<Scored> scored = kept_by_top_k(logits, options.top_k);
  tell(Sampler::Stages::kTopK, scored);
  for (Scored& entry : scored) {
    const float below = entry.logit - *best;
    entry.weight = below == 0 ? 1 : std::exp(below / options.temperature);
  }
  keep_top_p(scored, options.top_p);
  tell(Sampler::Stages::kTopP, scored);
  std::erase_if(scored, [&](const Scored& entry) { return entry.weight < options.min_p; });
  tell(Sampler::Stages::kMinP, scored);
  return scored;
}

std::vector<Scored> kept(std::span<const float> logits, std::span<const int64_t> history,
                         const SamplingOptions& options) {
  return kept(logits, history, options, [](uint8_t, const std::vector<Scored>&) {});
}

}  // namespace

std::vector<int64_t> top_ids(std::span<const float> logits, size_t count) {
  const auto is_better = [&](int64_t a, int64_t b) {
    const float logit_a = logits[static_cast<size_t>(a)];
    const float logit_b = logits[static_cast<size_t>(b)];
    return logit_a != logit_b ? logit_a > logit_b : a < b;
  };
  // A heap of the best so far with the worst of them on top: most ids only look at it.
  std::vector<int64_t> heap;
  if (count == 0) return heap;
  for (size_t i = 0; i < logits.size(); ++i) {
    const auto id = static_cast<int64_t>(i);
    if (heap.size() == count) {
      if (!is_better(id, heap.front())) continue;
      std::ranges::pop_heap(heap, is_better);
      heap.pop_back();
    }
    heap.push_back(id);
    std::ranges::push_heap(heap, is_better);
  }
  std::ranges::sort_heap(heap, is_better);
  return heap;
}

Sampler::Sampler(const SamplingOptions& options) : options_(options) {
  const auto is_within = [](float number, float lowest, float highest) {
    return number >= lowest && number <= highest;
  };
  constexpr float kLargest = std::numeric_limits<float>::max();
  require(is_within(options.temperature, 0, kLargest), "temperature", options.temperature,
          "0 or more");
  require(options.top_k >= 0, "top_k", static_cast<double>(options.top_k), "0 or more");
  require(is_within(options.top_p, 0, 1), "top_p", options.top_p, "from 0 to 1");
  require(is_within(options.min_p, 0, 1), "min_p", options.min_p, "from 0 to 1");
  require(is_within(options.repetition_penalty, 0, kLargest) && options.repetition_penalty > 0,
          "repetition_penalty", options.repetition_penalty, "above 0");
}

std::vector<Sampler::Candidate> Sampler::candidates(std::span<const float> logits,
                                                    std::span<const int64_t> history) const {
  const std::vector<Scored> scored = kept(logits, history, options_);
  const double total = total_weight(scored);
  std::vector<Candidate> result;
  result.reserve(scored.size());
  for (const Scored& entry : scored)
    result.push_back({entry.id, static_cast<double>(entry.weight) / total});
  return result;
}

Sampler::Stages Sampler::stages(std::span<const float> logits,
                                std::span<const int64_t> history) const {
  const auto size = static_cast<int64_t>(logits.size());
  Stages stages{.top_k = size, .top_p = size, .min_p = size};
  const float divisor = options_.temperature == 0 ? 1 : options_.temperature;
  stages.penalized = penalized(logits, history, options_.repetition_penalty);
  for (const float logit : stages.penalized) stages.tempered.push_back(logit / divisor);
  constexpr uint8_t kAll = Stages::kTopK | Stages::kTopP | Stages::kMinP;
  stages.kept.assign(logits.size(), options_.temperature == 0 ? kAll : 0);
  const auto tell = [&](uint8_t stage, const std::vector<Scored>& left) {
    for (const Scored& entry : left) stages.kept[static_cast<size_t>(entry.id)] |= stage;
    (stage == Stages::kTopK   ? stages.top_k
     : stage == Stages::kTopP ? stages.top_p
                              : stages.min_p) = std::ssize(left);
  };
  const std::vector<Scored> scored = kept(logits, history, options_, tell);
  const double total = total_weight(scored);
  stages.drawn_with.assign(logits.size(), 0);
  for (const Scored& entry : scored) {
    stages.drawn_with[static_cast<size_t>(entry.id)] = static_cast<double>(entry.weight) / total;
  }
  return stages;
}

int64_t Sampler::choose(std::span<const float> logits, std::span<const int64_t> history,
                        const Draw& draw) const {
  if (options_.temperature == 0 && options_.repetition_penalty == 1) {
    return std::ranges::find(logits, highest(logits)) - logits.begin();
  }
  const std::vector<Scored> scored = kept(logits, history, options_);
  const base::Random random(
      base::mix(base::mix(options_.seed, base::name_key("infer.sampler")), draw.sequence));
  double left = random.uniform64(draw.position) * total_weight(scored);
  int64_t chosen = scored.front().id;
  for (const Scored& entry : scored) {
    // Rounding may leave a little after the last one; ids that cannot be drawn are passed over.
    if (entry.weight == 0) continue;
    chosen = entry.id;
    left -= static_cast<double>(entry.weight);
    if (left < 0) break;
  }
  return chosen;
}

}  // namespace headlight::infer
