// CellTerms: why a cell has its value.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headlight/explain/cell.h"
#include "headlight/explain/operation.h"

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
  std::vector<Factor> factors = {};
  double value = 0;
  double running = 0;  // the sum of this and all terms before
  double constant = 1;
};

// A number that enters besides the terms; with the cell it is from, where it is one.
struct Ingredient {
  std::string key;  // "mean", "deviation", "epsilon", "maximum", ...
  double value = 0;
  std::optional<CellReference> cell = {};
};

struct CellTerms {
  CellReference cell;
  std::string operation;
  // How the sum of the terms becomes the value, by the key of the operation's rule: "sum" (or
  // "one", where there is one term only), "mean", "root", ...; "nothing": a leaf without terms.
  std::string combination;
  double value = 0;     // the engine's
  double combined = 0;  // of the terms, in double precision: within 1e-6 of the value, measured
                        // against `size`
  double size = 0;  // the largest of 1, |value| and the terms' absolute values together, brought
                    // to the value's scale
  std::vector<Term> terms;
  std::vector<Ingredient> ingredients;

  // Whether several terms are added on the way to the value.
  bool adds_up() const { return terms.size() > 1 && combination != "maximum"; }
  // The cells that enter, each once: where one can walk on. Empty for leaves.
  std::vector<CellReference> cells() const;
};

// By the rule of the tensor's operation.
CellTerms explain_cell(const Trace& trace, const CellReference& cell);
// By another rule, such as one of MistakeRule; nothing where it needs cells or operands that there
// are not. With `read`, each number of an operand is taken as `read` gives it.
std::optional<CellTerms> explain_cell_by(const Trace& trace, const CellReference& cell,
                                         const Rule& rule, double (*read)(double) = nullptr);

}  // namespace headlight::explain
