// Tests of conversions between dtypes.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "headlight/tensor/tensor.h"

namespace headlight::tensor {
namespace {

Tensor sixteen_bits(DType dtype, const std::vector<uint16_t>& bits) {
  Tensor tensor = Tensor::uninitialized(dtype, {static_cast<int64_t>(bits.size())});
  std::copy(bits.begin(), bits.end(), tensor.mutable_data<uint16_t>());
  return tensor;
}

TEST(Convert, float16_keeps_its_values) {
  EXPECT_EQ(from_float16(0x3C00), 1.0F);
  EXPECT_EQ(from_float16(0xC000), -2.0F);
  EXPECT_EQ(from_float16(0x3555), 0.333251953125F);
  EXPECT_EQ(from_float16(0x7BFF), 65504.0F);
  EXPECT_EQ(from_float16(0x0400), std::ldexp(1.0F, -14));
  EXPECT_EQ(from_float16(0x0001), std::ldexp(1.0F, -24));
  EXPECT_EQ(from_float16(0x83FF), -std::ldexp(1023.0F, -24));
}

TEST(Convert, float16_keeps_infinity_nan_and_the_sign_of_zero) {
  EXPECT_EQ(from_float16(0x7C00), std::numeric_limits<float>::infinity());
  EXPECT_EQ(from_float16(0xFC00), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(from_float16(0x7E00)));
  EXPECT_TRUE(std::signbit(from_float16(0x8000)));
  EXPECT_EQ(from_float16(0x8000), 0.0F);
}

TEST(Convert, bfloat16_is_the_upper_half_of_float32) {
  EXPECT_EQ(from_bfloat16(0x3F80), 1.0F);
  EXPECT_EQ(from_bfloat16(0xC049), -3.140625F);
}

TEST(Convert, each_dtype_becomes_float32) {
  const Tensor half = to_float32(sixteen_bits(DType::f16, {0x3C00, 0x3800}));
  EXPECT_EQ(half.dtype(), DType::f32);
  EXPECT_EQ(half.data<float>()[0], 1.0F);
  EXPECT_EQ(half.data<float>()[1], 0.5F);
  EXPECT_EQ(to_float32(sixteen_bits(DType::bf16, {0x4000})).data<float>()[0], 2.0F);
  EXPECT_EQ(to_float32(Tensor::of({2}, std::vector<int64_t>{-7, 3})).data<float>()[0], -7.0F);
  Tensor truth = Tensor::zeros(DType::boolean, {2});
  truth.mutable_data<bool>()[1] = true;
  EXPECT_EQ(to_float32(truth).data<float>()[1], 1.0F);
}

TEST(Convert, float32_is_not_copied_unless_it_has_gaps) {
  const Tensor whole = Tensor::of({2, 2}, std::vector<float>{1, 2, 3, 4});
  EXPECT_EQ(to_float32(whole).raw(), whole.raw());
  const Tensor column = to_float32(whole.slice(1, 1, 1));
  EXPECT_TRUE(column.is_contiguous());
  EXPECT_EQ(column.data<float>()[1], 4.0F);
}

}  // namespace
}  // namespace headlight::tensor
