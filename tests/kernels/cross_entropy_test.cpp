// Cross-entropy: losses and gradients, ignored targets, label smoothing, rows of any length.
#include "headlight/kernels/reference/cross_entropy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "headlight/kernels/kernels.h"
#include "tests/kernels/rows.h"

namespace headlight::kernels {
namespace {

using namespace tests;

// Targets below `cols`; every fourth is the ignored number.
std::vector<int64_t> random_targets(int64_t rows, int64_t cols, int64_t ignored, uint64_t seed) {
  const base::Random random(seed);
  std::vector<int64_t> targets;
  for (int64_t r = 0; r < rows; ++r) {
    const auto drawn = random.below(static_cast<uint64_t>(r), static_cast<uint64_t>(cols));
    targets.push_back(r % 4 == 3 ? ignored : static_cast<int64_t>(drawn));
  }
  return targets;
}

struct ExactLoss {
  ExactLoss(const std::vector<double>& logits, const std::vector<int64_t>& targets,
            const CrossEntropyOptions& options, double factor, int64_t cols)
      : losses(targets.size()), d_logits(logits.size()) {
    const int64_t rows = static_cast<int64_t>(targets.size());
    reference::cross_entropy_forward(logits.data(), targets.data(), options, losses.data(), rows,
                                     cols);
    reference::cross_entropy_backward(logits.data(), targets.data(), options, factor,
                                      d_logits.data(), rows, cols);
  }
  std::vector<double> losses, d_logits;
};

class CrossEntropyKernel : public OnEachTarget {
 protected:
  void check(int64_t rows, int64_t cols, const CrossEntropyOptions& options) {
    const PaddedRows logits(rows, cols, 1, -9, 9);
    const std::vector<int64_t> targets = random_targets(rows, cols, options.ignored, 2);
    const ExactLoss exact(logits.exact(), targets, options, 0.25, cols);
    PaddedRows losses(1, rows, 3), d_logits(rows, cols, 4);
    cross_entropy(execution(), logits.view(), targets.data(), options, losses.data(), 0.25f,
                  d_logits.view());
    expect_close(losses.view(), exact.losses, 3e-7);
    expect_close(d_logits.view(), exact.d_logits, 1e-7);
    EXPECT_TRUE(losses.gaps_are_whole() && d_logits.gaps_are_whole());

    PaddedRows in_place(logits), losses_in_place(1, rows, 5), losses_alone(1, rows, 6);
    cross_entropy(execution(), in_place.view(), targets.data(), options, losses_in_place.data(),
                  0.25f, in_place.view());
    cross_entropy(execution(), logits.view(), targets.data(), options, losses_alone.data(), 0.25f,
                  {});
    EXPECT_TRUE(same_bits(in_place.view(), d_logits.view()));
    EXPECT_TRUE(same_bits(losses_in_place.view(), losses.view()));
    EXPECT_TRUE(same_bits(losses_alone.view(), losses.view()));
  }
};

TEST_P(CrossEntropyKernel, equals_the_formula_for_every_size) {
  for (const int64_t cols : kOddSizes) {
    if (cols == 0) continue;  // no class, no target
    for (const int64_t rows : {0, 1, 5, 9}) {
      check(rows, cols, {});
      check(rows, cols, {.ignored = -100, .label_smoothing = 0.1f});
    }
  }
}

TEST_P(CrossEntropyKernel, equals_the_formula_for_rows_of_several_blocks) {
  for (const int64_t cols : {2048, 2049, 7001}) {
    check(3, cols, {});
    check(3, cols, {.ignored = -1, .label_smoothing = 0.3f});
  }
}

TEST_P(CrossEntropyKernel, of_certain_and_impossible_targets_is_zero_and_infinite) {
  PaddedRows logits(3, 20, 1);
  for (int64_t c = 0; c < 20; ++c) {
    logits.view().at(0, c) = c == 4 ? 1000.0f : 0.0f;
    logits.view().at(1, c) = c == 4 ? -kInfinity : 0.0f;
    logits.view().at(2, c) = -kInfinity;
  }
  const std::vector<int64_t> targets = {4, 4, 4};
  std::vector<float> losses(3);
  PaddedRows d_logits(3, 20, 2);
  cross_entropy(execution(), logits.view(), targets.data(), {}, losses.data(), 1, d_logits.view());
  EXPECT_EQ(losses[0], 0);
  EXPECT_EQ(losses[1], kInfinity);
  EXPECT_EQ(losses[2], kInfinity);
  expect_close(d_logits.view(), ExactLoss(logits.exact(), targets, {}, 1, 20).d_logits);
}

TEST_P(CrossEntropyKernel, does_not_read_ignored_rows) {
  PaddedRows logits(2, 40, 1);
  for (int64_t c = 0; c < 40; ++c) logits.view().at(1, c) = std::nanf("");
  const std::vector<int64_t> targets = {3, -1};
  std::vector<float> losses(2);
  cross_entropy(execution(), logits.view(), targets.data(),
                {.ignored = -1, .label_smoothing = 0.1f}, losses.data(), 1, logits.view());
  EXPECT_GT(losses[0], 0);
  EXPECT_EQ(losses[1], 0);
  for (int64_t c = 0; c < 40; ++c) EXPECT_EQ(logits.view().at(1, c), 0);
}

TEST_P(CrossEntropyKernel, has_the_same_bits_for_any_number_of_threads) {
  const std::vector<float> x = rounded(random_numbers(30 * 5000, 5, -9, 9));
  const std::vector<int64_t> targets = random_targets(30, 5000, -1, 6);
  expect_same_bits_for_any_threads([&](const Execution& with) {
    std::vector<float> d(x);
    std::vector<float> losses(30);
    const tensor::MatrixView view{d.data(), 30, 5000, 5000, 1};
    cross_entropy(with, view, targets.data(), {.ignored = -1, .label_smoothing = 0.1f},
                  losses.data(), 1, view);
    d.insert(d.end(), losses.begin(), losses.end());
    return d;
  });
}

HEADLIGHT_ON_EACH_TARGET(CrossEntropyKernel);

TEST(CrossEntropyReference, has_the_gradient_of_its_differences) {
  const base::Random random(12);
  for (uint64_t n = 0; n < 300; ++n) {
    const int64_t rows = 1 + static_cast<int64_t>(random.below(2 * n, 5));
    const int64_t cols = 1 + static_cast<int64_t>(random.below(2 * n + 1, 9));
    const CrossEntropyOptions options{.ignored = -1,
                                      .label_smoothing = n % 3 == 0 ? 0 : random.uniform(n)};
    const std::vector<double> logits = random_numbers(rows * cols, 100 + n, -4, 4);
    const std::vector<int64_t> targets = random_targets(rows, cols, -1, 500 + n);
    const auto f = [&](const std::vector<double>& at) {
      const ExactLoss exact(at, targets, options, 1, cols);
      double sum = 0;
      for (const double loss : exact.losses) sum += 0.7 * loss;
      return sum;
    };
    expect_close(ExactLoss(logits, targets, options, 0.7, cols).d_logits, differences(f, logits),
                 1e-8);
  }
}

}  // namespace
}  // namespace headlight::kernels
