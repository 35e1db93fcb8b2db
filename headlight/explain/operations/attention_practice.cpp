// The steps of attention as exercises: how scores, weighted values and head outputs are got wrong.
#include "headlight/explain/operations/attention.h"

namespace headlight::explain {
namespace {

// A head that reads its key/value head by a table finds it at its place.
Rule summed(TermRule terms) {
  return {.ingredients = {{.key = "key_value_head",
                           .cell = CellRule{".kv_head_of", {at(1)}},
                           .present = has(".kv_head_of")}},
          .terms = {std::move(terms)},
          .combinations = {{.key = "sum"}}};
}

// Head h of the queries reads head h / (heads / heads there) of another tensor, or as the table
// says.
Expression head_of(const std::string& role, const std::string& heads) {
  return when(has(".kv_head_of"), ingredient("key_value_head"),
              whole_quotient(at(1), size(heads, 1) / size(role, 1)));
}

Practice scores_practice() {
  const Expression width = size("query", -1);
  const auto product = [&](CellRule query, CellRule key) {
    return summed(
        {.key = "product", .factors = {std::move(query), std::move(key)}, .count = width});
  };
  const CellRule query = {"query", {at(0), at(1), at(2), counter()}};
  const Expression key_head = head_of("key", "query");
  const CellRule column = {"key", {at(0), key_head, counter(), at(3)}};
  const CellRule value = {".value", {at(0), head_of(".value", "query"), at(3), counter()}};
  return {.mistakes = {
              {"value_for_key", product(query, value)},
              {"key_column", product(query, column)},
              {"query_and_key_swapped", product({"query", {at(0), at(1), at(3), counter()}},
                                                {"key", {at(0), key_head, at(2), counter()}})}}};
}

Practice weighted_practice() {
  const CellRule own = {"value", {at(0), head_of("value", ""), at(3), at(-1)}};
  const auto product = [](CellRule weight, CellRule value) {
    return summed({.key = "product", .factors = {std::move(weight), std::move(value)}});
  };
  return {
      .mistakes = {{"own_value", product({"weights", {same_row()}},
                                         {"value", {at(0), head_of("value", ""), at(2), at(-1)}})},
                   {"column_of_weights", product({"weights", {at(0), at(1), at(3), at(2)}}, own)}}};
}

// A head's output is computed from weights and values, not from their products.
Practice output_practice() {
  const Expression keys = size(".weights", -1);
  const CellRule value = {".value", {at(0), head_of(".value", ""), counter(), at(-1)}};
  const auto mixed = [&](const std::string& key, std::vector<CellRule> factors) {
    return summed({.key = key, .factors = std::move(factors), .count = keys});
  };
  const CellRule column = {".weights", {at(0), at(1), counter(), at(2)}};
  return {.mistakes = {{"column_of_weights", mixed("product", {column, value})},
                       {"not_weighted", mixed("value", {value})}},
          .given = mixed("product", {{".weights", {at(0), at(1), at(2), counter()}}, value})};
}

}  // namespace

void add_attention_practice(OperationTable& table) {
  table.practices["scores"] = scores_practice();
  table.practices["weigh"] = weighted_practice();
  table.practices["sum_keys"] = output_practice();
}

}  // namespace headlight::explain
