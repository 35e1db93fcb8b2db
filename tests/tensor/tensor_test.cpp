// Tensor: slices, permutations and reshapes over shared memory, and the views that kernels take.
#include "headlight/tensor/tensor.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "headlight/base/base.h"

namespace headlight::tensor {
namespace {

// 0, 1, 2, ... in the given shape.
Tensor counted(const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  std::iota(values.begin(), values.end(), 0.0f);
  return Tensor::of(shape, values);
}

std::vector<float> values_of(const Tensor& tensor) {
  const Tensor whole = tensor.contiguous();
  return {whole.data<float>(), whole.data<float>() + whole.elements()};
}

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::bad_input);
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Tensor, made_by_default_is_not_defined) {
  EXPECT_FALSE(Tensor().defined());
  EXPECT_TRUE(Tensor::zeros(DType::f32, {0}).defined());
}

TEST(Tensor, of_zeros_is_zero_in_every_type) {
  Arena arena;
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::i64, DType::boolean}) {
    for (const Tensor& zeros :
         {Tensor::zeros(dtype, {3, 5}), Tensor::zeros(arena, dtype, {3, 5})}) {
      EXPECT_EQ(zeros.bytes(), 15 * size_of(dtype));
      for (size_t i = 0; i < zeros.bytes(); ++i) ASSERT_EQ(zeros.raw()[i], std::byte{0});
    }
  }
}

TEST(Tensor, from_values_holds_them_in_order) {
  const Tensor integers = Tensor::of({2, 2}, std::vector<int64_t>{1, 2, 3, INT64_MIN});
  EXPECT_EQ(integers.dtype(), DType::i64);
  EXPECT_EQ(integers.data<int64_t>()[3], INT64_MIN);
  EXPECT_EQ(values_of(Tensor::of({}, std::vector<float>{2.5f})), (std::vector<float>{2.5f}));
}

TEST(Tensor, from_too_few_or_too_many_values_is_refused) {
  EXPECT_EQ(refusal([] {
              Tensor::of({2, 3}, std::vector<float>(5));
            }),
            "tensor: shape [2, 3] needs 6 values, 5 are given");
  EXPECT_EQ(refusal([] { Tensor::of({}, std::vector<int64_t>(2)); }),
            "tensor: shape [] needs 1 values, 2 are given");
}

TEST(Tensor, copies_share_their_numbers) {
  const Tensor original = counted({2, 3});
  Tensor copy = original;
  copy.mutable_data<float>()[4] = 40;
  EXPECT_EQ(original.data<float>()[4], 40);
}

template <class T>
concept Writable = requires(T tensor) {
  tensor.template mutable_data<float>();
}
|| requires(T tensor) { tensor.mutable_raw(); }
|| requires(T tensor) { tensor.mutable_matrix(); }
|| requires(T tensor) { tensor.mutable_heads(1); };

TEST(Tensor, is_only_read_through_a_const_handle) {
  static_assert(Writable<Tensor&> && !Writable<const Tensor&>);
  static_assert(std::is_same_v<decltype(std::declval<Tensor&>().data<float>()), const float*>);
  static_assert(std::is_same_v<decltype(std::declval<Tensor&>().raw()), const std::byte*>);
  static_assert(std::is_same_v<decltype(std::declval<Tensor&>().matrix()), ConstMatrixView>);
  static_assert(std::is_same_v<decltype(std::declval<Tensor&>().heads(1)), ConstHeadsView>);
}

TEST(Tensor, is_written_where_it_is_read) {
  Tensor whole = counted({2, 3, 8});
  Tensor part = whole.slice(-1, 4, 4);
  EXPECT_EQ(part.mutable_data<float>(), part.data<float>());
  EXPECT_EQ(part.mutable_raw(), part.raw());
  part.mutable_matrix().at(4, 1) = -1;
  EXPECT_EQ(whole.data<float>()[4 * 8 + 4 + 1], -1);
  part.mutable_heads(2).row(1, 1, 2)[0] = -2;
  EXPECT_EQ(whole.data<float>()[24 + 2 * 8 + 4 + 2], -2);
}

TEST(Tensor, keeps_its_memory_when_the_arena_is_gone) {
  Tensor tensor;
  {
    Arena arena;
    tensor = Tensor::zeros(arena, DType::f32, {100});
  }
  tensor.mutable_data<float>()[99] = 1;
  EXPECT_EQ(tensor.data<float>()[99], 1);
}

TEST(Tensor, gives_its_block_back_when_the_last_slice_is_gone) {
  Arena arena;
  Tensor tensor = Tensor::zeros(arena, DType::f32, {4, 16});
  Tensor part = tensor.slice(0, 1, 2);
  tensor = Tensor();
  EXPECT_GT(arena.bytes_in_use(), 0u);
  part = Tensor();
  EXPECT_EQ(arena.bytes_in_use(), 0u);
}

