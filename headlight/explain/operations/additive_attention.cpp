// additive_attention: scores from a small layer of its own; the rest is attention's.
#include "headlight/explain/operations/attention.h"

namespace headlight::explain {

void add_additive_attention(OperationTable& table) {
  const Expression hidden = call("tanh", {factor(0) + factor(1)});
  table.add({.name = "additive_scores",
             .does = "query (B, 1, T, D), key (B, 1, S, D), weight (D,) or (`weight_rows`, D): sum "
                     "over d of w_d tanh(q_d "
                     "+ k_d)",
             .rule = {.terms = {{.key = "additive",
                                 .factors = {{"query", {at(0), at(1), at(2), counter()}},
                                             {"key", {at(0), at(1), at(3), counter()}},
                                             {"weight", {counter()}}},
                                 .count = size("query", -1),
                                 .value = factor(2) * hidden,
                                 .present = attribute("weight_rows") == 0.0},
                                {.key = "additive",
                                 .factors = {{"query", {at(0), at(1), at(2), counter()}},
                                             {"key", {at(0), at(1), at(3), counter()}},
                                             {"weight", {0.0, counter()}}},
                                 .count = size("query", -1),
                                 .value = factor(2) * hidden,
                                 .present = attribute("weight_rows") == 1.0}},
                      .combinations = {{.key = "sum"}}}});
  Rule without_tanh = table.operations["additive_scores"].rule;
  for (TermRule& term : without_tanh.terms) term.value = factor(2) * (factor(0) + factor(1));
  table.practices["additive_scores"] = {.mistakes = {{"tanh_forgotten", without_tanh}}};
  table.add(Expansion{.operation = "additive_attention", .put = put_attention});
  table.formulas.insert("attention.scores.additive");
}

}  // namespace headlight::explain
