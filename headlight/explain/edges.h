// Edges: the few places where a head looks that make up most of its attention.
#pragma once

#include <vector>

#include "headlight/io/io.h"
#include "headlight/tensor/tensor.h"

namespace headlight::explain {

struct EdgeOptions {
  double mass = 0.9;               // the share of all weights that the edges make up, 0 to 1
  int64_t limit = 256;             // of edges
  std::vector<int64_t> rows = {};  // that look; empty: all
  bool skip_first = false;         // what looks at the first key does not count
};

struct Edge {
  int64_t query = 0;
  int64_t key = 0;
  float weight = 0;
};

struct Edges {
  int64_t rows = 0;              // that look
  int64_t total = 0;             // edges that there are, of whatever weight
  int64_t needed = 0;            // the fewest that make up the mass
  double reached = 0;            // the share that those listed have
  std::vector<Edge> edges = {};  // the heaviest first; of equals the upper row, then the left key
};

// Of one head's weights, (T, S) or (1, T, S). Throws Error(bad_input) for a row that there is not
// and for another shape.
Edges strongest_edges(const tensor::Tensor& weights, const EdgeOptions& options);

// {"rows", "mass", "reached", "total", "needed", "edges": [[query, key, weight], ...]}.
io::Json::Object edges_json(const Edges& edges, const EdgeOptions& options);

}  // namespace headlight::explain
