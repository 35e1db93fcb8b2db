// Selecting the heaviest without sorting all.
#include "headlight/explain/edges.h"

#include <algorithm>
#include <numeric>

namespace headlight::explain {
namespace {

bool is_before(const Edge& a, const Edge& b) {
  if (a.weight != b.weight) return a.weight > b.weight;
  return a.query != b.query ? a.query < b.query : a.key < b.key;
}

double sum_of(std::vector<Edge>::const_iterator begin, std::vector<Edge>::const_iterator end) {
  return std::accumulate(begin, end, 0.0,
                         [](double sum, const Edge& edge) { return sum + edge.weight; });
}

// How many of the heaviest weigh this much together; puts them before the others.
int64_t gather_heaviest(std::vector<Edge>& edges, double wanted) {
  auto low = edges.begin();
  auto high = edges.end();
  while (high - low > 1) {
    const auto middle = low + (high - low) / 2;
    std::nth_element(low, middle, high, is_before);
    const double sum = sum_of(low, middle);
    if (sum >= wanted) {
      high = middle;
    } else {
      wanted -= sum;
      low = middle;
    }
  }
  return wanted > 0 ? high - edges.begin() : low - edges.begin();
}

}  // namespace

Edges strongest_edges(const tensor::Tensor& weights, const EdgeOptions& options) {
  const int rank = weights.rank();
  if (weights.dtype() != tensor::DType::f32 || rank < 2 || rank > 3 ||
      (rank == 3 && weights.size(0) != 1)) {
    base::refuse("edges", weights.shape().text(), "one head's weights are needed, (T, S)");
  }
  const tensor::Tensor dense = weights.contiguous();
  const int64_t queries = dense.size(-2);
  const int64_t keys = dense.size(-1);
  std::vector<int64_t> rows = options.rows;
  if (rows.empty()) {
    rows.resize(static_cast<size_t>(queries));
    std::iota(rows.begin(), rows.end(), 0);
  }
  std::ranges::sort(rows);
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  std::vector<Edge> all;
  Edges found{.rows = std::ssize(rows)};
  double mass = 0;
  for (const int64_t row : rows) {
    if (row < 0 || row >= queries) {
      base::refuse("edges", "row " + std::to_string(row),
                   "there are the rows 0 to " + std::to_string(queries - 1));
    }
    for (int64_t key = options.skip_first ? 1 : 0; key < keys; ++key) {
      const float weight = dense.data<float>()[row * keys + key];
      ++found.total;
      if (!(weight > 0)) continue;
      mass += weight;
      all.push_back({row, key, weight});
    }
  }
  if (all.empty()) return found;
  // Weights are floats: what lacks by their rounding alone is not worth another edge.
  constexpr double kRounding = 1e-6;
  found.needed = options.mass >= 1 ? std::ssize(all)
                                   : gather_heaviest(all, options.mass * mass * (1 - kRounding));
  const auto listed = all.begin() + std::min(found.needed, options.limit);
  std::partial_sort(all.begin(), listed, all.begin() + found.needed, is_before);
  found.edges.assign(all.begin(), listed);
  found.reached = sum_of(all.begin(), listed) / mass;
  return found;
}

io::Json::Object edges_json(const Edges& edges, const EdgeOptions& options) {
  io::Json::Array list;
  for (const Edge& edge : edges.edges) {
    list.emplace_back(io::Json::Array{edge.query, edge.key, static_cast<double>(edge.weight)});
  }
  return {{"rows", edges.rows},   {"mass", options.mass},   {"reached", edges.reached},
          {"total", edges.total}, {"needed", edges.needed}, {"edges", std::move(list)}};
}

}  // namespace headlight::explain
