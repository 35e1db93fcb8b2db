// Running statements: what they write, and the names they set.
#include <algorithm>

#include "headlight/text/jinja/library.h"

namespace headlight::text::jinja {

const Value* Scope::find(std::string_view name) const {
  for (const auto& [known, value] : names) {
    if (known == name) return &value;
  }
  return nullptr;
}

void Scope::set(std::string_view name, Value value) {
  for (auto& [known, old] : names) {
    if (known != name) continue;
    old = std::move(value);
    return;
  }
  names.emplace_back(name, std::move(value));
}

Render::Render(Meter& meter, const Variables& variables, const std::tm& now)
    : meter_(meter), variables_(variables), now_(now) {}

MarkedText Render::run(const Statements& statements) {
  MarkedText out;
  run(statements, scopes_.emplace_back(), out);
  return out;
}

Scope& Render::new_scope(Scope& parent) {
  if (free_scopes_.empty()) {
    meter_.make(sizeof(Scope));
    return scopes_.emplace_back(Scope{.parent = &parent});
  }
  Scope& scope = *free_scopes_.back();
  free_scopes_.pop_back();
  scope.parent = &parent;
  return scope;
}

void Render::end_scope(Scope& scope) {
  if (scope.is_kept) return;
  scope.names.clear();
  free_scopes_.push_back(&scope);
}

void Render::write(const MarkedText& text, MarkedText& out) {
  meter_.make(text.bytes.size());
  out.append(text);
}

// What the statements write in a scope of their own.
MarkedText Render::run_apart(const Statements& statements, Scope& scope) {
  Scope& inner = new_scope(scope);
  MarkedText out;
  run(statements, inner, out);
  end_scope(inner);
  return out;
}

Render::Flow Render::run(const Statements& statements, Scope& scope, MarkedText& out) {
  const Meter::Level level(meter_);
  for (const Statement& statement : statements) {
    meter_.step();
    meter_.set_line(statement.line);
    const Flow flow = run(statement, scope, out);
    if (flow != Flow::on) return flow;
  }
  return Flow::on;
}

Render::Flow Render::run(const Statement& statement, Scope& scope, MarkedText& out) {
  switch (statement.kind) {
    case StatementKind::text:
      meter_.make(statement.text.size());
      out.append(statement.text);
      break;
    case StatementKind::output:
      for (const ExpressionHandle& part : statement.expressions) {
        const Value value = evaluate(*part, scope);
        write(text_of(value, meter_), out);
      }
      break;
    case StatementKind::condition:
      return run_condition(statement, scope, out);
    case StatementKind::loop:
      run_loop(statement, scope, out);
      break;
    case StatementKind::assignment:
      assign(*statement.expressions[0], evaluate(*statement.expressions[1], scope), scope);
      break;
    case StatementKind::block_value:
      set_block(statement, scope);
      break;
    case StatementKind::macro: {
      scope.is_kept = true;
      for (Scope* around = scope.parent; around; around = around->parent) around->is_kept = true;
      const Procedure& procedure = *statement.procedure;
      scope.set(procedure.name,
                Value(std::make_shared<const Callable>(Callable{.kind = Callable::Kind::macro,
                                                                .name = procedure.name,
                                                                .procedure = &procedure,
                                                                .scope = &scope})));
      break;
    }
    case StatementKind::call:
      run_call(statement, scope, out);
      break;
    case StatementKind::filter:
      run_filter(statement, scope, out);
      break;
    case StatementKind::scope:
      run_with(statement, scope, out);
      break;
    case StatementKind::generation:
      write(run_apart(statement.bodies[0], scope), out);
      break;
    case StatementKind::break_loop:
      return Flow::leaves_loop;
    case StatementKind::continue_loop:
      return Flow::next_item;
  }
  return Flow::on;
}

Render::Flow Render::run_condition(const Statement& statement, Scope& scope, MarkedText& out) {
  const size_t tests = statement.expressions.size();
  for (size_t i = 0; i < tests; ++i) {
    if (is_true(evaluate(*statement.expressions[i], scope))) {
      return run(statement.bodies[i], scope, out);
    }
  }
  return statement.bodies.size() > tests ? run(statement.bodies[tests], scope, out) : Flow::on;
}

void Render::run_loop(const Statement& statement, Scope& scope, MarkedText& out) {
  const Value iterated = evaluate(*statement.expressions[1], scope);
  run_items(statement, scope, iterated, 0, out);
}

// Those that the loop's filter lets through.
Values Render::loop_items(const Statement& statement, Scope& scope, const Value& iterated) {
  Values items = items_of(iterated, meter_);
  if (!statement.expressions[2]) return items;
  Values kept;
  for (Value& item : items) {
    Scope& inner = new_scope(scope);
    assign(*statement.expressions[0], item, inner);
    if (is_true(evaluate(*statement.expressions[2], inner))) kept.push_back(std::move(item));
    end_scope(inner);
  }
  return kept;
}

void Render::run_items(const Statement& statement, Scope& scope, const Value& iterated, int level,
                       MarkedText& out) {
  Values items = loop_items(statement, scope, iterated);
  // jinja2's {% else %} is for loops of which no item came to the body's end, also where {% break
  // %} or {% continue %} left it.
  const auto run_else = [&] {
    if (statement.bodies.size() > 1) write(run_apart(statement.bodies[1], scope), out);
  };
  if (items.empty()) return run_else();
  if (free_loops_.empty()) {
    meter_.make(sizeof(Loop));
    free_loops_.push_back(&loops_.emplace_back());
  }
  Loop& loop = *free_loops_.back();
  free_loops_.pop_back();
  loop = {.statement = &statement, .scope = &scope, .items = std::move(items), .level = level};
  bool is_done = false;
  for (; loop.index < loop.items.size(); ++loop.index) {
    Scope& inner = new_scope(scope);
    inner.set("loop", Value(&loop));
    assign(*statement.expressions[0], loop.items[loop.index], inner);
    const Flow flow = run(statement.bodies[0], inner, out);
    end_scope(inner);
    if (flow == Flow::leaves_loop) break;
    is_done = is_done || flow == Flow::on;
  }
  // Whoever still holds it finds an empty loop, which cannot be called: its scope may have gone.
  loop = {};
  free_loops_.push_back(&loop);
  if (!is_done) run_else();
}

Value Render::call_loop(const Loop& loop, Given given) {
  if (!loop.statement || !loop.statement->is_recursive) {
    meter_.refuse("loop() is for loops that are recursive and have not ended");
  }
  const Bound bound(std::move(given), "loop", {"iterable"}, meter_);
  const Meter::Level level(meter_);
  MarkedText out;
  run_items(*loop.statement, *loop.scope, bound.needed(0), loop.level + 1, out);
  return Value(std::move(out));
}

void Render::assign(const Expression& target, const Value& value, Scope& scope) {
  if (target.kind == ExpressionKind::name) return scope.set(target.name, value);
  if (target.kind == ExpressionKind::member) return assign_member(target, value, scope);
  const Meter::Level level(meter_);
  const Values items = items_of(value, meter_);
  if (items.size() != target.parts.size()) {
    meter_.refuse("a value of " + std::to_string(items.size()) + " items is unpacked to " +
                  std::to_string(target.parts.size()) + " names");
  }
  for (size_t i = 0; i < items.size(); ++i) assign(*target.parts[i], items[i], scope);
}

void Render::assign_member(const Expression& target, const Value& value, Scope& scope) {
  const std::string& member = target.constant.text()->bytes;
  Namespace* members = value_of_name(target.name, scope).members();
  if (!members) meter_.refuse("cannot set " + target.name + "." + member + ": it is no namespace");
  if (member.starts_with('_')) meter_.refuse("a namespace has no member " + member);
  for (auto& [known, old] : members->members) {
    if (known != member) continue;
    old = value;
    return;
  }
  members->members.emplace_back(member, value);
}

void Render::set_block(const Statement& statement, Scope& scope) {
  Value value(run_apart(statement.bodies[0], scope));
  if (statement.expressions[1]) value = filtered(*statement.expressions[1], scope, &value);
  assign(*statement.expressions[0], value, scope);
}

void Render::run_filter(const Statement& statement, Scope& scope, MarkedText& out) {
  const Value body(run_apart(statement.bodies[0], scope));
  write(text_of(filtered(*statement.expressions[0], scope, &body), meter_), out);
}

void Render::run_with(const Statement& statement, Scope& scope, MarkedText& out) {
  Scope& inner = new_scope(scope);
  Values values;
  for (size_t i = 1; i < statement.expressions.size(); i += 2) {
    values.push_back(evaluate(*statement.expressions[i], scope));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    assign(*statement.expressions[2 * i], values[i], inner);
  }
  MarkedText written;
  run(statement.bodies[0], inner, written);
  end_scope(inner);
  write(written, out);
}

void Render::run_call(const Statement& statement, Scope& scope, MarkedText& out) {
  const Expression& call_expression = *statement.expressions[0];
  const Value callee = evaluate(*call_expression.parts[0], scope);
  Given given = given_of(call_expression.arguments, scope);
  scope.is_kept = true;
  for (Scope* around = scope.parent; around; around = around->parent) around->is_kept = true;
  given.named.emplace_back(
      "caller",
      Value(std::make_shared<const Callable>(Callable{.kind = Callable::Kind::macro,
                                                      .name = "caller",
                                                      .procedure = statement.procedure.get(),
                                                      .scope = &scope})));
  meter_.set_line(statement.line);
  write(text_of(call(callee, std::move(given)), meter_), out);
}

void Render::bind(const Callable& macro, Given& given, Scope& scope) {
  const Procedure& procedure = *macro.procedure;
  const std::vector<std::string>& names = procedure.parameters;
  const size_t count = std::min(names.size(), given.positional.size());
  for (size_t i = 0; i < count; ++i) scope.set(names[i], given.positional[i]);
  Values rest(given.positional.begin() + static_cast<std::ptrdiff_t>(count),
              given.positional.end());
  if (procedure.takes_rest) {
    scope.set("varargs", make_sequence(SequenceKind::tuple, std::move(rest), meter_));
  } else if (!rest.empty()) {
    meter_.refuse("the macro " + macro.name + " takes at most " + std::to_string(names.size()) +
                  " arguments, it is given " + std::to_string(given.positional.size()));
  }
  std::vector<std::pair<Value, Value>> more;
  Value caller = Value::undefined("no caller is defined");
  for (auto& [name, value] : given.named) {
    const auto place = std::ranges::find(names, name);
    if (place != names.end() && static_cast<size_t>(place - names.begin()) >= count) {
      scope.set(name, std::move(value));
    } else if (name == "caller" && procedure.takes_caller) {
      caller = std::move(value);
    } else if (place == names.end() && procedure.takes_named_rest) {
      more.emplace_back(name, std::move(value));
    } else {
      meter_.refuse("the macro " + macro.name + " takes no argument " + io::in_quotes(name));
    }
  }
  if (procedure.takes_named_rest) scope.set("kwargs", make_dict(std::move(more), meter_));
  if (procedure.takes_caller && std::ranges::find(names, "caller") == names.end()) {
    scope.set("caller", std::move(caller));
  }
}

Value Render::call_macro(const Callable& macro, Given given) {
  const Meter::Level level(meter_);
  const Procedure& procedure = *macro.procedure;
  Scope& scope = new_scope(*macro.scope);
  bind(macro, given, scope);
  const size_t first = procedure.parameters.size() - procedure.defaults.size();
  for (size_t i = 0; i < procedure.parameters.size(); ++i) {
    const std::string& name = procedure.parameters[i];
    if (scope.find(name)) continue;
    scope.set(name, i >= first ? evaluate(*procedure.defaults[i - first], scope)
                               : Value::undefined("parameter '" + name + "' was not provided"));
  }
  MarkedText out;
  run(procedure.body, scope, out);
  end_scope(scope);
  return Value(std::move(out));
}

Value Render::make_namespace(Given given) {
  meter_.make(sizeof(Namespace));
  Namespace& members = namespaces_.emplace_back();
  const auto set = [&](const std::string& name, const Value& value) {
    if (name.starts_with('_')) meter_.refuse("a namespace has no member " + name);
    for (auto& [known, old] : members.members) {
      if (known != name) continue;
      old = value;
      return;
    }
    members.members.emplace_back(name, value);
  };
  if (given.positional.size() > 1) meter_.refuse("namespace takes at most 1 argument by place");
  for (const Value& value : given.positional) {
    if (!value.dict()) meter_.refuse("namespace takes a dict, not " + type_name(value));
    for (const auto& [key, member] : value.dict()->members) {
      if (key.text()) set(key.text()->bytes, member);
    }
  }
  for (const auto& [name, value] : given.named) set(name, value);
  return Value(&members);
}

}  // namespace headlight::text::jinja
