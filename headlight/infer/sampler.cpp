// What is kept of a row of logits, and the draw.
#include "headlight/infer/sampler.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "headlight/base/base.h"

namespace headlight::infer {
namespace {

using base::Error;
using base::ErrorKind;

// A logit with its id, in the order in which ids are preferred.
struct Scored {
  float logit = 0;
  int64_t id = 0;
  double weight = 0;  // proportional to the probability; 1 for the highest logit
};

bool is_less_likely(const Scored& a, const Scored& b) {
  return a.logit != b.logit ? a.logit < b.logit : a.id > b.id;
}

void require(bool is_right, const char* option, double value, const char* range) {
  if (is_right) return;
  throw Error(ErrorKind::bad_input, "sampling", option,
              "is " + std::to_string(value) + ", must be " + range);
}

// Of equal logits the first. NaN and +infinity are mistakes wherever they stand.
float highest(std::span<const float> logits) {
  float result = -std::numeric_limits<float>::infinity();
  bool is_sound = true;
  for (const float logit : logits) {
    is_sound = is_sound && logit <= std::numeric_limits<float>::max();
    if (logit > result) result = logit;
  }
  if (!is_sound || !std::isfinite(result)) {
    throw Error(ErrorKind::failed, "sampling", "logits",
                "are not finite; the model's weights are too large or not finite");
  }
  return result;
}

std::vector<Scored> penalized(std::span<const float> logits, std::span<const int64_t> history,
                              float penalty) {
  std::vector<Scored> all(logits.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = {logits[i], static_cast<int64_t>(i)};
  if (penalty == 1) return all;
  // However often an id is there, it is penalised once; each time starts from its own logit.
  for (const int64_t id : history) {
    const float logit = logits[static_cast<size_t>(id)];
    all[static_cast<size_t>(id)].logit = logit > 0 ? logit / penalty : logit * penalty;
  }
  return all;
}

void keep_top_k(std::vector<Scored>& scored, int64_t top_k) {
  if (top_k == 0 || top_k >= static_cast<int64_t>(scored.size())) return;
  std::vector<float> logits(scored.size());
  std::ranges::transform(scored, logits.begin(), &Scored::logit);
  const auto last_kept = logits.begin() + (top_k - 1);
  std::nth_element(logits.begin(), last_kept, logits.end(), std::greater<>());
  std::erase_if(scored, [&](const Scored& entry) { return entry.logit < *last_kept; });
}

// A heap gives the likeliest one by one, so that only what is kept gets sorted.
void keep_top_p(std::vector<Scored>& scored, float top_p) {
  if (top_p >= 1) return;
  double total = 0;
  for (const Scored& entry : scored) total += entry.weight;
  std::make_heap(scored.begin(), scored.end(), is_less_likely);
  double sum = 0;
  auto kept = scored.end();
  do {
    std::pop_heap(scored.begin(), kept, is_less_likely);
    sum += (--kept)->weight;
  } while (sum < static_cast<double>(top_p) * total && kept != scored.begin());
  scored.erase(scored.begin(), kept);
}

std::vector<Scored> kept(std::span<const float> logits, std::span<const int64_t> history,
                         const SamplingOptions& options) {
  highest(logits);
  std::vector<Scored> scored = penalized(logits, history, options.repetition_penalty);
  const Scored best = *std::ranges::max_element(scored, is_less_likely);
  if (options.temperature == 0) return {{best.logit, best.id, 1}};
  keep_top_k(scored, options.top_k);
  for (Scored& entry : scored) {
    const double below = static_cast<double>(entry.logit) - static_cast<double>(best.logit);
    entry.weight = below == 0 ? 1 : std::exp(below / static_cast<double>(options.temperature));
  }
  keep_top_p(scored, options.top_p);
  std::erase_if(scored, [&](const Scored& entry) {
    return entry.weight < static_cast<double>(options.min_p);
  });
  return scored;
}

double total_weight(const std::vector<Scored>& scored) {
  double total = 0;
  for (const Scored& entry : scored) total += entry.weight;
  return total;
}

}  // namespace

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
  for (const Scored& entry : scored) result.push_back({entry.id, entry.weight / total});
  return result;
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
    left -= entry.weight;
    if (left < 0) break;
  }
  return chosen;
}

}  // namespace headlight::infer
