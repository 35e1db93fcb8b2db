// Explanation: collects the terms of one cell. Inside explain only.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headlight/explain/cell_terms.h"

namespace headlight::explain {

// Collects the terms of one cell of one tensor.
class Explanation {
 public:
  using Index = std::vector<int64_t>;

  Explanation(const Trace& trace, const TracedTensor& tensor, const CellReference& cell)
      : trace_(trace), tensor_(tensor), at_(cell.index) {
    result_.cell = cell;
    result_.operation = tensor.operation;
    result_.value = trace.value(tensor, cell.index);
  }

  CellTerms made() {
    explain();
    finish();
    return std::move(result_);
  }

 private:
  void explain();
  void finish();

  const TracedTensor& operand(std::string_view role) const {
    return trace_.at(*tensor_.operand(role));
  }
  bool has(std::string_view role) const { return tensor_.operand(role) != nullptr; }
  Factor factor(const TracedTensor& of, Index index) const {
    const double value = trace_.value(of, index);
    return {{of.name, std::move(index)}, value};
  }
  Factor factor(std::string_view role, Index index) const {
    return factor(operand(role), std::move(index));
  }

  void term(const char* key, std::vector<Factor> factors, double value, double constant = 1) {
    const double before = result_.terms.empty() ? 0 : result_.terms.back().running;
    result_.terms.push_back({key, std::move(factors), value, before + value, constant});
  }
  // The value of a factor as a term of its own.
  void term(const char* key, Factor factor) {
    const double value = factor.value;
    term(key, {std::move(factor)}, value);
  }
  void scaled(Factor factor, double constant) {
    const double value = factor.value * constant;
    term("value", {std::move(factor)}, value, constant);
  }
  void product(const char* key, Factor a, Factor b) {
    const double value = a.value * b.value;
    term(key, {std::move(a), std::move(b)}, value);
  }
  void ingredient(const char* key, double value) { result_.ingredients.push_back({key, value}); }
  double ingredient(const char* key, Factor factor) {
    result_.ingredients.push_back({key, factor.value, std::move(factor.cell)});
    return result_.ingredients.back().value;
  }

  // at_ with its last axis left out, or another number there.
  Index row() const { return {at_.begin(), at_.end() - 1}; }
  Index with_last(int64_t number) const {
    Index index = row();
    index.push_back(number);
    return index;
  }
  Index under(int64_t number) const {
    Index index = at_;
    index.push_back(number);
    return index;
  }
  int64_t last() const { return at_.back(); }

  void explain_table();
  void explain_sinusoid();
  void explain_add();
  void explain_linear();
  void explain_split();
  void explain_merge();
  void explain_scores();
  void explain_mask();
  void explain_row();
  void explain_weigh();
  void explain_sum_keys();
  void explain_mean();
  void explain_softmax();
  void explain_deviation();
  void explain_normalize();

  const Trace& trace_;
  const TracedTensor& tensor_;
  Index at_;
  CellTerms result_;
};

}  // namespace headlight::explain
