// Eigenvalues against those of numpy, and against what they add up and multiply to.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "headlight/heads/heads.h"

namespace headlight::heads {
namespace {

using Complex = std::complex<double>;

// Each expected one has a partner of its own within the distance.
void expect_eigenvalues(const std::vector<double>& matrix, int64_t size,
                        const std::vector<Complex>& expected, double distance = 1e-7) {
  std::vector<Complex> found = eigenvalues(matrix, size);
  ASSERT_EQ(found.size(), expected.size());
  for (const Complex& one : expected) {
    const auto nearest = std::ranges::min_element(
        found, {}, [&](const Complex& other) { return std::abs(other - one); });
    EXPECT_LE(std::abs(*nearest - one), distance) << one.real() << " + " << one.imag() << "i";
    found.erase(nearest);
  }
}

TEST(Eigenvalues, are_those_of_numpy) {
  expect_eigenvalues(
      {4, 1, -2, 3, 0, 1, 0, 5, 2, -1, 2, -3, 1, 0, 4, 0, 2, -1, 3, 1, 5, 1, 0, -2, 2}, 5,
      {{-0.79930244, 3.84821353},
       {-0.79930244, -3.84821353},
       {2.91284726, 3.6025079},
       {2.91284726, -3.6025079},
       {5.77291036, 0}});
  // A permutation of three: the third roots of 1, on which steps without a shift go in circles.
  expect_eigenvalues({0, 0, 1, 1, 0, 0, 0, 1, 0}, 3,
                     {{-0.5, std::sqrt(0.75)}, {-0.5, -std::sqrt(0.75)}, {1, 0}});
}

TEST(Eigenvalues, of_simple_matrices_are_known) {
  expect_eigenvalues({7}, 1, {{7, 0}});
  expect_eigenvalues({0, 0, 0, 0}, 2, {{0, 0}, {0, 0}});
  expect_eigenvalues({0, -1, 1, 0}, 2, {{0, 1}, {0, -1}});
  expect_eigenvalues({3, 5, 9, 0, 3, 1, 0, 0, -2}, 3, {{3, 0}, {3, 0}, {-2, 0}});
  // One number with a single direction: as exact as such a matrix allows.
  expect_eigenvalues({2, 1, 0, 0, 2, 1, 0, 0, 2}, 3, {{2, 0}, {2, 0}, {2, 0}}, 1e-4);
  EXPECT_TRUE(eigenvalues({}, 0).empty());
}

TEST(Eigenvalues, of_random_matrices_have_their_moments) {
  for (const int64_t size : {2, 3, 8, 33, 64, 96}) {
    SCOPED_TRACE(size);
    const base::Random random(static_cast<uint64_t>(size));
    const auto n = static_cast<size_t>(size);
    std::vector<double> matrix(n * n);
    for (size_t i = 0; i < matrix.size(); ++i) matrix[i] = random.normal(i);
    double trace = 0, square_trace = 0;
    for (size_t i = 0; i < n; ++i) {
      trace += matrix[i * n + i];
      for (size_t j = 0; j < n; ++j) square_trace += matrix[i * n + j] * matrix[j * n + i];
    }
    Complex sum = 0, squares = 0;
    for (const Complex& one : eigenvalues(matrix, size)) {
      sum += one;
      squares += one * one;
    }
    EXPECT_NEAR(sum.real(), trace, 1e-9 * static_cast<double>(size));
    EXPECT_NEAR(sum.imag(), 0, 1e-9 * static_cast<double>(size));
    EXPECT_NEAR(squares.real(), square_trace, 1e-8 * static_cast<double>(size * size));
  }
}

TEST(Eigenvalues, scale_with_their_matrix) {
  std::vector<double> matrix = {1, 2, 3, 4, 5, 6, 7, 8, 10};
  for (double& number : matrix) number *= 1e-150;
  double sum = 0;
  for (const Complex& one : eigenvalues(matrix, 3)) sum += one.real();
  EXPECT_NEAR(sum * 1e150, 16, 1e-9);
}

}  // namespace
}  // namespace headlight::heads
