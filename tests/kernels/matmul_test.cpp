// Matrix products: against the formula, against the chain they promise bit by bit, and against
// themselves cut differently.
#include "headlight/kernels/reference/matmul.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "headlight/kernels/kernels.h"

namespace headlight::kernels {
namespace {

using tensor::ConstMatrixView;
using tensor::DType;
using tensor::MatrixView;

enum class Layout { rows, columns, strided };  // which neighbours are adjacent; strided: none

// A matrix of random numbers that starts off alignment, with canaries of NaN between and around its
// rows.
class TestMatrix {
 public:
  TestMatrix(int64_t rows, int64_t cols, Layout layout, uint64_t seed) {
    const int64_t step = layout == Layout::strided ? 3 : 1;
    const int64_t line = (layout == Layout::columns ? rows : cols) * step + 5;
    const int64_t lines = layout == Layout::columns ? cols : rows;
    numbers_.assign(static_cast<size_t>(lines * line + 3), std::numeric_limits<float>::quiet_NaN());
    view_ = {numbers_.data() + 3, rows, cols, line, step};
    if (layout == Layout::columns) std::swap(view_.row_stride, view_.col_stride);
    const base::Random random(seed);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < cols; ++j)
        view_.at(i, j) = 2 * random.uniform(static_cast<uint64_t>(i * cols + j)) - 1;
    }
  }
  TestMatrix(const TestMatrix& other) : numbers_(other.numbers_), view_(other.view_) {
    view_.data = numbers_.data() + 3;
  }
  TestMatrix& operator=(const TestMatrix&) = delete;

  MatrixView view() const { return view_; }
  size_t canaries() const {
    size_t count = 0;
    for (const float number : numbers_) count += std::isnan(number);
    return count;
  }

 private:
  std::vector<float> numbers_;
  MatrixView view_;
};

bool same_bits(MatrixView x, MatrixView y) {
  for (int64_t i = 0; i < x.rows; ++i) {
    for (int64_t j = 0; j < x.cols; ++j) {
      if (std::memcmp(&x.at(i, j), &y.at(i, j), sizeof(float)) != 0) return false;
    }
  }
  return true;
}

struct Case {
  int64_t m, k, n;
  Layout a = Layout::rows;
  Layout b = Layout::rows;
  bool accumulate = false;
  bool bias = false;
  Activation activation = Activation::none;
  bool keep_before = false;

  std::string text() const {
    return std::to_string(m) + "x" + std::to_string(k) + "x" + std::to_string(n) + " a " +
           std::to_string(static_cast<int>(a)) + " b " + std::to_string(static_cast<int>(b)) +
           (accumulate ? " accumulate" : "") + (bias ? " bias" : "") + " activation " +
           std::to_string(static_cast<int>(activation)) + " on " + simd_target();
  }
};

// Random numbers for a case, and the product of them in several ways.
struct Operands {
  explicit Operands(const Case& options)
      : a(options.m, options.k, options.a, 1),
        b(options.k, options.n, options.b, 2),
        c(options.m, options.n, Layout::rows, 3),
        before(options.m, options.n, Layout::rows, 4),
        bias(1, options.n, Layout::rows, 5) {
    epilogue.accumulate = options.accumulate;
    epilogue.bias = options.bias ? bias.view().data : nullptr;
    epilogue.activation = options.activation;
    epilogue.before_activation = options.keep_before ? before.view().data : nullptr;
  }

  TestMatrix a, b, c, before, bias;
  Epilogue epilogue;
};

// What is promised: one chain of multiply-adds over k, fused where the instruction set has it, then
// the bias.
float chain(const Operands& operands, int64_t i, int64_t j) {
  const bool fused = simd_target() == "avx512" || simd_target() == "avx2";
  const ConstMatrixView a = operands.a.view();
  const ConstMatrixView b = operands.b.view();
  float sum = operands.epilogue.accumulate ? operands.c.view().at(i, j) : 0;
  for (int64_t k = 0; k < a.cols; ++k) {
    const float product = a.at(i, k) * b.at(k, j);
    sum = fused ? std::fma(a.at(i, k), b.at(k, j), sum) : sum + product;
  }
  return operands.epilogue.bias != nullptr ? sum + operands.epilogue.bias[j] : sum;
}

double activated(Activation activation, double x) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return x > 0 ? x : 0;
    case Activation::gelu:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::tanh:
      return std::tanh(x);
  }
  return 0;
}

