// Expression: a formula over the indices, attributes and operands of one cell, as data. The engine
// evaluates it, and a page that is given it as JSON does the same.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/io/io.h"

namespace headlight::explain {

class Expression {
 public:
  Expression(double number);  // NOLINT(google-explicit-constructor): numbers stand in formulas
  Expression(std::string kind, std::vector<Expression> arguments, std::string word = "");

  bool is_number() const { return node_->kind.empty(); }
  double number() const { return node_->number; }
  const std::string& kind() const { return node_->kind; }
  const std::string& word() const { return node_->word; }
  const std::vector<Expression>& arguments() const { return node_->arguments; }

  // A number, or ["kind", "word" where there is one, arguments...].
  io::Json json() const;

 private:
  struct Node {
    std::string kind = {};
    std::string word = {};
    double number = 0;
    std::vector<Expression> arguments = {};
  };
  std::shared_ptr<const Node> node_;
};

// What a formula can speak of. Indices of the cell, from the end when negative:
Expression at(int axis);
// The number of the term among those of its rule.
Expression counter();
// Of the tensor; `otherwise` where it is absent. Truth is 1.
Expression attribute(const std::string& name, const Expression& otherwise = 0.0);
// 1 when the attribute is this word, 0 otherwise.
Expression attribute_is(const std::string& name, const std::string& word);
// The size of an operand's axis; of the tensor itself for the role "".
Expression size(const std::string& role, int axis);
// Whether there is an operand in this role.
Expression has(const std::string& role);
// An ingredient's value; a factor's value in a term; the sum, the largest and the first factor of
// all terms.
Expression ingredient(const std::string& key);
Expression factor(int number);
Expression sum();
Expression largest();
Expression first_factor();

Expression operator+(const Expression& a, const Expression& b);
Expression operator-(const Expression& a, const Expression& b);
Expression operator*(const Expression& a, const Expression& b);
Expression operator/(const Expression& a, const Expression& b);
Expression operator<(const Expression& a, const Expression& b);
Expression operator<=(const Expression& a, const Expression& b);
Expression operator==(const Expression& a, const Expression& b);
Expression operator&&(const Expression& a, const Expression& b);
Expression operator||(const Expression& a, const Expression& b);
Expression operator!(const Expression& a);
// Of whole numbers: the quotient without its remainder, and the remainder.
Expression whole_quotient(const Expression& a, const Expression& b);
Expression remainder(const Expression& a, const Expression& b);
// "exp", "sqrt", "sin", "cos", "tanh", "erf", "abs", "min", "max", "pow".
Expression call(const std::string& function, const std::vector<Expression>& arguments);
Expression when(const Expression& condition, const Expression& then, const Expression& otherwise);
Expression minus_infinity();

// In a list of indices: all of the cell's; all but the last; and those at the same distance from
// the start in another shape.
Expression same_index();
Expression same_row();
Expression same_offset();

// What an expression is evaluated with; each function is asked for what the formula names.
struct Scope {
  std::function<double(int axis)> at;
  std::function<double(const Expression& asked)> lookup;  // attributes, sizes, operands, terms
};
double evaluate(const Expression& expression, const Scope& scope);

}  // namespace headlight::explain
