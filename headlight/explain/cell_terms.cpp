// The terms of a cell, by the rule of the operation that made it. Sums are kept in double
// precision.
#include "headlight/explain/cell_terms.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "headlight/explain/tensor_index.h"

namespace headlight::explain {
namespace {

using Index = std::vector<int64_t>;

bool is_within(const tensor::Shape& shape, const Index& index) {
  if (std::ssize(index) != shape.rank()) return false;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const int64_t at = index[static_cast<size_t>(axis)];
    if (at < 0 || at >= shape[axis]) return false;
  }
  return true;
}

// A rule followed for one cell.
class Evaluation {
 public:
  Evaluation(const Trace& trace, const TracedTensor& tensor, const CellReference& cell,
             const Rule& rule, double (*read)(double) = nullptr)
      : trace_(trace), tensor_(tensor), rule_(rule), read_(read), at_(cell.index) {
    result_.cell = cell;
    result_.operation = tensor.operation;
    result_.value = trace.value(tensor, cell.index);
    scope_ = {.at = [this](int axis) { return static_cast<double>(index(axis)); },
              .lookup = [this](const Expression& asked) { return looked_up(asked); }};
    for (const Operand& operand : tensor.operands) operands_.push_back(&trace.at(operand.name));
  }

  CellTerms made() {
    for (const IngredientRule& rule : rule_.ingredients) add(rule);
    for (const TermRule& rule : rule_.terms) add(rule);
    combine();
    return std::move(result_);
  }
  // Whether the rule asked for something that there is not.
  bool is_outside() const { return is_outside_; }

 private:
  double evaluated(const Expression& expression) { return evaluate(expression, scope_); }
  int64_t whole(const Expression& expression) {
    return static_cast<int64_t>(std::llround(evaluated(expression)));
  }
  int64_t index(int axis) {
    const auto rank = static_cast<int>(at_.size());
    const int place = axis < 0 ? rank + axis : axis;
    is_outside_ = is_outside_ || place < 0 || place >= rank;
    return is_outside_ ? 0 : at_[static_cast<size_t>(place)];
  }

  const TracedTensor* operand(std::string_view role) const {
    if (role.starts_with('.')) {  // not an operand, but of the same place
      const size_t place = tensor_.name.rfind('.');
      if (place == std::string::npos) return nullptr;
      return trace_.find(tensor_.name.substr(0, place).append(role));
    }
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (tensor_.operands[i].role == role) return operands_[i];
    }
    return nullptr;
  }

  double looked_up(const Expression& asked) {
    const std::string& kind = asked.kind();
    if (kind == "counter") return static_cast<double>(counter_);
    if (kind == "sum") return sum_;
    if (kind == "largest") return largest_term();
    if (kind == "first") return result_.terms.front().factors.front().value;
    if (kind == "factor") return factors_[static_cast<size_t>(asked.arguments()[0].number())].value;
    if (kind == "has") return operand(asked.word()) != nullptr ? 1 : 0;
    if (kind == "is") return tensor_.word(asked.word()) == asked.arguments()[0].kind() ? 1 : 0;
    if (kind == "ingredient") return known(asked.word());
    if (kind == "attribute") {
      return tensor_.has_attribute(asked.word()) ? tensor_.number(asked.word())
                                                 : evaluated(asked.arguments()[0]);
    }
    if (asked.word() == "operands") return static_cast<double>(operands_.size());
    const TracedTensor* asked_of = asked.word() == "result" ? &tensor_ : operand(asked.word());
    const int axis = static_cast<int>(asked.arguments()[0].number());
    const int rank = asked_of == nullptr ? 0 : asked_of->shape.rank();
    is_outside_ = is_outside_ || axis >= rank || axis < -rank;
    return is_outside_ ? 1 : static_cast<double>(asked_of->shape[axis]);
  }

  double known(std::string_view key) const {
    for (const Ingredient& ingredient : result_.ingredients) {
      if (ingredient.key == key) return ingredient.value;
    }
    return 0;
  }

