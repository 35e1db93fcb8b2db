// What is explained beside a trace, as JSON for pages and other programs. Cells are in their short
// form; a number that is not finite is null.
#pragma once

#include "headlight/explain/backward.h"
#include "headlight/explain/cell_terms.h"
#include "headlight/explain/variants.h"

namespace headlight::explain {

// {"cell", "operation", "combination", "value", "combined", "terms": [{"key", "factors": [{"cell",
// "value"}], "constant", "value", "running"}], "ingredients": [{"key", "value", "cell" (where it is
// one)}]}.
io::Json cell_json(const Trace& trace, const CellTerms& cell);
// The same with some of the terms, where there may be many, and "term_count", how many there are.
struct TermRange {
  int64_t from = 0;
  int64_t count = 0;
};
io::Json cell_json(const Trace& trace, const CellTerms& cell, const TermRange& range);
// {"key", "place", "own", "formula", "tensors", "result_of", "largest_difference"}.
io::Json variant_json(const Variant& variant);
// {"loss", "target_count", "weight", "value", "gradient", "terms", "gradients": [names of tensors],
// "update": {as WeightUpdate}, "new_value", "new_loss"}. The numbers of gradients are not in it.
io::Json backward_json(const Trace& trace, const BackwardWalk& walk);

}  // namespace headlight::explain
