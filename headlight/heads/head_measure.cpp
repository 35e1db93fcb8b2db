// Entropy, distance, shares of roles: sums over rows.
#include "headlight/heads/head_measure.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headlight::heads {
namespace {

constexpr double kUniform = 0.95;  // of the largest possible entropy
constexpr double kShare = 0.5;     // of the weights

// The key that is less common than all others, where that is not the first.
std::optional<int64_t> rarest_key(const std::vector<int64_t>& seen,
                                  std::span<const int64_t> key_counts) {
  const auto count = [key_counts](int64_t key) { return key_counts[static_cast<size_t>(key)]; };
  const auto least = std::ranges::min_element(seen, {}, count);
  const bool is_first = least == seen.begin();  // a role of its own
  if (is_first || std::ranges::count(seen, count(*least), count) != 1) return {};
  return *least;
}

}  // namespace

void HeadMeasure::add_row(int64_t row, const float* masked_scores, const float* weights,
                          std::span<const int64_t> key_counts) {
  const auto keys = static_cast<int64_t>(key_counts.size());
  std::vector<int64_t> seen;
  for (int64_t j = 0; j < keys; ++j) {
    if (masked_scores[j] != -std::numeric_limits<float>::infinity()) seen.push_back(j);
  }
  if (seen.size() < 2) return;
  double entropy = 0;
  double distance = 0;
  double most = 0;
  for (const int64_t j : seen) {
    const double weight = weights[j];
    if (weight > 0) entropy -= weight * std::log(weight);
    distance += weight * static_cast<double>(std::abs(row - j));
    most = std::max(most, weight);
  }
  entropy_.add(entropy);
  relative_.add(entropy / std::log(static_cast<double>(seen.size())));
  distance_.add(distance);
  confidence_.add(most);
  for (size_t r = 0; r < kRoles.size(); ++r) {
    const std::optional<int64_t> key = key_of(kRoles[r], row, seen, key_counts);
    if (key) shares_[r].add(weights[*key]);
  }
  keys_.resize(std::max(keys_.size(), static_cast<size_t>(keys)));
  for (const int64_t j : seen) keys_[static_cast<size_t>(j)].add(weights[j]);
}

void HeadMeasure::add(const HeadMeasure& other) {
  entropy_.add(other.entropy_);
  relative_.add(other.relative_);
  distance_.add(other.distance_);
  confidence_.add(other.confidence_);
  for (size_t r = 0; r < kRoles.size(); ++r) shares_[r].add(other.shares_[r]);
  keys_.resize(std::max(keys_.size(), other.keys_.size()));
  for (size_t j = 0; j < other.keys_.size(); ++j) keys_[j].add(other.keys_[j]);
}

void HeadMeasure::append_to(std::vector<double>& numbers) const {
  const auto append = [&numbers](const RowMean& mean) {
    numbers.insert(numbers.end(), {mean.sum, static_cast<double>(mean.count)});
  };
  for (const RowMean* mean : {&entropy_, &relative_, &distance_, &confidence_}) append(*mean);
  for (const RowMean& share : shares_) append(share);
  numbers.push_back(static_cast<double>(keys_.size()));
  for (const RowMean& key : keys_) append(key);
}

void HeadMeasure::read_from(const std::vector<double>& numbers, size_t& at) {
  const auto read = [&numbers, &at](RowMean& mean) {
    mean = {numbers[at], static_cast<int64_t>(numbers[at + 1])};
    at += 2;
  };
  for (RowMean* mean : {&entropy_, &relative_, &distance_, &confidence_}) read(*mean);
  for (RowMean& share : shares_) read(share);
  keys_.resize(static_cast<size_t>(numbers[at++]));
  for (RowMean& key : keys_) read(key);
}

void HeadMeasure::write(HeadStatistics& to) const {
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

// Whether the share is the largest so far, of rows enough.
bool HeadMeasure::take(HeadRole role, const RowMean& share, HeadStatistics& to) const {
  if (2 * share.count < entropy_.count || share.value() <= to.measure) return false;
  to.role = share.value() >= kShare ? role : HeadRole::none;
  to.measure = share.value();
  return true;
}

double HeadMeasure::selectivity() const {
  double entropy = 0;
  for (const RowMean& key : keys_) {
    const double weight = key.sum / static_cast<double>(entropy_.count);
    if (weight > 0) entropy -= weight * std::log(weight);
  }
  return std::max(0.0, entropy - entropy_.value());
}

// The key that a role would look at from this row, when the row sees it.
std::optional<int64_t> HeadMeasure::key_of(HeadRole role, int64_t row,
                                           const std::vector<int64_t>& seen,
                                           std::span<const int64_t> key_counts) const {
  if (role == HeadRole::first) return seen.front();
  if (role == HeadRole::rarest) return rarest_key(seen, key_counts);
  if (!is_self_) return {};
  const int64_t key = role == HeadRole::previous ? row - 1 : role == HeadRole::next ? row + 1 : row;
  if (!std::ranges::binary_search(seen, key)) return {};  // they are in order
  return key;
}

std::vector<int64_t> id_counts(std::span<const int64_t> ids, const std::vector<int64_t>& counts) {
  std::vector<int64_t> result;
  for (const int64_t id : ids) {
    const auto at = static_cast<size_t>(id);
    result.push_back(counts.empty()       ? std::ranges::count(ids, id)
                     : at < counts.size() ? counts[at]
                                          : 0);
  }
  return result;
}

}  // namespace headlight::heads
