// CellTerms: why a cell has its value.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headlight/explain/cell.h"

namespace headlight::explain {

// A cell of an operand with its value.
struct Factor {
  CellReference cell;
  double value = 0;
};

// One line of the sum: the product of its factors and, where the operation has one, of a constant,
// with its sign.
struct Term {
  std::string key;  // "product", "bias", "square", "exponential", "value", "minus_mean", ...
  std::vector<Factor> factors;  // at most two
  double value = 0;
  double running = 0;  // the sum of this and all terms before
  double constant = 1;
};

// A number that enters besides the terms; with the cell it is from, where it is one.
struct Ingredient {
  std::string key;  // "mean", "deviation", "epsilon", "maximum", "sum", "factor", "count", "id",
                    // "position", "rate", "angle"
  double value = 0;
  std::optional<CellReference> cell = {};
};

// How the sum s of the terms becomes the value.
enum class Combination {
  sum,         // s
  one,         // s, and there is one term only
  mean,        // s / count
  root,        // sqrt(s / count + epsilon), or sqrt(s / count) + epsilon for the variant
  quotient,    // s / deviation, or s / sum
  maximum,     // the largest term instead of their sum
  sine,        // sin(s)
  cosine,      // cos(s)
  activation,  // f(s)
  hidden,      // -infinity: the mask hides it; the term is what it hides
  nothing,     // a leaf: a parameter or an input; no terms
};
std::string_view name_of(Combination combination);

struct CellTerms {
  CellReference cell;
  Operation operation = Operation::given;
  Combination combination = Combination::nothing;
  double value = 0;     // the engine's
  double combined = 0;  // of the terms, in double precision: within 1e-6 of the value, measured
                        // against `size`
  double size = 0;  // the largest of 1, |value| and the terms' absolute values together, brought
                    // to the value's scale
  std::vector<Term> terms;
  std::vector<Ingredient> ingredients;

  // Whether several terms are added on the way to the value.
  bool adds_up() const { return terms.size() > 1 && combination != Combination::maximum; }
  // The cells that enter, each once: where one can walk on. Empty for leaves.
  std::vector<CellReference> cells() const;
};

CellTerms explain_cell(const Trace& trace, const CellReference& cell);

}  // namespace headlight::explain