void expect_close_to_reference(const Operands& operands, const TestMatrix& c,
                               const std::string& name) {
  const MatrixView got = c.view();
  std::vector<double> sums(static_cast<size_t>(got.rows * got.cols));
  const tensor::Matrix<double> exact{sums.data(), got.rows, got.cols, got.cols, 1};
  for (int64_t i = 0; i < got.rows; ++i) {
    for (int64_t j = 0; j < got.cols; ++j) exact.at(i, j) = operands.c.view().at(i, j);
  }
  reference::matmul(operands.a.view(), operands.b.view(), exact, operands.epilogue.accumulate,
                    operands.epilogue.bias);
  const double tolerance = 1e-6 + 3e-8 * static_cast<double>(operands.a.view().cols);
  for (int64_t i = 0; i < got.rows; ++i) {
    for (int64_t j = 0; j < got.cols; ++j) {
      const double want = activated(operands.epilogue.activation, exact.at(i, j));
      ASSERT_NEAR(got.at(i, j), want, tolerance * (1 + std::abs(want)))
          << name << " at " << i << ", " << j;
    }
  }
}

void expect_the_chain(const Operands& operands, const TestMatrix& c, const std::string& name) {
  const MatrixView got = c.view();
  for (int64_t i = 0; i < got.rows; ++i) {
    for (int64_t j = 0; j < got.cols; ++j)
      ASSERT_EQ(got.at(i, j), chain(operands, i, j)) << name << " at " << i << ", " << j;
  }
}

// Runs each test on every instruction set this machine has.
class Matmul : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { limit_simd(GetParam()); }
  void TearDown() override { limit_simd(simd_targets().front()); }

  // Plain and packed give the same bits and touch nothing else; returns the result.
  TestMatrix multiply(const Case& options, const Operands& operands, base::ThreadPool& pool) {
    const Execution execution{pool, arena_};
    TestMatrix plain(operands.c);
    matmul(execution, operands.a.view(), operands.b.view(), plain.view(), operands.epilogue);
    const size_t canaries = operands.c.canaries();
    EXPECT_EQ(plain.canaries(), canaries) << options.text();
    TestMatrix packed(operands.c);
    const PackedMatrix panels(execution, operands.b.view());
    matmul(execution, operands.a.view(), panels, packed.view(), operands.epilogue);
    EXPECT_EQ(packed.canaries(), canaries) << options.text();
    EXPECT_TRUE(same_bits(plain.view(), packed.view()))
        << "packed is not plain: " << options.text();
    return plain;
  }

  void check(const Case& options) {
    const Operands operands(options);
    const TestMatrix c = multiply(options, operands, pool_);
    expect_close_to_reference(operands, c, options.text());
    if (options.activation == Activation::none) expect_the_chain(operands, c, options.text());
    if (options.keep_before)
      expect_the_chain(operands, operands.before, options.text() + " before");
  }

  base::ThreadPool pool_{2};
  tensor::Arena arena_;
};

const int64_t kSizes[] = {0, 1, 2, 3, 5, 7, 8, 12, 13, 16, 17, 24, 31, 33, 47, 64, 65, 70};

TEST_P(Matmul, equals_the_formula_for_sizes_up_to_70) {
  const base::Random random(7);
  uint64_t draw = 0;
  for (const int64_t m : kSizes) {
    for (const int64_t n : kSizes) {
      const int64_t k = kSizes[random.below(draw++, std::size(kSizes))];
      const auto a = static_cast<Layout>(random.below(draw++, 3));
      const auto b = static_cast<Layout>(random.below(draw++, 3));
      check({m, k, n, a, b, random.below(draw++, 2) == 1, random.below(draw++, 2) == 1});
    }
  }
}

TEST_P(Matmul, equals_the_formula_for_every_layout_over_several_slices_of_k) {
  for (const Layout a : {Layout::rows, Layout::columns, Layout::strided}) {
    for (const Layout b : {Layout::rows, Layout::columns, Layout::strided}) {
      check({37, 1100, 45, a, b, false, true});
      check({1, 700, 83, a, b, true, false});
      check({53, 2100, 35, a, b, true, true});
    }
  }
}

