// A template as a tree. For text's own use.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "headlight/text/jinja/value.h"

namespace headlight::text::jinja {

struct Expression;
using ExpressionHandle = std::unique_ptr<const Expression>;
using Expressions = std::vector<ExpressionHandle>;

// (a, b=1, *rest, **more)
struct Arguments {
  Expressions positional = {};
  std::vector<std::pair<std::string, ExpressionHandle>> named = {};
  ExpressionHandle rest = {};
  ExpressionHandle named_rest = {};
};

enum class ExpressionKind {
  constant,
  name,
  list,
  tuple,
  dict,         // parts: key, value, key, value
  conditional,  // parts: test, value, other value or null
  either,       // or
  both,         // and
  negation,     // not
  comparison,   // parts, with `operators` between them
  joined,       // ~
  binary,       // `name` is the operator
  unary,
  attribute,  // parts: object; `name`
  subscript,  // parts: object, key
  slice,      // parts: object, begin, end, step; null where left out
  call,       // parts: callee; `arguments`
  filter,     // parts: value, or null for that of a block; `name`, `arguments`
  test,       // parts: value; `name`, `arguments`
  member,     // of a namespace, as a target: `name`, and the constant is its member's name
};

struct Expression {
  ExpressionKind kind = ExpressionKind::constant;
  int64_t line = 1;
  Value constant = {};
  std::string name = {};
  Expressions parts = {};
  std::vector<std::string> operators = {};
  Arguments arguments = {};
  int depth = 1;  // levels of expressions, its own included
};

struct Statement;
using Statements = std::vector<Statement>;

struct Procedure;

enum class StatementKind {
  text,
  output,       // expressions
  condition,    // expressions: a test for each body; one body more is the last else
  loop,         // expressions: target, iterated, filter or null; bodies: each, else
  assignment,   // expressions: target, value
  block_value,  // expressions: target, filter or null; body
  macro,        // procedure
  call,         // expressions: the call; procedure is the caller
  filter,       // expressions: the filter; body
  scope,        // with: expressions: targets and values in turns; body
  generation,   // body
  break_loop,
  continue_loop,
};

struct Statement {
  StatementKind kind = StatementKind::text;
  int64_t line = 1;
  std::string text = {};
  Expressions expressions = {};
  std::vector<Statements> bodies = {};
  std::shared_ptr<const Procedure> procedure = {};
  bool is_recursive = false;  // of loops
};

// What a macro, a call block or a generation block runs.
struct Procedure {
  std::string name = {};
  std::vector<std::string> parameters = {};
  Expressions defaults = {};  // of the last parameters
  Statements body = {};
  bool takes_caller = false;  // names that the body uses
  bool takes_rest = false;
  bool takes_named_rest = false;
};

}  // namespace headlight::text::jinja
