// Tensors in another dtype.
#include <bit>
#include <cmath>
#include <string>

#include "headlight/io/arrays.h"
#include "headlight/io/numbers.h"

namespace headlight::io {
namespace {

using base::Error;
using base::ErrorKind;
using tensor::DType;
using tensor::Tensor;

constexpr float kExactIntegers = 0x1p24f;

// A new tensor of To's dtype with convert(value, index) of each element.
template <class To, class From, class Convert>
Tensor mapped(const Tensor& array, const Convert& convert) {
  const Tensor source = array.contiguous();
  Tensor result = Tensor::uninitialized(tensor::DTypeOf<To>::value, array.shape());
  const From* from = source.data<From>();
  To* to = result.mutable_data<To>();
  for (int64_t i = 0; i < result.elements(); ++i) to[i] = convert(from[i], i);
  return result;
}

[[noreturn]] void refuse(std::string_view name, int64_t index, const std::string& value,
                         const char* needed) {
  throw Error(ErrorKind::bad_input, "array", name,
              "element " + std::to_string(index) + " is " + value + ", " + needed + " is needed");
}

// The float16 nearest to zero or equal; the caller compares.
uint16_t float16_below(float number) {
  const auto bits = std::bit_cast<uint32_t>(number);
  const uint32_t sign = bits >> 16 & 0x8000u;
  const int exponent = static_cast<int>(bits >> 23 & 0xFF) - 127;
  if (exponent == 128) return static_cast<uint16_t>(sign | 0x7C00u | (bits >> 13 & 0x3FFu));
  if (exponent > 15) return static_cast<uint16_t>(sign | 0x7BFFu);
  if (exponent >= -14) {
    return static_cast<uint16_t>(sign | static_cast<uint32_t>(exponent + 15) << 10 |
                                 (bits >> 13 & 0x3FFu));
  }
  // Subnormal: the fraction with its leading one, shifted.
  const int shift = -exponent - 1;
  const uint32_t fraction = (bits & 0x7FFFFFu) | 0x800000u;
  return static_cast<uint16_t>(sign | (shift > 23 ? 0 : fraction >> shift));
}

}  // namespace

Tensor as_float32(const Tensor& array) { return tensor::to_float32(array); }

Tensor as_int64(const Tensor& array, std::string_view name) {
  if (array.dtype() == DType::i64) return array;
  if (array.dtype() == DType::boolean) {
    return mapped<int64_t, bool>(array, [](bool value, int64_t) { return int64_t{value}; });
  }
  return mapped<int64_t, float>(as_float32(array), [&](float value, int64_t index) {
    if (!(std::abs(value) <= kExactIntegers) || value != std::trunc(value)) {
      refuse(name, index, number_text(value), "an integer within 2^24");
    }
    return static_cast<int64_t>(value);
  });
}

Tensor as_boolean(const Tensor& array, std::string_view name) {
  if (array.dtype() == DType::boolean) return array;
  if (array.dtype() == DType::i64) {
    return mapped<bool, int64_t>(array, [&](int64_t value, int64_t index) {
      if (value != 0 && value != 1) refuse(name, index, number_text(value), "0 or 1");
      return value == 1;
    });
  }
  return mapped<bool, float>(as_float32(array), [&](float value, int64_t index) {
    if (value != 0.0f && value != 1.0f) refuse(name, index, number_text(value), "0 or 1");
    return value == 1.0f;
  });
}

Tensor narrowed(const Tensor& array, DType dtype) {
  const Tensor from = array.contiguous();
  Tensor result = Tensor::uninitialized(dtype, from.shape());
  const bool is_half = dtype == DType::f16;
  for (int64_t i = 0; i < from.elements(); ++i) {
    const float number = from.data<float>()[i];
    const auto bits = std::bit_cast<uint32_t>(number);
    const uint16_t narrow = is_half ? float16_below(number) : static_cast<uint16_t>(bits >> 16);
    const float back = is_half ? tensor::from_float16(narrow) : tensor::from_bfloat16(narrow);
    if (std::bit_cast<uint32_t>(back) != bits) return {};
    result.mutable_data<uint16_t>()[i] = narrow;
  }
  return result;
}

}  // namespace headlight::io
