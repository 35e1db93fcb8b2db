// The table of operations, and their rules as JSON.
#include "headlight/explain/operation.h"

#include <utility>

namespace headlight::explain {
namespace {

io::Json list_json(const std::vector<Expression>& expressions) {
  io::Json::Array list;
  for (const Expression& expression : expressions) list.push_back(expression.json());
  return list;
}

bool is_one(const Expression& expression) {
  return expression.is_number() && expression.number() == 1;
}

// What is 1 unless it is said.
void add_unless_one(io::Json::Object& to, const char* name, const Expression& expression) {
  if (!is_one(expression)) to.emplace_back(name, expression.json());
}

io::Json cell_json(const CellRule& cell) {
  return io::Json::Object{{"role", cell.role}, {"index", list_json(cell.index)}};
}

io::Json ingredient_json(const IngredientRule& rule) {
  io::Json::Object json = {{"key", rule.key}};
  if (rule.cell) {
    json.emplace_back("cell", cell_json(*rule.cell));
  } else {
    json.emplace_back("value", rule.value.json());
  }
  add_unless_one(json, "present", rule.present);
  return json;
}

io::Json term_json(const TermRule& rule) {
  io::Json::Array factors;
  for (const CellRule& factor : rule.factors) factors.push_back(cell_json(factor));
  io::Json::Object json = {{"key", rule.key}, {"factors", std::move(factors)}};
  add_unless_one(json, "count", rule.count);
  add_unless_one(json, "constant", rule.constant);
  if (rule.value) json.emplace_back("value", rule.value->json());
  add_unless_one(json, "present", rule.present);
  return json;
}

io::Json combination_json(const CombinationRule& rule) {
  io::Json::Object json = {{"key", rule.key}, {"value", rule.value.json()}};
  if (rule.shown) json.emplace_back("shown", rule.shown->json());
  add_unless_one(json, "present", rule.present);
  return json;
}

template <class T>
io::Json each(const std::vector<T>& rules, io::Json (*one)(const T&)) {
  io::Json::Array list;
  for (const T& rule : rules) list.push_back(one(rule));
  return list;
}

}  // namespace

const OperationTable& operation_table() {
  static const OperationTable kTable = [] {
    OperationTable table;
    fill_operation_table(table);
    return table;
  }();
  return kTable;
}

io::Json rule_json(const Rule& rule) {
  return io::Json::Object{{"ingredients", each(rule.ingredients, ingredient_json)},
                          {"terms", each(rule.terms, term_json)},
                          {"combinations", each(rule.combinations, combination_json)}};
}

io::Json operations_json(const std::set<std::string>& names) {
  io::Json::Object all;
  for (const auto& [name, operation] : operation_table().operations) {
    if (!names.contains(name)) continue;
    io::Json described = rule_json(operation.rule);
    if (!operation.gradient_text.empty()) {
      described.object()->emplace_back("gradient", operation.gradient_text);
    }
    all.emplace_back(name, std::move(described));
  }
  return all;
}

}  // namespace headlight::explain
