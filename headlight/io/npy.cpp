// .npy: a magic number, a version, the length of a header, the header, the numbers.
#include "headlight/io/npy.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "headlight/io/arrays.h"
#include "headlight/io/elements.h"
#include "headlight/io/foreign.h"
#include "headlight/io/npy_header.h"
#include "headlight/io/utf8.h"

namespace headlight::io {
namespace {

using base::Error;
using base::ErrorKind;
using base::Input;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr uint64_t kMaxHeaderBytes = 65536;
constexpr size_t kHeaderAlignment = 64;

[[noreturn]] void refuse(const Input& input, const std::string& why) {
  throw Error(ErrorKind::bad_input, "npy", input.name(), why);
}

struct Type {
  std::string_view name;
  Element element;
};
constexpr std::array<Type, 12> kTypes = {{{"f2", Element::f16},
                                          {"f4", Element::f32},
                                          {"f8", Element::f64},
                                          {"i1", Element::i8},
                                          {"i2", Element::i16},
                                          {"i4", Element::i32},
                                          {"i8", Element::i64},
                                          {"u1", Element::u8},
                                          {"u2", Element::u16},
                                          {"u4", Element::u32},
                                          {"u8", Element::u64},
                                          {"b1", Element::boolean}}};

// "<f4": a byte order and a type.
void apply_descr(const Input& input, const std::string& descr, StoredArray& array) {
  const std::string_view order = std::string_view(descr).substr(0, 1);
  const std::string_view name = std::string_view(descr).substr(order.size());
  if (name.starts_with("O")) {
    refuse(input, "an array of Python objects is not read: they are pickled, which can run code");
  }
  const auto type =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const Type& t) { return t.name == name; });
  const bool is_order = order == "<" || order == ">";
  if (type == kTypes.end() || !(is_order || (order == "|" && size_of(type->element) == 1))) {
    refuse(input, "the type " + in_quotes(descr) +
                      " is not read; f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 b1 are, after < or >");
  }
  array.element = type->element;
  array.is_big_endian = order == ">";
}

// The header's text; moves `offset` past it, to the numbers.
std::string read_header(const Input& input, uint64_t& offset) {
  std::array<unsigned char, 12> start{};
  const size_t available = std::min<uint64_t>(input.size(), start.size());
  input.read(0, std::as_writable_bytes(std::span(start)).first(available));
  if (available < kMagic.size() || std::memcmp(start.data(), kMagic.data(), kMagic.size()) != 0) {
    const std::string format = foreign_format(input);
    refuse(input, format.empty() ? "it does not start as an .npy file does (\\x93NUMPY)" : format);
  }
  const int version = start[6];
  const size_t length_bytes = version == 1 ? 2 : 4;
  offset = 8 + length_bytes;
  if (available < offset)
    refuse(input, std::to_string(input.size()) + " bytes, the header's start needs " +
                      std::to_string(offset));
  if (version < 1 || version > 3)
    refuse(input, "version " + std::to_string(version) + " is not read; 1, 2 and 3 are");
  uint64_t length = 0;
  for (size_t i = length_bytes; i-- > 0;) length = length << 8 | start[8 + i];
  if (length > kMaxHeaderBytes) {
    refuse(input, "the header has " + std::to_string(length) + " bytes, at most " +
                      std::to_string(kMaxHeaderBytes) + " are read");
  }
  if (length > input.size() - offset) {
    refuse(input, "the header ends at byte " + std::to_string(offset + length) + ", the file at " +
                      std::to_string(input.size()) + "; truncated download?");
  }
  std::string text(length, '\0');
  input.read(offset, std::as_writable_bytes(std::span(text)));
  offset += length;
  return text;
}

void check_size(const Input& input, const StoredArray& array) {
  const uint64_t present = input.size() - array.offset;
  const uint64_t needed = array.bytes();
  if (present < needed) {
    refuse(input, std::to_string(needed - present) + " bytes missing: shape " + array.shape.text() +
                      " needs " + std::to_string(needed) + ", " + std::to_string(present) +
                      " are there");
  }
  if (present > needed) refuse(input, std::to_string(present - needed) + " bytes follow the array");
}

// `data` has the elements in Fortran order: the first axis runs fastest.
Tensor from_fortran_order(const Tensor& data, const Shape& shape) {
  Tensor result = Tensor::uninitialized(data.dtype(), shape);
  const size_t width = tensor::size_of(data.dtype());
  std::array<int64_t, Shape::kMaxRank> index{};
  for (int64_t to = 0; to < result.elements(); ++to) {
    int64_t from = 0;
    for (int axis = shape.rank() - 1; axis >= 0; --axis)
      from = from * shape[axis] + index[static_cast<size_t>(axis)];
    std::memcpy(result.mutable_raw() + static_cast<size_t>(to) * width,
                data.raw() + static_cast<size_t>(from) * width, width);
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      if (++index[static_cast<size_t>(axis)] < shape[axis]) break;
      index[static_cast<size_t>(axis)] = 0;
    }
  }
  return result;
}

const char* descr_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "<f4";
    case DType::f16:
      return "<f2";
    case DType::i64:
      return "<i8";
    case DType::boolean:
      return "|b1";
    case DType::bf16:
      break;
  }
  return "";
}

// As Python has it: "()", "(2,)", "(2, 3)".
std::string tuple_text(const Shape& shape) {
  std::string text = "(";
  for (int axis = 0; axis < shape.rank(); ++axis) {
    text += (axis > 0 ? ", " : "") + std::to_string(shape[axis]);
  }
  return text + (shape.rank() == 1 ? ",)" : ")");
}

}  // namespace

NpyArray open_npy(const Input& input) {
  StoredArray array;
  const std::string text = read_header(input, array.offset);
  const NpyHeader header = parse_npy_header(text, input.name());
  apply_descr(input, header.descr, array);
  try {
    array.shape = Shape(header.shape);
  } catch (const Error& error) {
    refuse(input, error.what());
  }
  check_size(input, array);
  return {array, header.is_fortran_order && array.shape.rank() > 1};
}

Tensor load_npy(const Input& input, const NpyArray& npy) {
  const Tensor data = load(input, npy.array, "npy");
  return npy.is_fortran_order ? from_fortran_order(data, npy.array.shape) : data;
}

Tensor read_npy(const Input& input) { return load_npy(input, open_npy(input)); }

void write_npy(base::Output& output, const Tensor& array) {
  const Tensor data = (array.dtype() == DType::bf16 ? as_float32(array) : array).contiguous();
  std::string header = std::string("{'descr': '") + descr_of(data.dtype()) +
                       "', 'fortran_order': False, 'shape': " + tuple_text(data.shape()) + ", }";
  // The numbers start at a multiple of 64, as NumPy has it; the line's end is one byte more.
  const size_t unpadded = kMagic.size() + 4 + header.size() + 1;
  header.append((kHeaderAlignment - unpadded % kHeaderAlignment) % kHeaderAlignment, ' ') += '\n';
  std::string start(kMagic);
  start += {'\x01', '\x00', static_cast<char>(header.size() & 0xFF),
            static_cast<char>(header.size() >> 8)};
  output.write(start + header);
  output.write(std::span<const std::byte>(data.raw(), data.bytes()));
}

}  // namespace headlight::io
