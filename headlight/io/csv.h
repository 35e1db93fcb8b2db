// Matrices as text: one row a line, columns separated by comma, semicolon or tab. For io's own use.
#pragma once

#include "headlight/base/base.h"
#include "headlight/tensor/tensor.h"

namespace headlight::io {

// Numbers only ("nan" and "inf" among them): no line of titles, no quotes, no empty cells. The
// first line decides the separator and the number of columns. int64 where all are integers, else
// float32.
tensor::Tensor read_csv(const base::Input& input);

// Rank 2 only.
void write_csv(base::Output& output, const tensor::Tensor& array);

}  // namespace headlight::io
