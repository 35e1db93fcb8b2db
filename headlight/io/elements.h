// The kinds of numbers that files hold, and reading them into a tensor.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headlight/base/base.h"
#include "headlight/tensor/tensor.h"

namespace headlight::io {

// Those from q8_0 on are quantised: blocks of numbers that share a scale, as GGUF files have them.
enum class Element : uint8_t {
  f64,
  f32,
  f16,
  bf16,
  i64,
  i32,
  i16,
  i8,
  u64,
  u32,
  u16,
  u8,
  boolean,
  q8_0,
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q4_k,
  q5_k,
  q6_k
};

size_t size_of(Element element);       // bytes of one, or of a block of quantised ones
int64_t block_of(Element element);     // how many such a block has; 1 where there are no blocks
const char* name_of(Element element);  // as safetensors and GGUF have it: "F32", "Q4_K"
// What it becomes in memory: f64 is rounded to f32, quantised ones become f32, integers i64, the
// others stay.
tensor::DType dtype_of(Element element);

struct StoredArray {
  Element element = Element::f32;
  tensor::Shape shape;
  uint64_t offset = 0;  // of the first byte in its file
  bool is_big_endian = false;
  // Elements from one to the next along each axis, 0 or more; empty: row after row, without gaps.
  std::vector<int64_t> strides = {};

  // What its numbers take, without the gaps that strides may leave. A quantised array has whole
  // blocks.
  uint64_t bytes() const {
    return static_cast<uint64_t>(shape.elements() / block_of(element)) * size_of(element);
  }
};

// Reads straight into the tensor's memory where nothing is converted, in small pieces otherwise.
// The caller has compared the array's range with the file's size. `what` is for errors: a uint64
// over 2^63 - 1, a bool other than 0 and 1.
tensor::Tensor load(const base::Input& input, const StoredArray& array, std::string_view what);

// Whether load_rows() reads an array: float32, float16, bfloat16 or blocks of which each row, along
// the first axis, has whole ones; row after row.
bool has_rows(const StoredArray& array);
// Writes some rows as dtype_of(element), to the bit what load() gives.
void load_rows(const base::Input& input, const StoredArray& array, int64_t begin, int64_t count,
               std::byte* to);

}  // namespace headlight::io