TEST(Slice, of_any_axis_sees_the_right_numbers) {
  const Tensor tensor = counted({2, 3, 4});
  EXPECT_EQ(values_of(tensor.slice(0, 1, 1)),
            (std::vector<float>{12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}));
  EXPECT_EQ(values_of(tensor.slice(1, 1, 1)), (std::vector<float>{4, 5, 6, 7, 16, 17, 18, 19}));
  EXPECT_EQ(values_of(tensor.slice(-1, 1, 2)),
            (std::vector<float>{1, 2, 5, 6, 9, 10, 13, 14, 17, 18, 21, 22}));
  EXPECT_EQ(values_of(tensor.slice(1, 1, 2).slice(2, 3, 1)), (std::vector<float>{7, 11, 19, 23}));
}

TEST(Slice, shares_memory) {
  const Tensor tensor = counted({2, 3});
  tensor.slice(1, 2, 1).mutable_data<float>()[0] = 50;
  EXPECT_EQ(tensor.data<float>()[2], 50);
}

TEST(Slice, may_be_empty) {
  const Tensor tensor = counted({2, 3});
  for (const int64_t begin : {0, 1, 3}) {
    const Tensor empty = tensor.slice(1, begin, 0);
    EXPECT_EQ(empty.shape(), (Shape{2, 0}));
    EXPECT_TRUE(empty.is_contiguous());
    EXPECT_EQ(empty.reshaped({0}).elements(), 0);
  }
}

TEST(Slice, outside_its_tensor_is_refused) {
  const Tensor tensor = counted({2, 3});
  EXPECT_EQ(refusal([&] { tensor.slice(1, 1, 3); }),
            "slice: 3 from 1 on of axis 1 is outside [2, 3]");
  EXPECT_EQ(refusal([&] { tensor.slice(-3, 0, 1); }),
            "slice: 1 from 0 on of axis -3 is outside [2, 3]");
  for (const auto& range : std::vector<std::pair<int64_t, int64_t>>{
           {-1, 1}, {0, -1}, {4, 0}, {INT64_MAX, 1}, {1, INT64_MAX}, {INT64_MAX, INT64_MAX}}) {
    EXPECT_NE(
        refusal([&] { tensor.slice(1, range.first, range.second); }).find("is outside [2, 3]"),
        std::string::npos);
  }
  EXPECT_NE(refusal([&] { tensor.slice(2, 0, 1); }).find("axis 2"), std::string::npos);
}

TEST(Permuted, exchanges_axes_without_copying) {
  const Tensor tensor = counted({2, 3});
  const Tensor turned = tensor.permuted({1, 0});
  EXPECT_EQ(turned.shape(), (Shape{3, 2}));
  EXPECT_EQ(turned.data<float>(), tensor.data<float>());
  EXPECT_FALSE(turned.is_contiguous());
  EXPECT_EQ(values_of(turned), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(values_of(turned.permuted({1, 0})), values_of(tensor));
}

TEST(Permuted, of_a_slice_keeps_its_offset) {
  const Tensor turned = counted({2, 3, 2}).slice(1, 1, 2).permuted({1, 0, 2});
  EXPECT_EQ(values_of(turned), (std::vector<float>{2, 3, 8, 9, 4, 5, 10, 11}));
}

TEST(Permuted, over_axes_of_one_stays_contiguous) {
  EXPECT_TRUE(counted({1, 3, 1, 4}).permuted({2, 1, 0, 3}).is_contiguous());
}

TEST(Reshaped, reads_the_same_numbers_in_another_shape) {
  const Tensor tensor = counted({2, 6});
  const Tensor other = tensor.reshaped({3, 2, 2});
  EXPECT_EQ(other.data<float>(), tensor.data<float>());
  EXPECT_EQ(values_of(other), values_of(tensor));
  EXPECT_EQ(values_of(tensor.slice(0, 1, 1).reshaped({2, 3})),
            (std::vector<float>{6, 7, 8, 9, 10, 11}));
}

TEST(Reshaped, to_another_number_of_elements_or_from_strides_is_refused) {
  const Tensor tensor = counted({2, 3});
  EXPECT_EQ(refusal([&] { tensor.reshaped({4}); }), "reshape: [2, 3] cannot be read as [4]");
  EXPECT_EQ(refusal([&] {
              tensor.permuted({1, 0}).reshaped({6});
            }),
            "reshape: [3, 2] cannot be read as [6]");
}

TEST(Contiguous, copies_only_when_it_must) {
  Arena arena;
  const Tensor tensor = counted({4, 4});
  EXPECT_EQ(tensor.contiguous().raw(), tensor.raw());
  EXPECT_EQ(tensor.contiguous(arena).raw(), tensor.raw());
  EXPECT_EQ(arena.bytes_reserved(), 0u);
  const Tensor turned = tensor.permuted({1, 0}).contiguous(arena);
  EXPECT_GT(arena.bytes_reserved(), 0u);
  EXPECT_TRUE(turned.is_contiguous());
  EXPECT_EQ(turned.data<float>()[1], 4);
}

TEST(Contiguous, copies_every_type_by_its_width) {
  const Tensor integers = Tensor::of({2, 2}, std::vector<int64_t>{1, 2, 3, 4}).permuted({1, 0});
  const Tensor copy = integers.contiguous();
  EXPECT_EQ(std::vector<int64_t>(copy.data<int64_t>(), copy.data<int64_t>() + 4),
            (std::vector<int64_t>{1, 3, 2, 4}));
  Tensor halves = Tensor::zeros(DType::f16, {2, 3});
  halves.mutable_data<uint16_t>()[4] = 0x3c00;
  EXPECT_EQ(halves.permuted({1, 0}).contiguous().data<uint16_t>()[3], 0x3c00);
}

// Every number of the matrix against the same place of the contiguous copy.
void expect_rows(const Tensor& tensor, int64_t rows, int64_t cols) {
  const ConstMatrixView matrix = tensor.matrix();
  ASSERT_EQ(matrix.rows, rows);
  ASSERT_EQ(matrix.cols, cols);
  const std::vector<float> values = values_of(tensor);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t col = 0; col < cols; ++col) {
      ASSERT_EQ(matrix.at(row, col), values[static_cast<size_t>(row * cols + col)]);
      ASSERT_EQ(&matrix.transposed().at(col, row), &matrix.at(row, col));
    }
  }
}

