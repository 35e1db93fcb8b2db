// Shape: what it accepts, what it refuses and how it reads.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "headlight/base/base.h"
#include "headlight/tensor/tensor.h"

namespace headlight::tensor {
namespace {

std::string refusal(const std::vector<int64_t>& sizes) {
  try {
    return "accepted " + Shape(sizes).text();
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::bad_input);
    return error.what();
  }
}

TEST(Shape, of_nothing_is_a_scalar) {
  EXPECT_EQ(Shape().rank(), 0);
  EXPECT_EQ(Shape().elements(), 1);
  EXPECT_EQ(Shape().text(), "[]");
  EXPECT_EQ(Shape(), Shape({}));
}

TEST(Shape, counts_its_elements_and_reads_as_a_list) {
  const Shape shape{2, 3, 4};
  EXPECT_EQ(shape.rank(), 3);
  EXPECT_EQ(shape.elements(), 24);
  EXPECT_EQ(shape.text(), "[2, 3, 4]");
  EXPECT_EQ((Shape{2, 0, 4}.elements()), 0);
}

TEST(Shape, counts_negative_axes_from_the_end) {
  const Shape shape{2, 3, 4};
  EXPECT_EQ(shape[-1], 4);
  EXPECT_EQ(shape[-3], 2);
  EXPECT_EQ(shape.with(-1, 7), (Shape{2, 3, 7}));
  EXPECT_EQ(shape.with(0, 7), (Shape{7, 3, 4}));
}

TEST(Shape, differs_by_rank_and_by_size) {
  EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
  EXPECT_NE((Shape{2, 3}), (Shape{2, 3, 1}));
}

TEST(Shape, refuses_negative_sizes_and_high_ranks) {
  EXPECT_EQ(refusal({2, -3}), "shape: a size is -3");
  EXPECT_EQ(refusal(std::vector<int64_t>(9, 1)), "shape: rank is 9, at most 8 is supported");
  EXPECT_EQ(refusal(std::vector<int64_t>(8, 1)), "accepted [1, 1, 1, 1, 1, 1, 1, 1]");
  EXPECT_EQ(refusal({INT64_MIN}), "shape: a size is " + std::to_string(INT64_MIN));
}

TEST(Shape, refuses_a_product_that_overflows) {
  // In 64 bits this product wraps around to 4.
  EXPECT_EQ(refusal({4194305, 4194305, 211106198978564}),
            "shape: the number of elements overflows");
  EXPECT_EQ(refusal({INT64_MAX, 2}), "shape: the number of elements overflows");
  EXPECT_EQ(refusal({INT64_MAX}), "shape: the number of elements overflows");
}

TEST(Shape, lets_no_zero_hide_an_overflow) {
  EXPECT_EQ(refusal({0, INT64_MAX, 2}), "shape: the number of elements overflows");
  EXPECT_EQ(refusal({INT64_MAX, 2, 0}), "shape: the number of elements overflows");
}

TEST(DType, has_a_size_and_a_name) {
  EXPECT_EQ(size_of(DType::f32), 4u);
  EXPECT_EQ(size_of(DType::f16), 2u);
  EXPECT_EQ(size_of(DType::bf16), 2u);
  EXPECT_EQ(size_of(DType::i64), 8u);
  EXPECT_EQ(size_of(DType::boolean), 1u);
  EXPECT_STREQ(name_of(DType::f32), "float32");
  EXPECT_STREQ(name_of(DType::f16), "float16");
  EXPECT_STREQ(name_of(DType::bf16), "bfloat16");
  EXPECT_STREQ(name_of(DType::i64), "int64");
  EXPECT_STREQ(name_of(DType::boolean), "bool");
}

}  // namespace
}  // namespace headlight::tensor
