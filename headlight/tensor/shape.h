// DType and Shape: what a tensor is made of, before any memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace headlight::tensor {

enum class DType : uint8_t { f32, f16, bf16, i64, boolean };  // f16 and bf16 are storage only

size_t size_of(DType dtype);
const char* name_of(DType dtype);

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType value = DType::i64;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::boolean;
};

// Up to 8 sizes, each >= 0. A scalar has rank 0 and one element.
class Shape {
 public:
  static constexpr int kMaxRank = 8;

  Shape() = default;
  Shape(std::initializer_list<int64_t> sizes) : Shape(std::span(sizes.begin(), sizes.size())) {}
  // Throws Error on rank > 8, a negative size or an overflowing product.
  explicit Shape(std::span<const int64_t> sizes);

  int rank() const noexcept { return rank_; }
  // Negative indices count from the end. The index must be in range.
  int64_t operator[](int axis) const noexcept {
    return sizes_[static_cast<size_t>(axis < 0 ? axis + rank_ : axis)];
  }
  int64_t elements() const noexcept;
  std::span<const int64_t> sizes() const noexcept {
    return {sizes_.data(), static_cast<size_t>(rank_)};
  }
  // The same shape with the size at `axis` (may be negative) replaced.
  Shape with(int axis, int64_t size) const;
  std::string text() const;  // "[2, 3]"

  bool operator==(const Shape& other) const noexcept;

 private:
  std::array<int64_t, kMaxRank> sizes_{};
  int rank_ = 0;
};

}  // namespace headlight::tensor
