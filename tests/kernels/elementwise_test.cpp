// Sums, multiples, column sums, dropout, embedding rows and sinusoids.
#include <gtest/gtest.h>

#include <cmath>

#include "headlight/kernels/kernels.h"
#include "headlight/kernels/reference/dropout.h"
#include "headlight/kernels/reference/embedding.h"
#include "tests/kernels/rows.h"

namespace headlight::kernels {
namespace {

using namespace tests;

class Elementwise : public OnEachTarget {};

TEST_P(Elementwise, sums_and_multiples_equal_the_formula_in_place_and_not) {
  for (const int64_t cols : kOddSizes) {
    for (const int64_t rows : {0, 1, 6}) {
      const PaddedRows a(rows, cols, 1), b(rows, cols, 2);
      const std::vector<double> u = a.exact(), v = b.exact();
      std::vector<double> sum, multiple;
      for (size_t i = 0; i < u.size(); ++i) {
        sum.push_back(-1.5 * u[i] + v[i]);
        multiple.push_back(0.3f * u[i]);
      }
      PaddedRows y(rows, cols, 3), over_a(a), over_b(b);
      add(execution(), -1.5f, a.view(), b.view(), y.view());
      expect_close(y.view(), sum, 1e-7);
      EXPECT_TRUE(y.gaps_are_whole());
      add(execution(), -1.5f, over_a.view(), b.view(), over_a.view());
      add(execution(), -1.5f, a.view(), over_b.view(), over_b.view());
      EXPECT_TRUE(same_bits(over_a.view(), y.view()));
      EXPECT_TRUE(same_bits(over_b.view(), y.view()));

      PaddedRows in_place(a);
      scale(execution(), 0.3f, a.view(), y.view());
      scale(execution(), 0.3f, in_place.view(), in_place.view());
      expect_close(y.view(), multiple, 1e-7);
      EXPECT_TRUE(same_bits(in_place.view(), y.view()));
      EXPECT_TRUE(y.gaps_are_whole());
    }
  }
}

TEST_P(Elementwise, sums_of_matrices_without_gaps_have_the_same_bits_as_with_them) {
  const PaddedRows a(200, 129, 1), b(200, 129, 2);
  PaddedRows y(200, 129, 3);
  add(execution(), 0.7f, a.view(), b.view(), y.view());
  const std::vector<float> u = rounded(a.exact()), v = rounded(b.exact());
  std::vector<float> w(u.size());
  add(execution(), 0.7f, {u.data(), 200, 129, 129, 1}, {v.data(), 200, 129, 129, 1},
      {w.data(), 200, 129, 129, 1});
  EXPECT_TRUE(same_bits({w.data(), 200, 129, 129, 1}, y.view()));
}

TEST_P(Elementwise, column_sums_are_added_to_what_is_there) {
  for (const int64_t rows : {0, 1, 2, 63, 64, 65, 600}) {
    for (const int64_t cols : kOddSizes) {
      const PaddedRows x(rows, cols, 1, 0, 2);
      PaddedRows sums(1, cols, 2);
      std::vector<double> want = sums.exact();
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < cols; ++c) want[static_cast<size_t>(c)] += x.view().at(r, c);
      }
      add_column_sums(execution(), x.view(), sums.data());
      expect_close(sums.view(), want);
      EXPECT_TRUE(sums.gaps_are_whole());
    }
  }
}

TEST_P(Elementwise, has_the_same_bits_for_any_number_of_threads) {
  const std::vector<float> x = rounded(random_numbers(2000 * 70, 5));
  const tensor::ConstMatrixView in{x.data(), 2000, 70, 70, 1};
  expect_same_bits_for_any_threads([&](const Execution& with) {
    std::vector<float> y(x), sums(70);
    const tensor::MatrixView out{y.data(), 2000, 70, 70, 1};
    add(with, 0.7f, in, out, out);
    scale(with, 1.1f, out, out);
    dropout(with, {.probability = 0.4f, .key = 11, .first_row = 0}, in, out, true);
    add_column_sums(with, out, sums.data());
    y.insert(y.end(), sums.begin(), sums.end());
    return y;
  });
}

class Dropout : public OnEachTarget {};

