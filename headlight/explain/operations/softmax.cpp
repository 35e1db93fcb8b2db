// softmax: rows of numbers to rows that add up to 1, with the two numbers of a row that it needs.
#include "headlight/explain/operations/operations.h"
#include "headlight/explain/row_statistics.h"

namespace headlight::explain {
namespace {

using tensor::Tensor;

// "logits" has "logits.row_max" and "logits.row_sum".
void put_softmax(TraceBuilder& builder, const RecordedStep& step, const std::string& name) {
  const int64_t result = step.output("output");
  const std::string input = builder.name_of(step.inputs.front(), name);
  const TracedTensor* traced = builder.trace().find(input);
  if (traced == nullptr) return;
  const RowStatistics statistics = row_statistics(builder.trace().values(input));
  const std::vector<TracedTensor> tensors = softmax_tensors({.input = input,
                                                             .maximum = input + ".row_max",
                                                             .sum = input + ".row_sum",
                                                             .name = name,
                                                             .formula = "prediction"},
                                                            traced->axes);
  builder.put(tensors[0], statistics.maximum);
  builder.put(tensors[1], statistics.sum);
  builder.put(tensors[2], builder.tensor(result), result);
}

// A = softmax(S):  dS = A * (dA - sum of A dA).
Tensor softmax_gradient(const GradientFlow& flow) {
  if (flow.role != "input") return {};
  Tensor result = Tensor::zeros(tensor::DType::f32, flow.operand.shape);
  tensor::Arena arena;
  kernels::softmax_backward({flow.trace.threads(), arena},
                            flow.trace.values(flow.made.name).matrix(), flow.gradient.matrix(),
                            result.mutable_matrix());
  return result;
}

Rule row_rule(const std::string& key, const Expression& value, const CombinationRule& combination,
              std::vector<IngredientRule> ingredients) {
  return {.ingredients = std::move(ingredients),
          .terms = {{.key = key,
                     .factors = {{"input", {same_index(), counter()}}},
                     .count = size("input", -1),
                     .value = value}},
          .combinations = {combination}};
}

// exp(x_ij) over the sum of what `terms` has: of a row, a column, or other scores.
Rule share_of(const TermRule& terms, const std::string& role) {
  return {.ingredients = {{.key = "own", .cell = CellRule{role, {same_index()}}}},
          .terms = {terms},
          .combinations = {{.key = "quotient", .value = call("exp", {ingredient("own")}) / sum()}}};
}

TermRule over_row(const std::string& role, const Expression& value) {
  return {.key = "exponential",
          .factors = {{role, {same_row(), counter()}}},
          .count = size(role, -1),
          .value = value};
}

Practice softmax_practice() {
  const Expression exponential = call("exp", {factor(0)});
  const TermRule over_column = {.key = "exponential",
                                .factors = {{"input", {at(0), at(1), counter(), at(3)}}},
                                .count = size("input", 2),
                                .value = exponential};
  const TermRule alone = {.key = "value", .factors = {{"input", {same_index()}}}};
  const IngredientRule maximum = {.key = "maximum", .cell = CellRule{"maximum", {same_row()}}};
  const Expression below_maximum = call("exp", {sum() - ingredient("maximum")});
  Rule share = share_of(over_row("input", factor(0)), "input");
  share.combinations.front().value = ingredient("own") / sum();
  return {.mistakes = {{"mask_forgotten",
                        share_of(over_row(".scaled_scores", exponential), ".scaled_scores")},
                       {"column_summed", share_of(over_column, "input")},
                       {"not_divided",
                        {.terms = {alone},
                         .combinations = {{.key = "exp", .value = call("exp", {sum()})}}}},
                       {"not_divided",
                        {.ingredients = {maximum},
                         .terms = {alone},
                         .combinations = {{.key = "exp", .value = below_maximum}}}},
                       {"no_exponential", share}},
          .given = Rule{.terms = {over_row("input", factor(0))}}};
}

}  // namespace

std::vector<TracedTensor> softmax_tensors(const SoftmaxNames& names,
                                          const std::vector<Axis>& axes) {
  const std::vector<Axis> rows = without_last(axes);
  return {{.name = names.maximum,
           .operation = "row_max",
           .operands = {{"input", names.input}},
           .axes = rows,
           .formula = names.formula + ".row_max",
           .row = names.row},
          {.name = names.sum,
           .operation = "row_sum",
           .operands = {{"input", names.input}, {"maximum", names.maximum}},
           .axes = rows,
           .formula = names.formula + ".row_sum",
           .row = names.row},
          {.name = names.name,
           .operation = "softmax",
           .operands = {{"input", names.input}, {"maximum", names.maximum}, {"sum", names.sum}},
           .axes = axes,
           .formula = names.formula + ".softmax",
           .row = names.row}};
}

void add_softmax(OperationTable& table) {
  const Expression exponential = call("exp", {factor(0) - ingredient("maximum")});
  const IngredientRule maximum = {.key = "maximum", .cell = CellRule{"maximum", {same_index()}}};
  table.add(
      {.name = "row_max",
       .does = "input: the largest of each row (last axis)",
       .rule = row_rule("value", factor(0),
                        {.key = "maximum", .value = largest(), .grows_with_terms = false}, {})});
  table.add({.name = "row_sum",
             .does = "input, maximum: the sum of exp(input - maximum) over each row",
             .rule = row_rule("exponential",
                              when(ingredient("maximum") == minus_infinity(), 0.0, exponential),
                              {.key = "sum"}, {maximum})});
  const Expression divisor = ingredient("sum");
  table.add(
      {.name = "softmax",
       .does = "input, maximum, sum: exp(input - maximum) / sum; 0 where the sum is",
       .rule = {.ingredients = {{.key = "maximum", .cell = CellRule{"maximum", {same_row()}}},
                                {.key = "sum", .cell = CellRule{"sum", {same_row()}}}},
                .terms = {{.key = "exponential",
                           .factors = {{"input", {same_index()}}},
                           .value = when(divisor == 0.0, 0.0, exponential)}},
                .combinations = {{.key = "quotient",
                                  .value = when(divisor == 0.0, 0.0, sum() / divisor),
                                  .shown = call("exp", {first_factor() - ingredient("maximum")}) /
                                           divisor}}},
       .gradient_text = "softmax",
       .gradient = softmax_gradient});
  table.practices["softmax"] = softmax_practice();
  table.add(Expansion{.operation = "softmax", .put = put_softmax});
  for (const char* place : {"attention", "prediction"}) {
    for (const char* formula : {".row_max", ".row_sum", ".softmax"}) {
      table.formulas.insert(std::string(place) + formula);
    }
  }
}

}  // namespace headlight::explain
