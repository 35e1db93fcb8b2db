// The terms of a cell for the operations that have more to say than one line.
#include "headlight/explain/cell_explanation.h"

#include <cmath>

#include "headlight/explain/cell_arithmetic.h"

namespace headlight::explain {

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
  scaled(factor("table", {row_number, last()}), scale);
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

}  // namespace headlight::explain
