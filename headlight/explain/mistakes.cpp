// The mistakes of an operation's file, and those that can be made everywhere.
#include "headlight/explain/mistakes.h"

#include <algorithm>
#include <cmath>

#include "headlight/explain/operation.h"

namespace headlight::explain {
namespace {

// Whether the terms are added and the sum is the value.
bool is_sum(const CellTerms& cell) { return cell.combination == "sum" && cell.terms.size() > 1; }

void add_left_out(const CellTerms& cell, std::vector<Mistake>& mistakes) {
  constexpr size_t kMostTerms = 12;
  if (!is_sum(cell) || cell.terms.size() > kMostTerms) return;
  for (size_t i = 0; i < cell.terms.size(); ++i) {
    mistakes.push_back(
        {"term_left_out", cell.combined - cell.terms[i].value, static_cast<int64_t>(i) + 1});
  }
}

// The sum of a + b where it is that of a · b.
void add_added_factors(const CellTerms& cell, std::vector<Mistake>& mistakes) {
  double sum = 0;
  bool has_products = false;
  for (const Term& term : cell.terms) {
    if (term.key != "product" || term.factors.size() < 2) {
      sum += term.value;
      continue;
    }
    has_products = true;
    for (const Factor& factor : term.factors) sum += factor.value;
  }
  if (has_products && (is_sum(cell) || cell.combination == "one")) {
    mistakes.push_back({"factors_added", sum});
  }
}

std::vector<Mistake> all_mistakes(const Trace& trace, const CellReference& cell) {
  std::vector<Mistake> mistakes;
  const CellTerms right = explain_cell(trace, cell);
  const auto practice = operation_table().practices.find(right.operation);
  if (practice == operation_table().practices.end()) return mistakes;
  for (const MistakeRule& rule : practice->second.mistakes) {
    const std::optional<CellTerms> wrong = explain_cell_by(trace, cell, rule.rule);
    if (wrong && wrong->combination != "nothing") mistakes.push_back({rule.key, wrong->combined});
  }
  add_left_out(right, mistakes);
  add_added_factors(right, mistakes);
  mistakes.push_back({"sign", -right.value});
  for (const double factor : {0.1, 10.0, 0.01, 100.0}) {
    mistakes.push_back({"decimal_point", right.value * factor});
  }
  return mistakes;
}

}  // namespace

std::vector<Mistake> mistakes_of(const Trace& trace, const CellReference& cell, double tolerance) {
  const double right = trace.value(trace.at(cell.name), cell.index);
  std::vector<Mistake> kept;
  for (Mistake& mistake : all_mistakes(trace, cell)) {
    const auto is_near = [&](double other) {
      return std::fabs(mistake.value - other) <= tolerance;
    };
    const bool is_known =
        std::ranges::any_of(kept, [&](const Mistake& earlier) { return is_near(earlier.value); });
    if (!std::isfinite(mistake.value) || is_near(right) || is_known) continue;
    kept.push_back(std::move(mistake));
  }
  return kept;
}

std::optional<CellTerms> given_by_hand(const Trace& trace, const CellReference& cell) {
  const TracedTensor& tensor = trace.at(cell.name);
  const auto practice = operation_table().practices.find(tensor.operation);
  if (practice == operation_table().practices.end()) return std::nullopt;
  return explain_cell_by(trace, cell, practice->second.given.value_or(tensor.description().rule));
}

}  // namespace headlight::explain
