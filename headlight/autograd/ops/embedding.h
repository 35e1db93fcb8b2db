// embedding: rows of a table.
#pragma once

#include "headlight/autograd/context.h"
#include "headlight/autograd/value.h"

namespace headlight::autograd {

// ids is i64 of any shape, each within 0 and the table's rows; table is (rows, C); the result is
// (ids..., C).
Value embedding(Context& context, const tensor::Tensor& ids, const Value& table);

}  // namespace headlight::autograd
