// The map of all heads of a run: a small picture of what each looks at, with what was measured.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headlight/heads/behaviour.h"
#include "headlight/heads/head_statistics.h"

namespace headlight::heads {

struct HeadMapOptions {
  int64_t side = 24;     // most rows and columns of a picture
  bool by_mean = false;  // blocks show their mean, or else their largest weight
};

struct MappedPlace {
  std::string place;  // "decoder.0.self"
  int64_t heads = 0;
  int64_t queries = 0;
  int64_t keys = 0;

  std::string stack() const;  // "decoder"
  int64_t layer() const;
  std::string kind() const;  // "self" or "cross"
};

struct MappedHead {
  HeadStatistics statistics = {};
  size_t place = 0;        // of the map's places
  int64_t index = 0;       // among the heads that there are
  double first_share = 0;  // mean weight on the first key, of rows that see more than one
  tensor::Tensor picture = {};
  int64_t row_step = 1;  // cells of a block
  int64_t col_step = 1;
  // Where they have been measured besides: see behaviour.h and importance.h.
  std::optional<double> induction = {};
  std::optional<double> duplicate = {};
  std::optional<double> importance = {};
};

struct HeadMap {
  std::vector<MappedPlace> places = {};
  std::vector<MappedHead> heads = {};

  // Of self-attention heads: the mean of what goes to the first token, and how many of them put at
  // least one half there.
  double sink_share() const;
  int64_t sink_heads() const;
};

// As head_statistics, with pictures.
HeadMap map_heads(base::ThreadPool& threads, const autograd::Recording& recording,
                  const models::Batch& batch, const HeadMapOptions& options = {});

// Roles that show on repeated texts alone, by clear_role(), and their scores.
void add_behaviour(HeadMap& map, const BehaviourResult& behaviour);

// `numbers` writes the numbers of a picture. {"heads": [head_json with "stack", "layer", "kind",
// "index", "first_share", "importance", "induction", "duplicate", "thumbnail": {"rows", "cols",
// "row_step", "col_step", "values"}}], "places": [{"name", "stack", "layer", "kind", "heads",
// "queries", "keys"}], "sink": {"share", "heads"}}.
io::Json::Object head_map_json(const HeadMap& map,
                               const std::function<io::Json(const tensor::Tensor&)>& numbers);

}  // namespace headlight::heads
