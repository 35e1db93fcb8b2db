// Numbers of any width and byte order into float32, int64, bool or 16-bit storage.
#include "headlight/io/elements.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <vector>

#include "headlight/io/numbers.h"
#include "headlight/io/quantized.h"
#include "headlight/io/strided.h"

namespace headlight::io {
namespace {

using base::Error;
using base::ErrorKind;
using base::Input;
using tensor::DType;
using tensor::Tensor;

static_assert(std::endian::native == std::endian::little, "files are little-endian");

constexpr size_t kPieceBytes = size_t{1} << 16;

struct Facts {
  const char* name;
  size_t size;
  DType dtype;
  int64_t block = 1;
};

// In the order of Element.
constexpr std::array<Facts, 21> kFacts = {
    {{"F64", 8, DType::f32},         {"F32", 4, DType::f32},
     {"F16", 2, DType::f16},         {"BF16", 2, DType::bf16},
     {"I64", 8, DType::i64},         {"I32", 4, DType::i64},
     {"I16", 2, DType::i64},         {"I8", 1, DType::i64},
     {"U64", 8, DType::i64},         {"U32", 4, DType::i64},
     {"U16", 2, DType::i64},         {"U8", 1, DType::i64},
     {"BOOL", 1, DType::boolean},    {"Q8_0", 34, DType::f32, 32},
     {"Q4_0", 18, DType::f32, 32},   {"Q4_1", 20, DType::f32, 32},
     {"Q5_0", 22, DType::f32, 32},   {"Q5_1", 24, DType::f32, 32},
     {"Q4_K", 144, DType::f32, 256}, {"Q5_K", 176, DType::f32, 256},
     {"Q6_K", 210, DType::f32, 256}}};

const Facts& facts_of(Element element) { return kFacts[static_cast<size_t>(element)]; }

template <class T>
T value_at(const std::byte* bytes, bool is_big_endian) {
  std::array<std::byte, sizeof(T)> copy;
  std::copy_n(bytes, sizeof(T), copy.begin());
  if (is_big_endian) std::reverse(copy.begin(), copy.end());
  return std::bit_cast<T>(copy);
}

[[noreturn]] void refuse(const Input& input, std::string_view what, int64_t index, uint64_t value,
                         const char* rule) {
  throw Error(ErrorKind::bad_input, what, input.name(),
              "element " + std::to_string(index) + " is " + std::to_string(value) + ", " + rule);
}

// Bools are read as bytes: a bool of another value would be undefined behaviour.
template <class To, class From>
To converted(From value, const Input& input, std::string_view what, int64_t index) {
  if constexpr (std::is_same_v<To, bool>) {
    if (value > 1) refuse(input, what, index, value, "a bool is 0 or 1");
  }
  if constexpr (std::is_same_v<From, double>) {
    if (is_beyond_float32(value)) {
      throw Error(ErrorKind::bad_input, what, input.name(),
                  "element " + std::to_string(index) + " is " + number_text(value) +
                      ", beyond float32, in which numbers are computed (up to 3.4e38)");
    }
  }
  if constexpr (std::is_same_v<From, uint64_t>) {
    if (value > std::numeric_limits<int64_t>::max()) {
      refuse(input, what, index, value, "integers up to 2^63 - 1 are read");
    }
  }
  return static_cast<To>(value);
}

template <class From, class To>
void load_pieces(const Input& input, const StoredArray& array, std::string_view what, To* to) {
  std::vector<std::byte> piece(std::min<uint64_t>(kPieceBytes, array.bytes()));
  const int64_t elements = array.shape.elements();
  const auto step = static_cast<int64_t>(kPieceBytes / sizeof(From));
  for (int64_t begin = 0; begin < elements; begin += step) {
    const int64_t count = std::min(step, elements - begin);
    const std::span<std::byte> bytes(piece.data(), static_cast<size_t>(count) * sizeof(From));
    input.read(array.offset + static_cast<uint64_t>(begin) * sizeof(From), bytes);
    for (int64_t i = 0; i < count; ++i) {
      const std::byte* place = bytes.data() + static_cast<size_t>(i) * sizeof(From);
      to[begin + i] =
          converted<To>(value_at<From>(place, array.is_big_endian), input, what, begin + i);
    }
  }
}

template <class From, class To>
Tensor load_as(const Input& input, const StoredArray& array, std::string_view what) {
  Tensor result = Tensor::uninitialized(dtype_of(array.element), array.shape);
  if (std::is_same_v<From, To> && !array.is_big_endian) {
    input.read(array.offset, {result.mutable_raw(), result.bytes()});
  } else {
    load_pieces<From>(input, array, what, result.mutable_data<To>());
  }
  return result;
}

// Float32 from `bytes` bytes at `offset`, block after block, as many at a time as fill a piece.
void load_blocks(const Input& input, Element element, uint64_t offset, uint64_t bytes, float* to) {
  const size_t size = size_of(element);
  std::vector<std::byte> piece(std::min<uint64_t>(kPieceBytes / size * size, bytes));
  for (const uint64_t end = offset + bytes; offset < end; offset += piece.size()) {
    const std::span<std::byte> part(piece.data(), std::min<uint64_t>(piece.size(), end - offset));
    input.read(offset, part);
    to = dequantize(element, part, to);
  }
}

Tensor load_blocks(const Input& input, const StoredArray& array) {
  Tensor result = Tensor::uninitialized(DType::f32, array.shape);
  load_blocks(input, array.element, array.offset, array.bytes(), result.mutable_data<float>());
  return result;
}

// The numbers one after the other, then read as such.
Tensor load_strided(const Input& input, const StoredArray& array, std::string_view what) {
  const std::vector<std::byte> bytes = gather(input, array);
  StoredArray dense = array;
  dense.offset = 0;
  dense.strides.clear();
  return load(base::MemoryInput(input.name(), bytes), dense, what);
}

}  // namespace

int64_t block_of(Element element) { return facts_of(element).block; }
size_t size_of(Element element) { return facts_of(element).size; }
const char* name_of(Element element) { return facts_of(element).name; }
DType dtype_of(Element element) { return facts_of(element).dtype; }

Tensor load(const Input& input, const StoredArray& array, std::string_view what) {
  if (!array.strides.empty()) return load_strided(input, array, what);
  switch (array.element) {
    case Element::f64:
      return load_as<double, float>(input, array, what);
    case Element::f32:
      return load_as<float, float>(input, array, what);
    case Element::f16:
    case Element::bf16:
      return load_as<uint16_t, uint16_t>(input, array, what);
    case Element::i64:
      return load_as<int64_t, int64_t>(input, array, what);
    case Element::i32:
      return load_as<int32_t, int64_t>(input, array, what);
    case Element::i16:
      return load_as<int16_t, int64_t>(input, array, what);
    case Element::i8:
      return load_as<int8_t, int64_t>(input, array, what);
    case Element::u64:
      return load_as<uint64_t, int64_t>(input, array, what);
    case Element::u32:
      return load_as<uint32_t, int64_t>(input, array, what);
    case Element::u16:
      return load_as<uint16_t, int64_t>(input, array, what);
    case Element::u8:
      return load_as<uint8_t, int64_t>(input, array, what);
    case Element::boolean:
      return load_as<uint8_t, bool>(input, array, what);
    case Element::q8_0:
    case Element::q4_0:
    case Element::q4_1:
    case Element::q5_0:
    case Element::q5_1:
    case Element::q4_k:
    case Element::q5_k:
    case Element::q6_k:
      return load_blocks(input, array);
  }
  return {};
}

bool has_rows(const StoredArray& array) {
  const int64_t elements = array.shape.elements();
  if (array.shape.rank() == 0 || elements == 0 || !array.strides.empty() || array.is_big_endian) {
    return false;
  }
  const bool is_number = array.element == Element::f32 || array.element == Element::f16 ||
                         array.element == Element::bf16;
  const int64_t block = block_of(array.element);
  return (is_number || block > 1) && elements / array.shape[0] % block == 0;
}

void load_rows(const Input& input, const StoredArray& array, int64_t begin, int64_t count,
               std::byte* to) {
  const uint64_t row = array.bytes() / static_cast<uint64_t>(array.shape[0]);
  const uint64_t offset = array.offset + static_cast<uint64_t>(begin) * row;
  const uint64_t bytes = static_cast<uint64_t>(count) * row;
  if (block_of(array.element) == 1) {
    input.read(offset, {to, bytes});
  } else {
    load_blocks(input, array.element, offset, bytes, reinterpret_cast<float*>(to));
  }
}

}  // namespace headlight::io
