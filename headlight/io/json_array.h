// Arrays as nested JSON lists.
#pragma once

#include "headlight/base/base.h"
#include "headlight/tensor/tensor.h"

namespace headlight::io {

// Up to 8 levels of lists of equal length. All booleans give bool, all integers int64, other
// numbers float32; null is an error, since it may stand for NaN or for either infinity.
tensor::Tensor read_json_array(const base::Input& input);

// A number that is not finite is written as null.
void write_json_array(base::Output& output, const tensor::Tensor& array);

}  // namespace headlight::io
