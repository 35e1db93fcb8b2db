// CellReference: one number of a trace by name and index.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/explain/trace.h"

namespace headlight::explain {

struct CellReference {
  std::string name;            // of the whole tensor: "encoder.0.self.scores"
  std::vector<int64_t> index;  // whole: (b, h, i, j)

  bool operator==(const CellReference&) const = default;
};

// "encoder.0.self.head.2.scores[3,5]", "encoder.norm_1.mean[3]" or, whole,
// "encoder.0.self.scores[0,2,3,5]": the batch axis, of size 1, may be left out. Parameters have
// cells too: "shared.weight[5,0]". Throws Error(bad_input): the nearest name for an unknown one,
// the shape for an index out of range or of the wrong length, and what is expected for the rest.
CellReference parse_cell(const Trace& trace, std::string_view text);
// Throws as parse_cell does for what is no name of a cell in any trace.
void check_cell(std::string_view text);
// The short form, which parse_cell reads back.
std::string cell_text(const Trace& trace, const CellReference& cell);

// A tensor, or one head of it, by name: "encoder.0.self.head.2.scores".
struct TensorSelection {
  std::string name;   // of the whole tensor
  int64_t head = -1;  // its position along the axis of heads; -1: all
};
// Throws Error(bad_input) with the nearest name, the number of heads, or the heads that pruning has
// left.
TensorSelection parse_tensor(const Trace& trace, std::string_view name);

}  // namespace headlight::explain
