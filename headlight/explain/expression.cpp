// Formulas as trees: made, written and evaluated.
#include "headlight/explain/expression.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace headlight::explain {
namespace {

using Numbers = std::vector<double>;
using Function = double (*)(const Numbers&);

const std::map<std::string_view, Function>& functions() {
  static const std::map<std::string_view, Function> kFunctions = {
      {"+", [](const Numbers& x) { return x[0] + x[1]; }},
      {"-", [](const Numbers& x) { return x[0] - x[1]; }},
      {"*", [](const Numbers& x) { return x[0] * x[1]; }},
      {"/", [](const Numbers& x) { return x[0] / x[1]; }},
      {"<", [](const Numbers& x) { return x[0] < x[1] ? 1.0 : 0.0; }},
      {"<=", [](const Numbers& x) { return x[0] <= x[1] ? 1.0 : 0.0; }},
      {"==", [](const Numbers& x) { return x[0] == x[1] ? 1.0 : 0.0; }},
      {"and", [](const Numbers& x) { return x[0] != 0 && x[1] != 0 ? 1.0 : 0.0; }},
      {"or", [](const Numbers& x) { return x[0] != 0 || x[1] != 0 ? 1.0 : 0.0; }},
      {"not", [](const Numbers& x) { return x[0] == 0 ? 1.0 : 0.0; }},
      {"div", [](const Numbers& x) { return std::floor(x[0] / x[1]); }},
      {"mod", [](const Numbers& x) { return x[0] - x[1] * std::floor(x[0] / x[1]); }},
      {"exp", [](const Numbers& x) { return std::exp(x[0]); }},
      {"sqrt", [](const Numbers& x) { return std::sqrt(x[0]); }},
      {"sin", [](const Numbers& x) { return std::sin(x[0]); }},
      {"cos", [](const Numbers& x) { return std::cos(x[0]); }},
      {"tanh", [](const Numbers& x) { return std::tanh(x[0]); }},
      {"erf", [](const Numbers& x) { return std::erf(x[0]); }},
      {"abs", [](const Numbers& x) { return std::abs(x[0]); }},
      {"min", [](const Numbers& x) { return std::min(x[0], x[1]); }},
      {"max", [](const Numbers& x) { return std::max(x[0], x[1]); }},
      {"pow", [](const Numbers& x) { return std::pow(x[0], x[1]); }},
  };
  return kFunctions;
}

}  // namespace

Expression::Expression(double number) : node_(std::make_shared<Node>(Node{.number = number})) {}

Expression::Expression(std::string kind, std::vector<Expression> arguments, std::string word)
    : node_(std::make_shared<Node>(Node{
          .kind = std::move(kind), .word = std::move(word), .arguments = std::move(arguments)})) {}

io::Json Expression::json() const {
  if (is_number()) return number();
  io::Json::Array list = {kind()};
  if (!word().empty()) list.emplace_back(word());
  for (const Expression& argument : arguments()) list.push_back(argument.json());
  return list;
}

Expression at(int axis) { return {"at", {static_cast<double>(axis)}}; }
Expression counter() { return {"counter", {}}; }
Expression attribute(const std::string& name, const Expression& otherwise) {
  return {"attribute", {otherwise}, name};
}
Expression attribute_is(const std::string& name, const std::string& word) {
  return {"is", {Expression(word, {})}, name};
}
Expression size(const std::string& role, int axis) {
  return {"size", {static_cast<double>(axis)}, role.empty() ? "result" : role};
}
Expression has(const std::string& role) { return {"has", {}, role}; }
Expression ingredient(const std::string& key) { return {"ingredient", {}, key}; }
Expression factor(int number) { return {"factor", {static_cast<double>(number)}}; }
Expression sum() { return {"sum", {}}; }
Expression largest() { return {"largest", {}}; }
Expression first_factor() { return {"first", {}}; }

Expression operator+(const Expression& a, const Expression& b) { return {"+", {a, b}}; }
Expression operator-(const Expression& a, const Expression& b) { return {"-", {a, b}}; }
Expression operator*(const Expression& a, const Expression& b) { return {"*", {a, b}}; }
Expression operator/(const Expression& a, const Expression& b) { return {"/", {a, b}}; }
Expression operator<(const Expression& a, const Expression& b) { return {"<", {a, b}}; }
Expression operator<=(const Expression& a, const Expression& b) { return {"<=", {a, b}}; }
Expression operator==(const Expression& a, const Expression& b) { return {"==", {a, b}}; }
Expression operator&&(const Expression& a, const Expression& b) { return {"and", {a, b}}; }
Expression operator||(const Expression& a, const Expression& b) { return {"or", {a, b}}; }
Expression operator!(const Expression& a) { return {"not", {a}}; }
Expression whole_quotient(const Expression& a, const Expression& b) { return {"div", {a, b}}; }
Expression remainder(const Expression& a, const Expression& b) { return {"mod", {a, b}}; }
Expression call(const std::string& function, const std::vector<Expression>& arguments) {
  return {function, arguments};
}
Expression when(const Expression& condition, const Expression& then, const Expression& otherwise) {
  return {"if", {condition, then, otherwise}};
}
Expression minus_infinity() { return {"-infinity", {}}; }
Expression same_index() { return {"index", {}}; }
Expression same_row() { return {"row", {}}; }
Expression same_offset() { return {"offset", {}}; }

double evaluate(const Expression& expression, const Scope& scope) {
  if (expression.is_number()) return expression.number();
  const std::string& kind = expression.kind();
  const std::vector<Expression>& arguments = expression.arguments();
  if (kind == "at") return scope.at(static_cast<int>(arguments.front().number()));
  if (kind == "-infinity") return -std::numeric_limits<double>::infinity();
  if (kind == "if") {
    return evaluate(evaluate(arguments[0], scope) != 0 ? arguments[1] : arguments[2], scope);
  }
  const auto function = functions().find(kind);
  if (function == functions().end()) return scope.lookup(expression);
  // What stands behind a condition that fails is not asked for.
  if (kind == "and" && evaluate(arguments[0], scope) == 0) return 0;
  if (kind == "or" && evaluate(arguments[0], scope) != 0) return 1;
  Numbers numbers;
  for (const Expression& argument : arguments) numbers.push_back(evaluate(argument, scope));
  return function->second(numbers);
}

}  // namespace headlight::explain
