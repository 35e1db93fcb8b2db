// The terms of a cell, operation by operation. Sums are kept in double precision.
#include "headlight/explain/cell_terms.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "headlight/explain/cell_arithmetic.h"
#include "headlight/explain/cell_explanation.h"

namespace headlight::explain {

void Explanation::explain() {
  switch (tensor_.operation) {
    case Operation::given:
    case Operation::parameter:
      return;
    case Operation::table:
      return explain_table();
    case Operation::sinusoid:
      return explain_sinusoid();
    case Operation::copy:
    case Operation::add:
      return explain_add();
    case Operation::linear:
      return explain_linear();
    case Operation::split:
      return explain_split();
    case Operation::scores:
      return explain_scores();
    case Operation::mask:
      return explain_mask();
    case Operation::row_max:
    case Operation::row_sum:
      return explain_row();
    case Operation::softmax:
      return explain_softmax();
    case Operation::merge:
      return explain_merge();
    case Operation::deviation:
      return explain_deviation();
    case Operation::normalize:
      return explain_normalize();
    case Operation::cut:
      result_.combination = Combination::sum;
      return term(
          "value",
          factor("input", with_last(last() + static_cast<int64_t>(tensor_.number("begin")))));
    case Operation::scale:
      result_.combination = Combination::sum;
      ingredient("factor", tensor_.number("factor"));
      return scaled(factor("input", at_), tensor_.number("factor"));
    case Operation::weigh:
      return explain_weigh();
    case Operation::sum_keys:
      return explain_sum_keys();
    case Operation::mean:
      return explain_mean();
    case Operation::scale_shift: {
      result_.combination = Combination::sum;
      product("product", factor("input", at_), factor("weight", {last()}));
      if (has("bias")) term("bias", factor("bias", {last()}));
      return;
    }
    case Operation::activation:
      result_.combination = Combination::activation;
      return term("value", factor("input", at_));
  }
}

void Explanation::explain_weigh() {
  result_.combination = Combination::sum;
  const int64_t head = at_[1] / (tensor_.shape[1] / operand("value").shape[1]);
  product("product", factor("weights", row()), factor("value", {at_[0], head, at_[3], last()}));
}

void Explanation::explain_sum_keys() {
  result_.combination = Combination::sum;
  const TracedTensor& input = operand("input");
  for (int64_t j = 0; j < input.shape[3]; ++j) {
    term("value", factor(input, {at_[0], at_[1], at_[2], j, last()}));
  }
}

void Explanation::explain_mean() {
  result_.combination = Combination::mean;
  const TracedTensor& input = operand("input");
  ingredient("count", static_cast<double>(input.shape[-1]));
  for (int64_t i = 0; i < input.shape[-1]; ++i) term("value", factor(input, under(i)));
}

void Explanation::finish() {
  if (result_.combination == Combination::sum && result_.terms.size() == 1) {
    result_.combination = Combination::one;
  }
  const Combined combined = combine(result_, tensor_);
  result_.combined = combined.value;
  result_.size = std::max({1.0, std::abs(result_.value), combined.size});
}

std::string_view name_of(Combination combination) {
  constexpr std::array<std::string_view, 11> kNames = {"sum",        "one",     "mean",   "root",
                                                       "quotient",   "maximum", "sine",   "cosine",
                                                       "activation", "hidden",  "nothing"};
  return kNames[static_cast<size_t>(combination)];
}

std::vector<CellReference> CellTerms::cells() const {
  std::vector<CellReference> all;
  const auto once = [&all](const CellReference& cell) {
    if (std::find(all.begin(), all.end(), cell) == all.end()) all.push_back(cell);
  };
  for (const Term& term : terms) {
    for (const Factor& factor : term.factors) once(factor.cell);
  }
  for (const Ingredient& ingredient : ingredients) {
    if (ingredient.cell) once(*ingredient.cell);
  }
  return all;
}

CellTerms explain_cell(const Trace& trace, const CellReference& cell) {
  return Explanation(trace, trace.at(cell.name), cell).made();
}

}  // namespace headlight::explain