TEST_P(Dropout, multiplies_by_the_factors_that_philox_draws) {
  for (const int64_t cols : {0, 1, 3, 4, 17, 64, 129, 256, 700}) {
    const PaddedRows x(5, cols, 1);
    const DropoutDraw draw{.probability = 0.3f, .key = 99, .first_row = (int64_t{1} << 32) - 2};
    std::vector<double> want = x.exact(), factors;
    for (int64_t r = 0; r < 5; ++r) {
      for (int64_t c = 0; c < cols; ++c) {
        factors.push_back(reference::dropout_factor(draw, r, c));
      }
    }
    reference::dropout(want.data(), factors.data(), want.data(), 5 * cols);
    PaddedRows y(5, cols, 2), sum(5, cols, 3), in_place(x);
    std::vector<double> want_sum = sum.exact();
    for (size_t i = 0; i < want.size(); ++i) want_sum[i] += want[i];
    dropout(execution(), draw, x.view(), y.view(), false);
    dropout(execution(), draw, x.view(), sum.view(), true);
    dropout(execution(), draw, in_place.view(), in_place.view(), false);
    expect_close(y.view(), want, 1e-7);
    expect_close(sum.view(), want_sum, 1e-7);
    EXPECT_TRUE(same_bits(in_place.view(), y.view()));
    EXPECT_TRUE(y.gaps_are_whole() && sum.gaps_are_whole());
  }
}

TEST_P(Dropout, of_probability_zero_is_the_input_and_of_one_is_zero) {
  const PaddedRows x(3, 50, 1);
  PaddedRows y(3, 50, 2);
  dropout(execution(), {.probability = 0, .key = 1, .first_row = 0}, x.view(), y.view(), false);
  EXPECT_TRUE(same_bits(x.view(), y.view()));
  dropout(execution(), {.probability = 1, .key = 1, .first_row = 0}, x.view(), y.view(), false);
  for (int64_t c = 0; c < 50; ++c) EXPECT_EQ(y.view().at(1, c), 0);
}

TEST_P(Dropout, of_part_of_the_rows_is_part_of_the_draw) {
  const PaddedRows x(9, 40, 1);
  PaddedRows whole(9, 40, 2), part(9, 40, 3);
  dropout(execution(), {.probability = 0.5f, .key = 7, .first_row = 20}, x.view(), whole.view(),
          false);
  const auto last_rows = [](tensor::MatrixView view) {
    return tensor::MatrixView{view.data + 6 * view.row_stride, 3, view.cols, view.row_stride, 1};
  };
  dropout(execution(), {.probability = 0.5f, .key = 7, .first_row = 26}, last_rows(x.view()),
          last_rows(part.view()), false);
  EXPECT_TRUE(same_bits(last_rows(part.view()), last_rows(whole.view())));
}

TEST_P(Dropout, keeps_the_share_it_says) {
  PaddedRows x(300, 301, 1);
  x.fill(1);
  dropout(execution(), {.probability = 0.2f, .key = 3, .first_row = 0}, x.view(), x.view(), false);
  double kept = 0;
  for (const double y : x.exact()) kept += y != 0;
  EXPECT_NEAR(kept / (300 * 301), 0.8, 0.008);  // six deviations
}

HEADLIGHT_ON_EACH_TARGET(Elementwise);
HEADLIGHT_ON_EACH_TARGET(Dropout);

std::vector<int64_t> random_ids(int64_t count, uint64_t table_rows, uint64_t seed) {
  const base::Random random(seed);
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < count; ++i) {
    ids.push_back(static_cast<int64_t>(random.below(static_cast<uint64_t>(i), table_rows)));
  }
  return ids;
}

TEST(Embedding, takes_rows_and_gives_them_their_gradients) {
  base::ThreadPool threads(3);
  tensor::Arena arena;
  for (const int64_t cols : {0, 1, 7, 64, 128, 300}) {
    for (const int64_t rows : {0, 1, 50}) {
      const PaddedRows table(11, cols, 1), dy(rows, cols, 2);
      PaddedRows y(rows, cols, 3), d_table(11, cols, 4);
      const std::vector<int64_t> ids = random_ids(rows, 11, 5);
      std::vector<double> want(y.exact().size()), d_want = d_table.exact();
      reference::embedding_forward(table.exact().data(), ids.data(), want.data(), rows, cols);
      reference::embedding_backward(ids.data(), dy.exact().data(), d_want.data(), rows, cols);
      embedding_forward({threads, arena}, table.view(), ids.data(), y.view());
      embedding_backward({threads, arena}, ids.data(), dy.view(), d_table.view());
      expect_close(y.view(), want, 0);
      expect_close(d_table.view(), d_want);
      EXPECT_TRUE(y.gaps_are_whole() && d_table.gaps_are_whole());
    }
  }
}

