// The kinds of numbers that files hold, and reading them into a tensor.
#pragma once

#include <string>
#include <string_view>

#include "headlight/base/base.h"
#include "headlight/tensor/tensor.h"

namespace headlight::io {

enum class Element : uint8_t { f64, f32, f16, bf16, i64, i32, i16, i8, u64, u32, u16, u8, boolean };

size_t size_of(Element element);
const char* name_of(Element element);  // as safetensors has it: "F32"
// What it becomes in memory: f64 is rounded to f32, integers become i64, the others stay.
tensor::DType dtype_of(Element element);

struct StoredArray {
  Element element = Element::f32;
  tensor::Shape shape;
  uint64_t offset = 0;  // of the first byte in its file
  bool is_big_endian = false;

  uint64_t bytes() const { return static_cast<uint64_t>(shape.elements()) * size_of(element); }
};

// Reads straight into the tensor's memory where nothing is converted, in small pieces otherwise.
// The caller has compared array.bytes() with the file's size. `what` is for errors: a uint64 over
// 2^63 - 1, a bool other than 0 and 1.
tensor::Tensor load(const base::Input& input, const StoredArray& array, std::string_view what);

}  // namespace headlight::io
