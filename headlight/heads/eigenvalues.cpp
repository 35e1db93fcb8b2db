// Householder reflections to Hessenberg form, then shifted QR steps with plane rotations on complex
// numbers, which keeps a step as simple as the textbook has it.
#include "headlight/heads/eigenvalues.h"

#include <cmath>
#include <limits>

namespace headlight::heads {
namespace {

using Complex = std::complex<double>;

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// A square matrix, row by row.
template <class T>
struct Square {
  std::vector<T> numbers;
  int64_t size = 0;

  T& at(int64_t row, int64_t col) { return numbers[static_cast<size_t>(row * size + col)]; }
};

// The reflection I - 2 v v^T that makes column `column` zero below the subdiagonal; v has length 1
// and zeros in its first column + 1 places. Empty where there is nothing to do.
std::vector<double> reflector(Square<double>& a, int64_t column) {
  double below = 0;
  double square = 0;
  for (int64_t i = column + 1; i < a.size; ++i) {
    square += a.at(i, column) * a.at(i, column);
    if (i > column + 1) below += std::abs(a.at(i, column));
  }
  if (below == 0) return {};
  std::vector<double> v(static_cast<size_t>(a.size), 0);
  const double first = a.at(column + 1, column);
  const double length = std::copysign(std::sqrt(square), first);
  double v_square = 0;
  for (int64_t i = column + 1; i < a.size; ++i) {
    const double number = a.at(i, column) + (i == column + 1 ? length : 0);
    v[static_cast<size_t>(i)] = number;
    v_square += number * number;
  }
  for (double& number : v) number /= std::sqrt(v_square);
  return v;
}

void make_hessenberg(Square<double>& a) {
  for (int64_t column = 0; column + 2 < a.size; ++column) {
    const std::vector<double> v = reflector(a, column);
    if (v.empty()) continue;
    for (int64_t j = 0; j < a.size; ++j) {  // from the left
      double sum = 0;
      for (int64_t i = column + 1; i < a.size; ++i) sum += v[static_cast<size_t>(i)] * a.at(i, j);
      for (int64_t i = column + 1; i < a.size; ++i)
        a.at(i, j) -= 2 * sum * v[static_cast<size_t>(i)];
    }
    for (int64_t i = 0; i < a.size; ++i) {  // from the right
      double sum = 0;
      for (int64_t j = column + 1; j < a.size; ++j) sum += a.at(i, j) * v[static_cast<size_t>(j)];
      for (int64_t j = column + 1; j < a.size; ++j)
        a.at(i, j) -= 2 * sum * v[static_cast<size_t>(j)];
    }
  }
}

// The eigenvalue of the last 2 x 2 corner that is nearer to its last number; now and then another
// number, in case steps with it go in circles.
Complex shift_of(Square<Complex>& h, int64_t last, int64_t steps) {
  if (steps % 12 == 11) {
    return h.at(last, last) + Complex(std::abs(h.at(last, last - 1)), 0);
  }
  const Complex a = h.at(last - 1, last - 1);
  const Complex d = h.at(last, last);
  const Complex half = (a - d) / 2.0;
  const Complex product = h.at(last - 1, last) * h.at(last, last - 1);
  const Complex root = std::sqrt(half * half + product);
  const Complex first = half + root;
  const Complex second = half - root;
  return d + (std::abs(first) < std::abs(second) ? first : second);
}

// H - shift = Q R, then H = R Q + shift, within [first, last].
void qr_step(Square<Complex>& h, int64_t first, int64_t last, Complex shift) {
  struct Rotation {
    Complex cosine, sine;
  };
  std::vector<Rotation> rotations;
  for (int64_t i = first; i <= last; ++i) h.at(i, i) -= shift;
  for (int64_t k = first; k < last; ++k) {
    const Complex x = h.at(k, k);
    const Complex y = h.at(k + 1, k);
    const double length = std::hypot(std::abs(x), std::abs(y));
    const Rotation rotation = length == 0 ? Rotation{1, 0} : Rotation{x / length, y / length};
    rotations.push_back(rotation);
    for (int64_t j = k; j <= last; ++j) {
      const Complex upper = h.at(k, j);
      const Complex lower = h.at(k + 1, j);
      h.at(k, j) = std::conj(rotation.cosine) * upper + std::conj(rotation.sine) * lower;
      h.at(k + 1, j) = rotation.cosine * lower - rotation.sine * upper;
    }
  }
  for (int64_t k = first; k < last; ++k) {
    const Rotation& rotation = rotations[static_cast<size_t>(k - first)];
    for (int64_t i = first; i <= std::min(k + 1, last); ++i) {
      const Complex left = h.at(i, k);
      const Complex right = h.at(i, k + 1);
      h.at(i, k) = left * rotation.cosine + right * rotation.sine;
      h.at(i, k + 1) = right * std::conj(rotation.cosine) - left * std::conj(rotation.sine);
    }
  }
  for (int64_t i = first; i <= last; ++i) h.at(i, i) += shift;
}

}  // namespace

std::vector<std::complex<double>> eigenvalues(std::vector<double> matrix, int64_t size) {
  Square<double> real{std::move(matrix), size};
  make_hessenberg(real);
  Square<Complex> h{{real.numbers.begin(), real.numbers.end()}, size};
  double norm = 0;
  for (const Complex& number : h.numbers) norm = std::max(norm, std::abs(number));
  std::vector<Complex> values;
  int64_t steps = 0;
  for (int64_t last = size - 1; last >= 0;) {
    int64_t first = last;
    for (; first > 0; --first) {
      const double sum = std::abs(h.at(first - 1, first - 1)) + std::abs(h.at(first, first));
      if (std::abs(h.at(first, first - 1)) <= kEpsilon * (sum == 0 ? norm : sum)) break;
    }
    // A corner that is still not split after so many steps never comes from finite numbers.
    constexpr int64_t kMostSteps = 500;
    if (first == last || steps >= kMostSteps) {
      values.push_back(h.at(last, last));
      --last;
      steps = 0;
      continue;
    }
    qr_step(h, first, last, shift_of(h, last, steps++));
  }
  return values;
}

}  // namespace headlight::heads
