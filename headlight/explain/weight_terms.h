// The terms of one weight's gradient. Inside explain only.
#pragma once

#include <vector>

#include "headlight/explain/cell_terms.h"
#include "headlight/explain/gradients.h"

namespace headlight::explain {

// One for each position (and each use) at which the weight enters; they add up to its gradient.
std::vector<Term> weight_terms(const Trace& trace, const CellReference& weight,
                               Gradients& gradients);

}  // namespace headlight::explain
