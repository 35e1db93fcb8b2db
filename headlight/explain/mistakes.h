// Mistakes: the numbers that a learner gets who computes a cell wrongly, so that a wrong answer can
// be named. Computed from the same operands as the cell itself.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headlight/explain/cell_terms.h"

namespace headlight::explain {

struct Mistake {
  std::string key;   // mistake.<key> of the catalogue
  double value = 0;  // what comes out
  int64_t term = 0;  // of "term_left_out": which one, counted from 1
};

// Those of the cell's operation first, then those that can be made everywhere: a term left out,
// factors added instead of multiplied, the sign, the decimal point. Numbers that are not finite,
// and those within `tolerance` of the cell's own value or of an earlier one, are left out.
std::vector<Mistake> mistakes_of(const Trace& trace, const CellReference& cell, double tolerance);

// What a learner is given who is to compute the cell: terms and ingredients, whose combination is
// not to be shown. Nothing for operations that are not computed by hand.
std::optional<CellTerms> given_by_hand(const Trace& trace, const CellReference& cell);

}  // namespace headlight::explain
