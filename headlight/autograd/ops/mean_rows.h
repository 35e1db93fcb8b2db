// mean_rows: one row for each sequence, the mean of a range of its rows.
#pragma once

#include <vector>

#include "headlight/autograd/context.h"
#include "headlight/autograd/observer.h"
#include "headlight/autograd/value.h"

namespace headlight::autograd {

// x is (B, T, C); of sequence b the rows of ranges[b], at least one. The result is (B, 1, C), and a
// range of one row gives that row to the bit.
Value mean_rows(Context& context, const Value& x, const std::vector<RowRange>& ranges);

}  // namespace headlight::autograd
