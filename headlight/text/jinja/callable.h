// What templates can call: functions, methods of values and macros. For text's own use.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headlight/text/jinja/syntax.h"

namespace headlight::text::jinja {

class Render;
struct Scope;

// The values of a call's arguments.
struct Given {
  Values positional = {};
  std::vector<std::pair<std::string, Value>> named = {};
};

struct Callable {
  enum class Kind { function, method, macro };
  Kind kind = Kind::function;
  std::string name = {};
  Value receiver = {};                   // of a method
  int depth = 0;                         // levels of nesting: a method's is above its receiver's
  const Procedure* procedure = nullptr;  // of a macro, with the scope that it was made in
  Scope* scope = nullptr;
};

// Throws Error for more levels than kMostLevels.
Value make_method(Value receiver, std::string name, Meter& meter);

// Arguments by the names of parameters. Throws Error for too many, unknown and repeated ones.
class Bound {
 public:
  Bound(Given given, std::string callee, std::initializer_list<std::string_view> parameters,
        Meter& meter);

  // nullptr: not given.
  const Value* operator[](size_t index) const { return has_[index] ? &values_[index] : nullptr; }
  // Throws Error when it is not given.
  const Value& needed(size_t index) const;
  bool flag(size_t index, bool otherwise) const {
    return has_[index] ? is_true(values_[index]) : otherwise;
  }
  int64_t integer(size_t index, int64_t otherwise) const;
  // The bytes of a text.
  std::string text(size_t index, std::string_view otherwise) const;
  const MarkedText& marked(size_t index) const;

 private:
  std::string callee_;
  std::vector<std::string_view> parameters_;
  Values values_;
  std::vector<bool> has_;
  Meter& meter_;
};

}  // namespace headlight::text::jinja
