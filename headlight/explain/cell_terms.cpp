// The terms of a cell, operation by operation. Sums are kept in double precision.
#include "headlight/explain/cell_terms.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "headlight/explain/cell_arithmetic.h"

namespace headlight::explain {
namespace {

using Index = std::vector<int64_t>;

// Collects the terms of one cell of one tensor.
class Explanation {
 public:
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

  void term(const char* key, std::vector<Factor> factors, double value) {
    const double before = result_.terms.empty() ? 0 : result_.terms.back().running;
    result_.terms.push_back({key, std::move(factors), value, before + value});
  }
  // The value of a factor as a term of its own.
  void term(const char* key, Factor factor) {
    const double value = factor.value;
    term(key, {std::move(factor)}, value);
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
  void explain_softmax();
  void explain_deviation();
  void explain_normalize();

  const Trace& trace_;
  const TracedTensor& tensor_;
  Index at_;
  CellTerms result_;
};

void Explanation::explain_table() {
  result_.combination = Combination::sum;
  const auto start = static_cast<int64_t>(tensor_.number("start"));
  int64_t row_number = at_[1] + start;
  if (has("ids")) {
    row_number = start + static_cast<int64_t>(ingredient("id", factor("ids", {at_[0], at_[1]})));
  } else {
    ingredient("position", static_cast<double>(row_number));
  }
  const double scale = tensor_.number("scale", 1);
  if (scale != 1) ingredient("factor", scale);
  const Factor entry = factor("table", {row_number, last()});
  term("value", {entry}, entry.value * scale);
}

void Explanation::explain_sinusoid() {
  const SinusoidCell cell = sinusoid_cell(tensor_, at_[1], last());
  result_.combination = cell.sine ? Combination::sine : Combination::cosine;
  ingredient("position", cell.position);
  ingredient("rate", cell.rate);
  term("angle", {}, cell.position * cell.rate);
}

void Explanation::explain_add() {
  result_.combination = Combination::sum;
  for (const Operand& operand : tensor_.operands) {
    term("value", factor(trace_.at(operand.name), at_));
  }
}

void Explanation::explain_linear() {
  result_.combination = Combination::sum;
  const TracedTensor& input = operand("input");
  const TracedTensor& weight = operand("weight");
  const bool out_in = tensor_.word("layout") == "out_in";
  const int64_t output = last() + static_cast<int64_t>(tensor_.number("weight_begin"));
  const int64_t width = input.shape[-1];
  const auto repeats = static_cast<int64_t>(tensor_.number("repeat", 1));
  for (int64_t repeat = 0; repeat < repeats; ++repeat) {
    for (int64_t i = 0; i < width; ++i) {
      Index from = with_last(i);
      if (repeats > 1 || from.size() < static_cast<size_t>(input.shape.rank())) {
        from = {at_[0], repeat, i};
      }
      product("product", factor(input, from),
              factor(weight, out_in ? Index{output, i} : Index{i, output}));
    }
  }
  if (!has("bias")) return;
  term("bias", factor("bias", {last() + static_cast<int64_t>(tensor_.number("bias_begin"))}));
}

void Explanation::explain_split() {
  result_.combination = Combination::sum;
  term("value", factor("input", {at_[0], at_[2], at_[1] * tensor_.shape[-1] + last()}));
}

void Explanation::explain_merge() {
  result_.combination = Combination::sum;
  const int64_t width = operand("input").shape[-1];
  const int64_t head = last() / width;
  Factor value = factor("input", {at_[0], head, at_[1], last() % width});
  if (!has("gates")) return term("value", std::move(value));
  const bool of_batch = operand("gates").shape.rank() == 2;
  product("product", std::move(value),
          factor("gates", of_batch ? Index{at_[0], head} : Index{head}));
}

void Explanation::explain_scores() {
  result_.combination = Combination::sum;
  const TracedTensor& query = operand("query");
  const TracedTensor& key = operand("key");
  const int64_t key_head = at_[1] / (query.shape[1] / key.shape[1]);
  for (int64_t d = 0; d < query.shape[-1]; ++d) {
    product("product", factor(query, {at_[0], at_[1], at_[2], d}),
            factor(key, {at_[0], key_head, at_[3], d}));
  }
}

void Explanation::explain_mask() {
  const bool hidden = tensor_.number("causal") != 0 && at_[3] > at_[2];
  result_.combination = hidden ? Combination::hidden : Combination::sum;
  term("value", factor("input", at_));
}

// The largest of a row, or the sum of its exponentials.
void Explanation::explain_row() {
  const bool is_sum = tensor_.operation == Operation::row_sum;
  result_.combination = is_sum ? Combination::sum : Combination::maximum;
  const TracedTensor& input = operand("input");
  const double maximum = is_sum ? ingredient("maximum", factor("maximum", at_)) : 0;
  for (int64_t i = 0; i < input.shape[-1]; ++i) {
    Factor entry = factor(input, under(i));
    const double value = is_sum ? std::exp(entry.value - maximum) : entry.value;
    term(is_sum ? "exponential" : "value", {std::move(entry)}, value);
  }
}

void Explanation::explain_softmax() {
  result_.combination = Combination::quotient;
  const double maximum = ingredient("maximum", factor("maximum", row()));
  ingredient("sum", factor("sum", row()));
  Factor entry = factor("input", at_);
  const double value = std::exp(entry.value - maximum);
  term("exponential", {std::move(entry)}, value);
}

void Explanation::explain_deviation() {
  result_.combination = Combination::root;
  const double mean = ingredient("mean", factor("mean", at_));
  const TracedTensor& input = operand("input");
  ingredient("count", static_cast<double>(input.shape[-1]) - tensor_.number("sample"));
  ingredient("epsilon", tensor_.number("epsilon"));
  for (int64_t i = 0; i < input.shape[-1]; ++i) {
    Factor entry = factor(input, under(i));
    const double value = (entry.value - mean) * (entry.value - mean);
    term("square", {std::move(entry)}, value);
  }
}

void Explanation::explain_normalize() {
  result_.combination = Combination::quotient;
  term("value", factor("input", at_));
  Factor mean = factor("mean", row());
  const double value = -mean.value;
  term("minus_mean", {std::move(mean)}, value);
  ingredient("deviation", factor("deviation", row()));
}

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
    case Operation::scale: {
      result_.combination = Combination::sum;
      ingredient("factor", tensor_.number("factor"));
      const Factor entry = factor("input", at_);
      return term("value", {entry}, entry.value * tensor_.number("factor"));
    }
    case Operation::weigh: {
      result_.combination = Combination::sum;
      const int64_t head = at_[1] / (tensor_.shape[1] / operand("value").shape[1]);
      return product("product", factor("weights", row()),
                     factor("value", {at_[0], head, at_[3], last()}));
    }
    case Operation::sum_keys: {
      result_.combination = Combination::sum;
      const TracedTensor& input = operand("input");
      for (int64_t j = 0; j < input.shape[3]; ++j) {
        term("value", factor(input, {at_[0], at_[1], at_[2], j, last()}));
      }
      return;
    }
    case Operation::mean: {
      result_.combination = Combination::mean;
      const TracedTensor& input = operand("input");
      ingredient("count", static_cast<double>(input.shape[-1]));
      for (int64_t i = 0; i < input.shape[-1]; ++i) term("value", factor(input, under(i)));
      return;
    }
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

void Explanation::finish() {
  const Combined combined = combine(result_, tensor_);
  result_.combined = combined.value;
  result_.size = std::max({1.0, std::abs(result_.value), combined.size});
}

}  // namespace

std::string_view name_of(Combination combination) {
  constexpr std::array<std::string_view, 10> kNames = {"sum",     "mean",   "root",   "quotient",
                                                       "maximum", "sine",   "cosine", "activation",
                                                       "hidden",  "nothing"};
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