TEST_P(Matmul, equals_the_formula_where_rows_and_columns_make_several_blocks) {
  check({900, 40, 130, Layout::rows, Layout::columns, true, true});
  check({30, 300, 2100, Layout::columns, Layout::columns});
  check({900, 40, 130, Layout::columns, Layout::rows, true, true});
  check({130, 300, 900, Layout::columns, Layout::rows});
}

TEST_P(Matmul, of_no_depth_is_the_epilogue_of_zero) {
  check({5, 0, 40});
  check({5, 0, 40, Layout::rows, Layout::rows, false, true});
  check({5, 0, 40, Layout::rows, Layout::rows, true, true});
}

TEST_P(Matmul, applies_each_activation_and_keeps_what_was_before_it) {
  for (const auto& [activation, name, needs] : kActivations) {
    for (const bool keep_before : {false, true}) {
      check({19, 300, 70, Layout::rows, Layout::columns, true, true, activation, keep_before});
      check({2, 900, 33, Layout::rows, Layout::rows, false, false, activation, keep_before});
    }
  }
}

TEST_P(Matmul, has_the_same_bits_for_any_number_of_threads) {
  for (const Layout a : {Layout::rows, Layout::columns}) {
    const Case options{70, 600, 333, a, Layout::columns, true, true};
    const Operands operands(options);
    const TestMatrix one = multiply(options, operands, pool_);
    for (int threads = 1; threads <= 8; ++threads) {
      base::ThreadPool pool(threads);
      EXPECT_TRUE(same_bits(multiply(options, operands, pool).view(), one.view())) << threads;
    }
  }
}

TEST_P(Matmul, gives_a_row_alone_the_bits_it_has_among_others) {
  for (const int64_t k : {64, 770}) {
    const Case options{61, k, 97, Layout::rows, Layout::columns, false, true};
    const Operands operands(options);
    const TestMatrix all = multiply(options, operands, pool_);
    const Execution execution{pool_, arena_};
    const PackedMatrix panels(execution, operands.b.view());
    for (const int64_t rows : {1, 2, 3, 4, 7, 13, 20}) {
      for (int64_t first = 0; first + rows <= 61; first += 11) {
        TestMatrix part(operands.c);
        const auto cut = [&](MatrixView view) {
          return MatrixView{view.data + first * view.row_stride, rows, view.cols, view.row_stride,
                            view.col_stride};
        };
        matmul(execution, cut(operands.a.view()), panels, cut(part.view()), operands.epilogue);
        EXPECT_TRUE(same_bits(cut(part.view()), cut(all.view()))) << rows << " from " << first;
      }
    }
  }
}

TEST_P(Matmul, takes_the_right_operand_in_parts) {
  const int64_t width = PackedMatrix::columns_together();
  for (const Layout layout : {Layout::rows, Layout::columns}) {
    const Case options{3, 45, 2 * width + 5, Layout::rows, layout, false, true};
    const Operands operands(options);
    const tensor::ConstMatrixView b = operands.b.view();
    const Execution execution{pool_, arena_};
    const PackedMatrix whole(execution, b);
    const size_t bytes = PackedMatrix::bytes_for(b.rows, b.cols, DType::f32);
    PackedMatrix parts(b.rows, b.cols, DType::f32, tensor::allocate_block(bytes));
    const auto set = [&](int64_t row, int64_t rows, int64_t col, int64_t cols) {
      const float* first = b.data + row * b.row_stride + col * b.col_stride;
      parts.set(row, col, {first, rows, cols, b.row_stride, b.col_stride});
    };
    set(0, b.rows, width, width + 5);
    set(0, 7, 0, width);
    set(7, b.rows - 7, 0, width);
    EXPECT_EQ(std::memcmp(parts.panels(), whole.panels(), bytes), 0);
  }
}

// Columns of 16-bit numbers, one after the other, as they are and widened.
struct NarrowColumns {
  NarrowColumns(DType dtype, int64_t rows, const std::vector<uint16_t>& bits)
      : rows(rows), cols(std::ssize(bits) / rows), widened(bits.size()) {
    tensor::widen(dtype, std::as_bytes(std::span(bits)), widened.data());
    narrow = {rows, cols, dtype,
              tensor::allocate_block(PackedMatrix::bytes_for(rows, cols, dtype))};
    const int64_t first = std::min(PackedMatrix::columns_together(), cols);
    if (first < cols) narrow.set_narrow(first, cols - first, bits.data() + first * rows);
    narrow.set_narrow(0, first, bits.data());
  }
  ConstMatrixView view() const { return {widened.data(), rows, cols, 1, rows}; }

