// Shape's checks and text.
#include "headlight/tensor/shape.h"

#include <algorithm>

#include "headlight/base/base.h"

namespace headlight::tensor {

using base::Error;
using base::ErrorKind;

size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return 4;
    case DType::f16:
      return 2;
    case DType::bf16:
      return 2;
    case DType::i64:
      return 8;
    case DType::boolean:
      return 1;
  }
  return 0;
}

const char* name_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "float32";
    case DType::f16:
      return "float16";
    case DType::bf16:
      return "bfloat16";
    case DType::i64:
      return "int64";
    case DType::boolean:
      return "bool";
  }
  return "";
}

Shape::Shape(std::span<const int64_t> sizes) {
  if (sizes.size() > kMaxRank) {
    throw Error(ErrorKind::bad_input, "shape", "",
                "rank is " + std::to_string(sizes.size()) + ", at most 8 is supported");
  }
  int64_t product = 1;
  for (const int64_t size : sizes) {
    if (size < 0)
      throw Error(ErrorKind::bad_input, "shape", "", "a size is " + std::to_string(size));
    // A zero later must not hide an overflow now, so zeros do not enter the product.
    if (size > 0 && __builtin_mul_overflow(product, size, &product)) {
      throw Error(ErrorKind::bad_input, "shape", "", "the number of elements overflows");
    }
    sizes_[static_cast<size_t>(rank_++)] = size;
  }
  if (product > (int64_t{1} << 60))
    throw Error(ErrorKind::bad_input, "shape", "", "the number of elements overflows");
}

int64_t Shape::elements() const noexcept {
  int64_t product = 1;
  for (const int64_t size : sizes()) product *= size;
  return product;
}

Shape Shape::with(int axis, int64_t size) const {
  std::array<int64_t, kMaxRank> changed = sizes_;
  changed[static_cast<size_t>(axis < 0 ? axis + rank_ : axis)] = size;
  return Shape(std::span<const int64_t>(changed.data(), static_cast<size_t>(rank_)));
}

std::string Shape::text() const {
  std::string text = "[";
  for (int axis = 0; axis < rank_; ++axis)
    text.append(axis ? ", " : "").append(std::to_string((*this)[axis]));
  return text + "]";
}

bool Shape::operator==(const Shape& other) const noexcept {
  return std::ranges::equal(sizes(), other.sizes());
}

}  // namespace headlight::tensor
