// Tiles: a part of a tensor, exact, or pooled so that a picture of it is small.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headlight/explain/trace.h"

namespace headlight::explain {

// Positions of an axis from `begin` up to but without `end`; nothing: to the axis' own.
struct Positions {
  std::optional<int64_t> begin = {};
  std::optional<int64_t> end = {};
};

// Of the last two axes of a tensor; a vector is one row.
struct TileRequest {
  Positions rows = {};
  Positions cols = {};
  // At most so many of each; 0: all of them, exact.
  int64_t most_rows = 0;
  int64_t most_cols = 0;
};

struct Tile {
  std::string name;            // as it was asked for
  std::vector<int64_t> shape;  // of all that the name means
  int64_t row_begin = 0, row_end = 0;
  int64_t col_begin = 0, col_end = 0;
  int64_t row_step = 1, col_step = 1;  // cells of a block
  tensor::Tensor exact = {};           // where nothing was pooled; or else
  tensor::Tensor largest = {};         // of each block: kernels::pool_blocks
  tensor::Tensor mean = {};

  bool is_exact() const { return exact.defined(); }
};

// Numbers that a tile of this shape has. Throws Error(bad_input), about `name`, for positions that
// there are not.
int64_t tile_elements(const std::string& name, std::vector<int64_t> shape,
                      const TileRequest& request);

// Of numbers that are at hand. Ids and masks are never pooled. Throws the same.
Tile tile_of(const std::string& name, const tensor::Tensor& values, const TileRequest& request);
// Of a tensor, a parameter or one head of a trace. What is computed when it is asked for is
// computed head by head.
Tile tile_of(const Trace& trace, const std::string& name, const TileRequest& request);
// The shape that the name means: without the axis of heads where it names one.
std::vector<int64_t> shape_of(const Trace& trace, const std::string& name);

// Under its name; what was pooled as NAME:max and NAME:mean. In the metadata "tiles" is {"NAME":
// {"rows": [a, b], "cols": [a, b], "row_step", "col_step", "shape"}}.
std::vector<io::NamedTensor> tile_tensors(const std::vector<Tile>& tiles);
io::Json tiles_json(const std::vector<Tile>& tiles);

}  // namespace headlight::explain
