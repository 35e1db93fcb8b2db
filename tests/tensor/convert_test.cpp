// Tests of conversions between dtypes.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

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

// By the definition, for all of them, one by one and many at a time.
TEST(Convert, float16_is_what_its_sign_exponent_and_fraction_say) {
  std::vector<uint16_t> all(65536);
  std::iota(all.begin(), all.end(), uint16_t{0});
  const Tensor together = to_float32(sixteen_bits(DType::f16, all));
  for (const uint16_t bits : all) {
    const int exponent = bits >> 10 & 31;
    const int fraction = bits & 1023;
    float expected = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                   : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
    if (exponent == 31) expected = fraction == 0 ? INFINITY : NAN;
    if (bits >> 15 != 0) expected = -expected;
    for (const float got : {from_float16(bits), together.data<float>()[bits]}) {
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(got)) << bits;
        ASSERT_EQ(std::bit_cast<uint32_t>(got) & 0x7FFFFFu, static_cast<uint32_t>(fraction) << 13)
            << bits;
      } else {
        ASSERT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(expected)) << bits;
      }
    }
  }
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
