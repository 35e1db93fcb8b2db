// Numbers of one dtype as those of another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "headlight/tensor/shape.h"

namespace headlight::tensor {

class Tensor;

// The bits of a float16 or a bfloat16 as the number they stand for; exact.
float from_float16(uint16_t bits);
float from_bfloat16(uint16_t bits);

// The bytes of float16 or bfloat16 numbers as float32; gives the place after the last.
float* widen(DType from, std::span<const std::byte> bytes, float* to);

// The same numbers as float32, contiguous; the tensor itself where it is that already. float16,
// bfloat16 and bool are exact, int64 is rounded.
Tensor to_float32(const Tensor& tensor);

}  // namespace headlight::tensor
