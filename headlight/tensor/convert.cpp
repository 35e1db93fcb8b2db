// Numbers of one dtype as those of another.
#include "headlight/tensor/convert.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "headlight/tensor/tensor.h"

namespace headlight::tensor {
namespace {

template <class T, class Convert>
void convert(const Tensor& from, float* to, const Convert& one) {
  std::transform(from.data<T>(), from.data<T>() + from.elements(), to, one);
}

}  // namespace

float from_float16(uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1F;
  const uint32_t fraction = bits & 0x3FFu;
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  if (exponent == 0) {  // zero and subnormal numbers: fraction * 2^-24
    const float magnitude = std::ldexp(static_cast<float>(fraction), -24);
    return sign ? -magnitude : magnitude;
  }
  // The exponents' biases are 15 and 127; all ones stands for infinity and NaN in both.
  const uint32_t widened = exponent == 0x1F ? 0xFFu : static_cast<uint32_t>(exponent + 127 - 15);
  return std::bit_cast<float>(sign | widened << 23 | fraction << 13);
}

float from_bfloat16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

Tensor to_float32(const Tensor& tensor) {
  const Tensor from = tensor.contiguous();
  if (from.dtype() == DType::f32) return from;
  Tensor result = Tensor::uninitialized(DType::f32, from.shape());
  float* to = result.mutable_data<float>();
  switch (from.dtype()) {
    case DType::f16:
      convert<uint16_t>(from, to, from_float16);
      break;
    case DType::bf16:
      convert<uint16_t>(from, to, from_bfloat16);
      break;
    case DType::i64:
      convert<int64_t>(from, to, [](int64_t number) { return static_cast<float>(number); });
      break;
    case DType::boolean:
      convert<bool>(from, to, [](bool truth) { return truth ? 1.0F : 0.0F; });
      break;
    case DType::f32:
      break;
  }
  return result;
}

}  // namespace headlight::tensor
