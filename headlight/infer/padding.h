// From lists of ids to padded tensors and back.
#pragma once

#include <cstdint>
#include <vector>

#include "headlight/tensor/tensor.h"

namespace headlight::infer {

// Lists of ids of different lengths, none empty, as one tensor padded at the ends.
struct PaddedIds {
  tensor::Tensor ids;   // i64 (B, T)
  tensor::Tensor lens;  // i64 (B,)
};
PaddedIds padded(const std::vector<std::vector<int64_t>>& lists);

// The ids of each row of i64 (B, T) where the bool (B, T) is true, wherever the padding stands.
// Throws Error(bad_input) for other types and shapes.
std::vector<std::vector<int64_t>> unpadded(const tensor::Tensor& ids, const tensor::Tensor& keep);

}  // namespace headlight::infer