TEST(Embedding, adds_equal_ids_up_in_the_order_of_rows_for_any_number_of_threads) {
  tensor::Arena arena;
  const std::vector<float> dy = rounded(random_numbers(500 * 300, 1));
  const std::vector<int64_t> ids = random_ids(500, 3, 2);
  std::vector<float> want(3 * 300);
  for (size_t r = 0; r < 500; ++r) {
    for (size_t c = 0; c < 300; ++c) {
      want[static_cast<size_t>(ids[r]) * 300 + c] += dy[r * 300 + c];
    }
  }
  for (int count = 1; count <= 8; ++count) {
    base::ThreadPool threads(count);
    std::vector<float> d_table(3 * 300);
    embedding_backward({threads, arena}, ids.data(), {dy.data(), 500, 300, 300, 1},
                       {d_table.data(), 3, 300, 300, 1});
    EXPECT_TRUE(same_bits(d_table, want)) << count;
  }
}

TEST(EmbeddingReference, has_the_gradient_of_its_differences) {
  for (uint64_t n = 0; n < 200; ++n) {
    const int64_t rows = 1 + static_cast<int64_t>(n % 7);
    const int64_t cols = 1 + static_cast<int64_t>(n % 5);
    const std::vector<int64_t> ids = random_ids(rows, 4, n);
    const std::vector<double> table = random_numbers(4 * cols, 100 + n);
    const std::vector<double> dy = random_numbers(rows * cols, 400 + n);
    const auto f = [&](const std::vector<double>& at) {
      std::vector<double> y(dy.size());
      reference::embedding_forward(at.data(), ids.data(), y.data(), rows, cols);
      return dot(y, dy);
    };
    std::vector<double> d_table(table.size());
    reference::embedding_backward(ids.data(), dy.data(), d_table.data(), rows, cols);
    expect_close(d_table, differences(f, table), 1e-8);
  }
}

TEST(DropoutReference, has_the_gradient_of_its_differences) {
  for (uint64_t n = 0; n < 200; ++n) {
    const int64_t count = 1 + static_cast<int64_t>(n % 20);
    const DropoutDraw draw{.probability = 0.4f, .key = n, .first_row = 3};
    std::vector<double> factors;
    for (int64_t i = 0; i < count; ++i) factors.push_back(reference::dropout_factor(draw, 0, i));
    const std::vector<double> x = random_numbers(count, 100 + n), dy = random_numbers(count, n);
    const auto f = [&](const std::vector<double>& at) {
      std::vector<double> y(at.size());
      reference::dropout(at.data(), factors.data(), y.data(), count);
      return dot(y, dy);
    };
    std::vector<double> dx(x.size());
    reference::dropout(dy.data(), factors.data(), dx.data(), count);
    expect_close(dx, differences(f, x), 1e-8);
  }
}

TEST(Sinusoids, equal_the_formula_in_every_arrangement) {
  for (const int64_t cols : {0, 1, 2, 3, 4, 8, 15, 64}) {
    for (const bool halves : {false, true}) {
      for (const bool half_minus_one : {false, true}) {
        if (half_minus_one && cols % 2 == 1) continue;
        const SinusoidOptions options{
            .first = 1, .base = 10000, .halves = halves, .half_minus_one = half_minus_one};
        PaddedRows y(40, cols, 1);
        sinusoids(options, y.view());
        std::vector<double> want;
        for (int64_t r = 0; r < 40; ++r) {
          for (int64_t c = 0; c < cols; ++c) {
            want.push_back(reference::sinusoid<double>(options, 1 + r, c, cols));
          }
        }
        expect_close(y.view(), want, 1e-7);
        EXPECT_TRUE(y.gaps_are_whole());
      }
    }
  }
}

TEST(Sinusoids, have_the_numbers_of_the_paper) {
  PaddedRows y(3, 4, 1);
  sinusoids({}, y.view());
  expect_close(y.view(),
               {0, 1, 0, 1, std::sin(1), std::cos(1), std::sin(0.01), std::cos(0.01), std::sin(2),
                std::cos(2), std::sin(0.02), std::cos(0.02)},
               1e-7);
}

}  // namespace
}  // namespace headlight::kernels
