// Numbers of one dtype as those of another.
#include "headlight/tensor/convert.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "headlight/tensor/tensor.h"

namespace headlight::tensor {
namespace {

template <class T, class Convert>
void convert(const Tensor& from, float* to, const Convert& one) {
  std::transform(from.data<T>(), from.data<T>() + from.elements(), to, one);
}

// The product moves the exponent from one bias, 15, to the other, 127, and makes subnormal numbers
// normal. All ones in the exponent stand for infinity and NaN in both. Without branches: that is
// quick over many numbers.
inline float float16(uint16_t bits) {
  constexpr float kRebias = 0x1p112F;
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t magnitude = bits & 0x7FFFu;
  const uint32_t infinite = magnitude >= 0x7C00u ? 0x7F800000u : 0u;
  const float number = std::bit_cast<float>(magnitude << 13) * kRebias;
  return std::bit_cast<float>(sign | infinite | std::bit_cast<uint32_t>(number));
}

inline float bfloat16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

template <class Convert>
float* widen(std::span<const std::byte> bytes, float* to, const Convert& one) {
  const size_t count = bytes.size() / sizeof(uint16_t);
  for (size_t i = 0; i < count; ++i) {
    uint16_t bits;
    std::memcpy(&bits, bytes.data() + i * sizeof(bits), sizeof(bits));
    to[i] = one(bits);
  }
  return to + count;
}

}  // namespace

float from_float16(uint16_t bits) { return float16(bits); }
float from_bfloat16(uint16_t bits) { return bfloat16(bits); }

float* widen(DType from, std::span<const std::byte> bytes, float* to) {
  if (from == DType::f16) return widen(bytes, to, [](uint16_t bits) { return float16(bits); });
  return widen(bytes, to, [](uint16_t bits) { return bfloat16(bits); });
}

Tensor to_float32(const Tensor& tensor) {
  const Tensor from = tensor.contiguous();
  if (from.dtype() == DType::f32) return from;
  Tensor result = Tensor::uninitialized(DType::f32, from.shape());
  float* to = result.mutable_data<float>();
  switch (from.dtype()) {
    case DType::f16:
    case DType::bf16:
      widen(from.dtype(), {from.raw(), from.bytes()}, to);
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
