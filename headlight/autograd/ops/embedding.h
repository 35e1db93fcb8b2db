// embedding: rows of a table by id; position_rows: rows of a table by position.
#pragma once

#include <optional>

#include "headlight/autograd/context.h"
#include "headlight/autograd/value.h"

namespace headlight::autograd {

// ids is i64 of any shape, each within 0 and the table's rows; table is (rows, C); the result is
// scale times these rows, (ids..., C).
Value embedding(Context& context, const tensor::Tensor& ids, const Value& table, float scale = 1);

struct PositionRowsOptions {
  int64_t start = 0;  // the number of the first position: row 0 of sinusoids, row `start` of others
  std::optional<kernels::SinusoidOptions> sinusoids = {};  // what the table holds, if not learned
};
// The same for positions, i64 counted from 0: row position + start of a learned table, row position
// of a table of sinusoids.
Value position_rows(Context& context, const tensor::Tensor& positions, const Value& table,
                    const PositionRowsOptions& options = {});

}  // namespace headlight::autograd
