// The steps of a layer norm as exercises: how mean, deviation and what is made of them are got
// wrong.
#include "headlight/explain/operations/norm.h"

namespace headlight::explain {
namespace {

TermRule of_row(const std::string& key) {
  return {
      .key = key, .factors = {{"input", {same_index(), counter()}}}, .count = size("input", -1)};
}

Practice mean_practice() {
  const Expression count = size("input", -1);
  const auto mean = [&](const Expression& value) {
    return Rule{.terms = {of_row("value")}, .combinations = {{.key = "mean", .value = value}}};
  };
  return {.mistakes = {{"sum_not_divided", mean(sum())},
                       {"divided_by_one_less", mean(sum() / (count - 1.0))}}};
}

Practice deviation_practice() {
  const Expression count = size("input", -1);
  const Expression apart = factor(0) - ingredient("mean");
  const auto root = [&](const Expression& value) {
    Rule rule{.ingredients = {{.key = "mean", .cell = CellRule{"mean", {same_index()}}}},
              .terms = {of_row("square")},
              .combinations = {{.key = "root", .value = value}}};
    rule.terms.front().value = apart * apart;
    return rule;
  };
  return {.mistakes = {{"sample_deviation", root(call("sqrt", {sum() / (count - 1.0)}))},
                       {"root_forgotten", root(sum() / count)},
                       {"squares_not_divided", root(call("sqrt", {sum()}))}}};
}

Practice normalize_practice() {
  const TermRule own = {.key = "value", .factors = {{"input", {same_index()}}}};
  const TermRule minus_mean = {
      .key = "minus_mean", .factors = {{"mean", {same_row()}}}, .value = 0.0 - factor(0)};
  const IngredientRule deviation = {.key = "deviation",
                                    .cell = CellRule{"deviation", {same_row()}}};
  const Expression by = ingredient("deviation");
  const auto quotient = [&](std::vector<TermRule> terms, const Expression& value) {
    return Rule{.ingredients = {deviation},
                .terms = std::move(terms),
                .combinations = {{.key = "quotient", .value = value}}};
  };
  return {.mistakes = {{"deviation_forgotten", quotient({own, minus_mean}, sum())},
                       {"mean_forgotten", quotient({own}, sum() / by)},
                       {"divided_by_variance", quotient({own, minus_mean}, sum() / (by * by))}}};
}

Practice scale_shift_practice() {
  const CellRule weight = {"weight", {remainder(at(-1), size("weight", 0))}};
  const CellRule bias = {"bias", {remainder(at(-1), size("weight", 0))}};
  const CellRule own = {"input", {same_index()}};
  const auto summed = [](std::vector<TermRule> terms) {
    return Rule{.terms = std::move(terms), .combinations = {{.key = "sum"}}};
  };
  return {.mistakes = {{"bias_forgotten", summed({{.key = "product", .factors = {own, weight}}})},
                       {"gain_forgotten", summed({{.key = "value", .factors = {own}},
                                                  {.key = "bias", .factors = {bias}}})}}};
}

}  // namespace

void add_layer_norm_practice(OperationTable& table) {
  table.practices["mean"] = mean_practice();
  table.practices["deviation"] = deviation_practice();
  table.practices["normalize"] = normalize_practice();
  table.practices["scale_shift"] = scale_shift_practice();
}

}  // namespace headlight::explain
