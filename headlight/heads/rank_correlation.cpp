// Sums of products, of numbers and of their ranks.
#include "headlight/heads/rank_correlation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "headlight/base/base.h"

namespace headlight::heads {
namespace {

void check_counts(std::span<const double> a, std::span<const double> b) {
  if (a.size() == b.size()) return;
  base::refuse("correlation", std::to_string(a.size()) + " and " + std::to_string(b.size()),
               "numbers are not of the same things");
}

std::vector<double> ranks_of(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  for (size_t first = 0; first < order.size();) {
    size_t last = first;
    while (last + 1 < order.size() && values[order[last + 1]] == values[order[first]]) ++last;
    const double shared = static_cast<double>(first + last) / 2;
    for (size_t i = first; i <= last; ++i) ranks[order[i]] = shared;
    first = last + 1;
  }
  return ranks;
}

bool has_no_number(std::span<const double> values) {
  return std::ranges::any_of(values, [](double value) { return std::isnan(value); });
}

}  // namespace

double correlation(std::span<const double> a, std::span<const double> b) {
  check_counts(a, b);
  const auto count = static_cast<double>(a.size());
  double mean_a = 0;
  double mean_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    mean_a += a[i] / count;
    mean_b += b[i] / count;
  }
  double both = 0;
  double of_a = 0;
  double of_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    both += (a[i] - mean_a) * (b[i] - mean_b);
    of_a += (a[i] - mean_a) * (a[i] - mean_a);
    of_b += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return both / std::sqrt(of_a * of_b);
}

double rank_correlation(std::span<const double> a, std::span<const double> b) {
  check_counts(a, b);
  if (has_no_number(a) || has_no_number(b)) return std::numeric_limits<double>::quiet_NaN();
  return correlation(ranks_of(a), ranks_of(b));
}

}  // namespace headlight::heads