TEST(Matrix, has_all_axes_but_the_last_as_rows) {
  expect_rows(counted({5}), 1, 5);
  expect_rows(counted({3, 5}), 3, 5);
  expect_rows(counted({2, 3, 5}), 6, 5);
  expect_rows(counted({2, 1, 3, 1, 5}), 6, 5);
  expect_rows(counted({2, 3, 1}), 6, 1);
}

TEST(Matrix, of_a_slice_steps_over_what_is_cut_off) {
  expect_rows(counted({2, 3, 8}).slice(-1, 2, 4), 6, 4);
  expect_rows(counted({4, 3, 8}).slice(0, 1, 2), 6, 8);
  expect_rows(counted({4, 3, 8}).slice(0, 1, 1).slice(1, 1, 2), 2, 8);
  expect_rows(counted({4, 3, 8}).slice(1, 1, 1), 4, 8);
}

TEST(Matrix, of_nothing_has_no_rows_or_no_columns) {
  expect_rows(Tensor::zeros(DType::f32, {0, 5}), 0, 5);
  expect_rows(Tensor::zeros(DType::f32, {2, 0, 5}), 0, 5);
  expect_rows(Tensor::zeros(DType::f32, {3, 0}), 3, 0);
}

TEST(Heads, of_joined_columns_are_cut_by_width) {
  const Tensor tensor = counted({2, 3, 8});  // batch, tokens, two heads of width 4
  const ConstHeadsView heads = tensor.heads(2);
  for (int64_t batch = 0; batch < 2; ++batch) {
    for (int64_t head = 0; head < 2; ++head) {
      for (int64_t row = 0; row < 3; ++row) {
        EXPECT_EQ(heads.row(batch, head, row)[1], batch * 24 + row * 8 + head * 4 + 1);
      }
    }
  }
}

TEST(Heads, of_separate_heads_are_taken_as_they_lie) {
  const Tensor tensor = counted({2, 3, 4, 5});  // batch, heads, tokens, width
  EXPECT_EQ(tensor.heads(3).row(1, 2, 3)[4], 119);
  const Tensor by_token = counted({2, 4, 3, 5}).permuted({0, 2, 1, 3});
  EXPECT_EQ(by_token.heads(3).row(1, 2, 3)[4], 119);
  EXPECT_EQ(by_token.heads(3).row(0, 1, 2)[0], 2 * 15 + 5);
}

TEST(Heads, of_a_third_of_a_fused_projection_step_over_the_rest) {
  const Tensor fused = counted({1, 2, 12});
  const ConstHeadsView keys = fused.slice(-1, 4, 4).heads(2);
  EXPECT_EQ(keys.row(0, 1, 1)[0], 12 + 4 + 2);
}

TEST(Broadcast, repeats_an_axis_with_stride_zero) {
  const Tensor tensor = counted({3, 4});
  const Broadcast<const float> bias{tensor.data<float>(), {0, 0, 4, 1}};
  EXPECT_TRUE(bias);
  EXPECT_EQ(bias.at(5, 7, 2, 1), 9);
  EXPECT_FALSE(Broadcast<const float>{});
}

}  // namespace
}  // namespace headlight::tensor