  int64_t rows, cols;
  std::vector<float> widened;
  PackedMatrix narrow;
};

TEST_P(Matmul, of_16_bit_numbers_gives_the_bits_of_float32) {
  const Execution execution{pool_, arena_};
  const base::Random random(11);
  for (const DType dtype : {DType::f16, DType::bf16}) {
    for (const auto [m, k, n] : {std::array<int64_t, 3>{1, 2, 1},
                                 {1, 770, 97},
                                 {3, 2056, 33},
                                 {14, 1030, 200},
                                 {61, 130, 65},
                                 {300, 1100, 140}}) {
      // Up to 2, subnormal float16 among them.
      const uint32_t kept = dtype == DType::f16 ? 0xBFFF : 0xBFFF & ~0x4000u;
      std::vector<uint16_t> bits(static_cast<size_t>(k * n));
      for (size_t i = 0; i < bits.size(); ++i) {
        bits[i] = static_cast<uint16_t>(random.bits(i) & kept);
      }
      const NarrowColumns b(dtype, k, bits);
      const TestMatrix a(m, k, Layout::rows, 1);
      TestMatrix wide(m, n, Layout::rows, 3);
      TestMatrix narrow(wide);
      const TestMatrix bias(1, n, Layout::rows, 5);
      const Epilogue epilogue{.bias = bias.view().data, .activation = Activation::silu};
      matmul(execution, a.view(), PackedMatrix(execution, b.view()), wide.view(), epilogue);
      matmul(execution, a.view(), b.narrow, narrow.view(), epilogue);
      EXPECT_TRUE(same_bits(wide.view(), narrow.view())) << m << " " << k << " " << n;
      EXPECT_EQ(wide.canaries(), narrow.canaries());
    }
  }
}

TEST_P(Matmul, widens_each_16_bit_number_as_tensors_are_widened) {
  const Execution execution{pool_, arena_};
  for (const DType dtype : {DType::f16, DType::bf16}) {
    std::vector<uint16_t> bits(2 * 65536);  // each below a one: its column sums to itself
    for (size_t i = 0; i < 65536; ++i) {
      bits[2 * i] = dtype == DType::f16 ? 0x3C00 : 0x3F80;
      bits[2 * i + 1] = static_cast<uint16_t>(i);
    }
    const NarrowColumns b(dtype, 2, bits);
    std::vector<float> sums(65536);
    const std::vector<float> a = {0, 1};
    matmul(execution, {a.data(), 1, 2, 2, 1}, b.narrow, {sums.data(), 1, 65536, 65536, 1}, {});
    std::vector<float> row(65536);
    b.narrow.unpack_row(1, row.data());
    std::vector<float> unpacked(2 * 65536);
    b.narrow.unpack(unpacked.data(), 1, 2);
    EXPECT_EQ(std::memcmp(unpacked.data(), b.widened.data(), unpacked.size() * sizeof(float)), 0);
    for (size_t i = 0; i < 65536; ++i) {
      const float number = b.widened[2 * i + 1];
      ASSERT_EQ(std::memcmp(&row[i], &number, sizeof(number)), 0) << i;
      if (std::isnan(number)) {
        ASSERT_TRUE(std::isnan(sums[i])) << i;
      } else {
        ASSERT_EQ(sums[i], number) << i;
      }
    }
  }
}

TEST_P(Matmul, gives_a_column_alone_the_bits_it_has_among_others) {
  const Case options{29, 530, 101, Layout::columns, Layout::rows, true, false};
  const Operands operands(options);
  const TestMatrix all = multiply(options, operands, pool_);
  const Execution execution{pool_, arena_};
  for (const int64_t cols : {1, 2, 15, 33}) {
    for (int64_t first = 0; first + cols <= 101; first += 17) {
      TestMatrix part(operands.c);
      const auto cut = [&](MatrixView view) {
        return MatrixView{view.data + first * view.col_stride, view.rows, cols, view.row_stride,
                          view.col_stride};
      };
      matmul(execution, operands.a.view(), cut(operands.b.view()), cut(part.view()),
             operands.epilogue);
      EXPECT_TRUE(same_bits(cut(part.view()), cut(all.view()))) << cols << " from " << first;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(on, Matmul, testing::ValuesIn(simd_targets()),
                         [](const auto& target) { return target.param; });

}  // namespace
}  // namespace headlight::kernels
