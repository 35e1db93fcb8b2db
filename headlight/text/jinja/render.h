// Render: a template as it runs. For text's own use.
#pragma once

#include <ctime>
#include <deque>
#include <optional>

#include "headlight/text/jinja/callable.h"

namespace headlight::text::jinja {

// Names and what they stand for; what is not here is looked for in the scope around it.
struct Scope {
  Scope* parent = nullptr;
  std::vector<std::pair<std::string, Value>> names = {};
  bool is_kept = false;  // a macro was made in it, and may outlive what the scope is of

  const Value* find(std::string_view name) const;
  void set(std::string_view name, Value value);
};

// A for loop on its way.
struct Loop {
  const Statement* statement = nullptr;
  Scope* scope = nullptr;  // around the loop
  Values items = {};
  size_t index = 0;
  int level = 0;                            // of recursive loops
  std::optional<Values> last_changed = {};  // what changed() was asked with
};

// Made for one rendering of one template; it owns all scopes, loops and namespaces.
class Render {
 public:
  using Variables = std::vector<std::pair<std::string, Value>>;
  Render(Meter& meter, const Variables& variables, const std::tm& now);

  MarkedText run(const Statements& statements);

  Meter& meter() { return meter_; }
  const std::tm& now() const { return now_; }
  // value.name and value[key], as jinja looks for them; undefined where there is nothing.
  Value attribute(const Value& value, const std::string& name);
  Value item(const Value& value, const Value& key);
  Value call(const Value& callee, Given given);
  Value make_namespace(Given given);
  // What a loop of the same kind writes of these items.
  Value call_loop(const Loop& loop, Given given);

 private:
  enum class Flow { on, leaves_loop, next_item };

  // Statements; what they write goes to `out`.
  Flow run(const Statements& statements, Scope& scope, MarkedText& out);
  Flow run(const Statement& statement, Scope& scope, MarkedText& out);
  Flow run_condition(const Statement& statement, Scope& scope, MarkedText& out);
  void run_loop(const Statement& statement, Scope& scope, MarkedText& out);
  void run_items(const Statement& statement, Scope& scope, const Value& iterated, int level,
                 MarkedText& out);
  Values loop_items(const Statement& statement, Scope& scope, const Value& iterated);
  void run_call(const Statement& statement, Scope& scope, MarkedText& out);
  void run_filter(const Statement& statement, Scope& scope, MarkedText& out);
  void run_with(const Statement& statement, Scope& scope, MarkedText& out);
  void set_block(const Statement& statement, Scope& scope);
  MarkedText run_apart(const Statements& statements, Scope& scope);
  void assign(const Expression& target, const Value& value, Scope& scope);
  void assign_member(const Expression& target, const Value& value, Scope& scope);
  void write(const MarkedText& text, MarkedText& out);
  Scope& new_scope(Scope& parent);
  void end_scope(Scope& scope);

  Value evaluate(const Expression& expression, Scope& scope);
  Value value_of_name(const std::string& name, const Scope& scope) const;
  Value list_of(const Expression& expression, Scope& scope, SequenceKind kind);
  Value dict_of(const Expression& expression, Scope& scope);
  Value conditional(const Expression& expression, Scope& scope);
  Value comparison(const Expression& expression, Scope& scope);
  Value joined(const Expression& expression, Scope& scope);
  Value slice(const Expression& expression, Scope& scope);
  Value filtered(const Expression& expression, Scope& scope, const Value* block);
  Value tested(const Expression& expression, Scope& scope);
  Given given_of(const Arguments& arguments, Scope& scope);
  Value call_macro(const Callable& macro, Given given);
  void bind(const Callable& macro, Given& given, Scope& scope);

  Meter& meter_;
  const Variables& variables_;
  std::tm now_;
  std::deque<Scope> scopes_;
  std::vector<Scope*> free_scopes_;
  std::deque<Loop> loops_;
  std::vector<Loop*> free_loops_;
  std::deque<Namespace> namespaces_;
};

}  // namespace headlight::text::jinja