  double largest_term() const {
    double most = -std::numeric_limits<double>::infinity();
    for (const Term& term : result_.terms) most = std::max(most, term.value);
    return most;
  }

  Factor cell(const CellRule& rule) {
    const TracedTensor* found =
        rule.role.empty() ? operands_[static_cast<size_t>(counter_)] : operand(rule.role);
    is_outside_ = is_outside_ || found == nullptr;
    if (is_outside_) return {};
    const TracedTensor& from = *found;
    Index where;
    for (const Expression& part : rule.index) {
      if (part.kind() == "index") {
        where.insert(where.end(), at_.begin(), at_.end());
      } else if (part.kind() == "row") {
        where.insert(where.end(), at_.begin(), at_.end() - 1);
      } else if (part.kind() == "offset") {
        where = index_at(from.shape, offset_of(tensor_.shape, at_));
      } else {
        where.push_back(whole(part));
      }
    }
    is_outside_ = is_outside_ || !is_within(from.shape, where);
    if (is_outside_) return {};
    const double value = trace_.value(from, where);
    return {{from.name, std::move(where)}, read_ == nullptr ? value : read_(value)};
  }

  void add(const IngredientRule& rule) {
    if (evaluated(rule.present) == 0) return;
    if (!rule.cell) {
      result_.ingredients.push_back({rule.key, evaluated(rule.value)});
      return;
    }
    Factor from = cell(*rule.cell);
    result_.ingredients.push_back({rule.key, from.value, std::move(from.cell)});
  }

  void add(const TermRule& rule) {
    counter_ = 0;
    const int64_t count =
        rule.present.is_number() || evaluated(rule.present) != 0 ? whole(rule.count) : 0;
    for (counter_ = 0; counter_ < count; ++counter_) {
      factors_.clear();
      for (const CellRule& factor : rule.factors) factors_.push_back(cell(factor));
      const double constant = evaluated(rule.constant);
      double value = constant;
      for (const Factor& factor : factors_) value *= factor.value;
      if (rule.value) value = evaluated(*rule.value);
      sum_ += value;
      result_.terms.push_back({rule.key, std::move(factors_), value, sum_, constant});
      if (is_outside_) break;
    }
    factors_.clear();
  }

  void combine() {
    result_.combined = result_.value;
    result_.combination = "nothing";
    double size = 0;
    for (const CombinationRule& rule : rule_.combinations) {
      if (evaluated(rule.present) == 0) continue;
      const bool is_one = rule.key == "sum" && result_.terms.size() == 1;
      result_.combination = is_one ? "one" : rule.key;
      result_.combined = evaluated(rule.value);
      if (rule.grows_with_terms) size = std::abs(of_absolute_terms(rule.value));
      break;
    }
    result_.size = std::max({1.0, std::abs(result_.value), size});
  }

  // What the value would be if all terms had one sign: rounding is measured against it.
  double of_absolute_terms(const Expression& value) {
    const double kept = std::exchange(sum_, 0);
    for (const Term& term : result_.terms) {
      if (std::isfinite(term.value)) sum_ += std::abs(term.value);
    }
    const double size = evaluated(value);
    sum_ = kept;
    return std::isfinite(size) ? size : 0;
  }

  const Trace& trace_;
  const TracedTensor& tensor_;
  const Rule& rule_;
  double (*read_)(double);
  bool is_outside_ = false;
  Index at_;
  std::vector<const TracedTensor*> operands_;
  Scope scope_;
  int64_t counter_ = 0;
  double sum_ = 0;
  std::vector<Factor> factors_;
  CellTerms result_;
};

}  // namespace

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
  const TracedTensor& tensor = trace.at(cell.name);
  return Evaluation(trace, tensor, cell, tensor.description().rule).made();
}

std::optional<CellTerms> explain_cell_by(const Trace& trace, const CellReference& cell,
                                         const Rule& rule, double (*read)(double)) {
  Evaluation evaluation(trace, trace.at(cell.name), cell, rule, read);
  CellTerms made = evaluation.made();
  if (evaluation.is_outside()) return std::nullopt;
  return made;
}

}  // namespace headlight::explain
