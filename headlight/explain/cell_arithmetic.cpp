// The arithmetic of single cells.
#include "headlight/explain/cell_arithmetic.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace headlight::explain {
namespace {

double ingredient(const CellTerms& cell, std::string_view key) {
  for (const Ingredient& ingredient : cell.ingredients) {
    if (ingredient.key == key) return ingredient.value;
  }
  return 0;
}

double root(const CellTerms& cell, const TracedTensor& tensor, double sum) {
  const double mean = sum / ingredient(cell, "count");
  const double epsilon = ingredient(cell, "epsilon");
  return tensor.number("outside") != 0 ? std::sqrt(mean) + epsilon : std::sqrt(mean + epsilon);
}

double largest(const std::vector<Term>& terms) {
  double most = -std::numeric_limits<double>::infinity();
  for (const Term& term : terms) most = std::max(most, term.value);
  return most;
}

}  // namespace

double activated(std::string_view function, double x) {
  if (function == "relu") return std::max(x, 0.0);
  if (function == "gelu") return x / 2 * (1 + std::erf(x / std::numbers::sqrt2));
  if (function == "gelu_new") {
    const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
    return x / 2 * (1 + std::tanh(inner));
  }
  return x;
}

SinusoidCell sinusoid_cell(const TracedTensor& tensor, int64_t row, int64_t column) {
  const int64_t width = tensor.shape[-1];
  const bool halves = tensor.word("order") == "halves";
  const int64_t half = width / 2;
  const bool sine = halves ? column < half : column % 2 == 0;
  int64_t i = halves ? column % half : column / 2;
  if (tensor.word("index") == "column") i = column;
  const auto divisor =
      static_cast<double>(tensor.word("divisor") == "half_minus_one" ? half - 1 : half);
  return {.position = static_cast<double>(row) + tensor.number("start"),
          .rate = std::pow(tensor.number("base"), -static_cast<double>(i) / divisor),
          .sine = sine};
}

Combined combine(const CellTerms& cell, const TracedTensor& tensor) {
  const double sum = cell.terms.empty() ? cell.value : cell.terms.back().running;
  double size = 0;
  for (const Term& term : cell.terms) size += std::isfinite(term.value) ? std::abs(term.value) : 0;
  switch (cell.combination) {
    case Combination::sum:
    case Combination::one:
      return {sum, size};
    case Combination::mean: {
      const double count = ingredient(cell, "count");
      return {sum / count, size / count};
    }
    case Combination::root:
      return {root(cell, tensor, sum), root(cell, tensor, size)};
    case Combination::quotient: {
      const double deviation = ingredient(cell, "deviation");
      const double divisor = deviation != 0 ? deviation : ingredient(cell, "sum");
      // A row that sees nothing has weights of zero.
      return divisor == 0 ? Combined{} : Combined{sum / divisor, size / divisor};
    }
    case Combination::maximum:
      return {largest(cell.terms), 0};
    case Combination::sine:
      return {std::sin(sum), 0};
    case Combination::cosine:
      return {std::cos(sum), 0};
    case Combination::activation:
      return {activated(tensor.word("function"), sum), size};
    case Combination::hidden:
      return {-std::numeric_limits<double>::infinity(), 0};
    case Combination::nothing:
      break;
  }
  return {cell.value, 0};
}

}  // namespace headlight::explain
