// embedding: rows of a table by id; position_rows: rows of a table by position.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "headlight/autograd/context.h"
#include "headlight/autograd/value.h"

namespace headlight::autograd {

// ids is i64 of any shape, each within 0 and the table's rows; table is (rows, C); the result is
// scale times these rows, (ids..., C).
Value embedding(Context& context, const tensor::Tensor& ids, const Value& table, float scale = 1);

// The same of a table that is kept in another form, for inference: nothing is recorded, observed or
// reported. `table` is its shape; `copy_rows` writes the rows of these ids one after the other.
using CopyRows = std::function<void(std::span<const int64_t> ids, float* to)>;
Value copied_embedding(Context& context, const tensor::Tensor& ids, const tensor::Shape& table,
                       const CopyRows& copy_rows, float scale = 1);

struct PositionRowsOptions {
  int64_t start = 0;  // the number of the first position: row 0 of sinusoids, row `start` of others
  std::optional<kernels::SinusoidOptions> sinusoids = {};  // what the table holds, if not learned
};
// The same for positions, i64 counted from 0: row position + start of a learned table, row position
// of a table of sinusoids.
Value position_rows(Context& context, const tensor::Tensor& positions, const Value& table,
                    const PositionRowsOptions& options = {});

}  // namespace headlight::autograd
