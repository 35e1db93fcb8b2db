// Tensors in another dtype.
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

}  // namespace headlight::io
