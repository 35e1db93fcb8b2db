// Values of expressions.
#include "headlight/text/jinja/library.h"
#include "headlight/text/jinja/operators.h"
#include "headlight/text/unicode.h"

namespace headlight::text::jinja {
namespace {

Value missing(const Value& value, const std::string& name) {
  return Value::undefined("'" + type_name(value) + " object' has no attribute '" + name + "'");
}

Value loop_attribute(Loop& loop, const std::string& name, Meter& meter) {
  const auto index = static_cast<int64_t>(loop.index);
  const auto count = static_cast<int64_t>(loop.items.size());
  if (name == "index0") return Value(index);
  if (name == "index") return Value(index + 1);
  if (name == "first") return Value(index == 0);
  if (name == "last") return Value(index + 1 == count);
  if (name == "length") return Value(count);
  if (name == "revindex0") return Value(count - index - 1);
  if (name == "revindex") return Value(count - index);
  if (name == "depth0") return Value(int64_t{loop.level});
  if (name == "depth") return Value(int64_t{loop.level} + 1);
  if (name == "previtem") {
    return index > 0 ? loop.items[loop.index - 1] : Value::undefined("there is no previous item");
  }
  if (name == "nextitem") {
    return index + 1 < count ? loop.items[loop.index + 1]
                             : Value::undefined("there is no next item");
  }
  if (name == "cycle" || name == "changed") return make_method(Value(&loop), name, meter);
  return missing(Value(&loop), name);
}

Value letter_of(const MarkedText& text, int64_t index, Meter& meter) {
  const int64_t count = length_of(Value(text), meter);
  if (index < 0) index += count;
  if (index < 0 || index >= count) return Value::undefined("a text has no letter at that place");
  size_t at = 0;
  for (int64_t i = 0; i < index; ++i) at += code_point_at(text.bytes, at).length;
  return Value(text.slice(at, at + code_point_at(text.bytes, at).length));
}

}  // namespace

Value Render::attribute(const Value& value, const std::string& name) {
  if (const Absence* absence = value.absence()) meter_.refuse(absence->why);
  if (value.loop()) return loop_attribute(*value.loop(), name, meter_);
  if (const Namespace* members = value.members()) {
    meter_.step(static_cast<int64_t>(members->members.size() / 8));
    for (const auto& [member, held] : members->members) {
      if (member == name) return held;
    }
    return missing(value, name);
  }
  if (name.starts_with("__") || is_changing_method(value, name)) {
    return Value::undefined("access to attribute '" + name + "' of '" + type_name(value) +
                            "' object is unsafe");
  }
  if (has_method(value, name)) return make_method(value, name, meter_);
  if (const Dict* dict = value.dict()) {
    if (const Value* member = find(*dict, name, meter_)) return *member;
  }
  return missing(value, name);
}

Value Render::item(const Value& value, const Value& key) {
  if (const Absence* absence = value.absence()) meter_.refuse(absence->why);
  if (const Dict* dict = value.dict()) {
    const Value* member =
        key.text() ? find(*dict, key.text()->bytes, meter_) : find(*dict, key, meter_);
    if (member) return *member;
  }
  if (key.text()) return attribute(value, key.text()->bytes);
  if (key.is_whole() && value.text()) return letter_of(*value.text(), key.whole(), meter_);
  const Sequence* sequence = value.sequence();
  const bool is_indexed =
      sequence && (sequence->kind == SequenceKind::list || sequence->kind == SequenceKind::tuple ||
                   sequence->kind == SequenceKind::range);
  if (is_indexed && key.is_whole()) {
    const auto count = static_cast<int64_t>(sequence->items.size());
    const int64_t index = key.whole() < 0 ? key.whole() + count : key.whole();
    if (index >= 0 && index < count) return sequence->items[static_cast<size_t>(index)];
  }
  if (!key.is_whole())
    return Value::undefined("'" + type_name(value) + " object' has no such item");
  return Value::undefined("'" + type_name(value) + " object' has no element " +
                          std::to_string(key.whole()));
}

Value Render::call(const Value& callee, Given given) {
  meter_.step();
  if (const Absence* absence = callee.absence()) meter_.refuse(absence->why);
  if (callee.loop()) return call_loop(*callee.loop(), std::move(given));
  const Callable* callable = callee.callable();
  if (!callable) meter_.refuse(type_name(callee) + " cannot be called");
  switch (callable->kind) {
    case Callable::Kind::function:
      return call_function(*this, callable->name, std::move(given));
    case Callable::Kind::method:
      return call_method(*this, callable->receiver, callable->name, std::move(given));
    case Callable::Kind::macro:
      break;
  }
  // The macro must not go while it runs.
  const Value kept = callee;
  return call_macro(*callable, std::move(given));
}

Value Render::value_of_name(const std::string& name, const Scope& scope) const {
  for (const Scope* around = &scope; around; around = around->parent) {
    if (const Value* value = around->find(name)) return *value;
  }
  for (const auto& [variable, value] : variables_) {
    if (variable == name) return value;
  }
  if (!has_function(name)) return Value::undefined("'" + name + "' is undefined");
  return Value(std::make_shared<const Callable>(Callable{.name = name}));
}

Value Render::list_of(const Expression& expression, Scope& scope, SequenceKind kind) {
  Values items;
  for (const ExpressionHandle& part : expression.parts) items.push_back(evaluate(*part, scope));
  return make_sequence(kind, std::move(items), meter_);
}

Value Render::dict_of(const Expression& expression, Scope& scope) {
  std::vector<std::pair<Value, Value>> members;
  for (size_t i = 0; i < expression.parts.size(); i += 2) {
    Value key = evaluate(*expression.parts[i], scope);
    check_key(key, meter_);
    Value value = evaluate(*expression.parts[i + 1], scope);
    bool is_new = true;
    for (auto& [other, old] : members) {
      if (!equal(other, key, meter_)) continue;
      old = value;
      is_new = false;
    }
    if (is_new) members.emplace_back(std::move(key), std::move(value));
  }
  return make_dict(std::move(members), meter_);
}

Value Render::conditional(const Expression& expression, Scope& scope) {
  if (is_true(evaluate(*expression.parts[0], scope))) return evaluate(*expression.parts[1], scope);
  if (expression.parts[2]) return evaluate(*expression.parts[2], scope);
  return Value::undefined("an inline if without else has no value");
}

Value Render::comparison(const Expression& expression, Scope& scope) {
  Value left = evaluate(*expression.parts[0], scope);
  for (size_t i = 0; i < expression.operators.size(); ++i) {
    Value right = evaluate(*expression.parts[i + 1], scope);
    meter_.set_line(expression.line);
    if (!compared(expression.operators[i], left, right, meter_)) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Value Render::joined(const Expression& expression, Scope& scope) {
  MarkedText result;
  for (const ExpressionHandle& part : expression.parts) {
    result.append(text_of(evaluate(*part, scope), meter_));
  }
  meter_.make(result.bytes.size());
  return Value(std::move(result));
}

Value Render::slice(const Expression& expression, Scope& scope) {
  const Value value = evaluate(*expression.parts[0], scope);
  const auto bound = [&](size_t part) {
    return expression.parts[part] ? evaluate(*expression.parts[part], scope) : Value();
  };
  const Bounds bounds{.begin = bound(1), .end = bound(2), .step = bound(3)};
  return sliced(value, bounds, meter_);
}

Given Render::given_of(const Arguments& arguments, Scope& scope) {
  Given given;
  for (const ExpressionHandle& part : arguments.positional) {
    given.positional.push_back(evaluate(*part, scope));
  }
  for (const auto& [name, part] : arguments.named) {
    given.named.emplace_back(name, evaluate(*part, scope));
  }
  if (arguments.rest) {
    for (Value& value : items_of(evaluate(*arguments.rest, scope), meter_)) {
      given.positional.push_back(std::move(value));
    }
  }
  if (arguments.named_rest) {
    const Value more = evaluate(*arguments.named_rest, scope);
    if (!more.dict()) meter_.refuse("** is given " + type_name(more) + ", not a dict");
    for (const auto& [key, value] : more.dict()->members) {
      if (!key.text()) meter_.refuse("** needs names as keys, not " + type_name(key));
      given.named.emplace_back(key.text()->bytes, value);
    }
  }
  return given;
}

Value Render::filtered(const Expression& expression, Scope& scope, const Value* block) {
  // Of a block with several filters, the innermost takes the block's text.
  const ExpressionHandle& inner = expression.parts[0];
  Value value;
  if (!inner) {
    value = *block;
  } else if (block && inner->kind == ExpressionKind::filter) {
    value = filtered(*inner, scope, block);
  } else {
    value = evaluate(*inner, scope);
  }
  Given given = given_of(expression.arguments, scope);
  meter_.set_line(expression.line);
  return apply_filter(*this, expression.name, value, std::move(given));
}

Value Render::tested(const Expression& expression, Scope& scope) {
  const Value value = evaluate(*expression.parts[0], scope);
  Given given = given_of(expression.arguments, scope);
  meter_.set_line(expression.line);
  return Value(apply_test(*this, expression.name, value, std::move(given)));
}

Value Render::evaluate(const Expression& expression, Scope& scope) {
  const Meter::Level level(meter_);
  meter_.step();
  meter_.set_line(expression.line);
  const auto part = [&](size_t index) { return evaluate(*expression.parts[index], scope); };
  switch (expression.kind) {
    case ExpressionKind::constant:
      return expression.constant;
    case ExpressionKind::name:
      return value_of_name(expression.name, scope);
    case ExpressionKind::list:
      return list_of(expression, scope, SequenceKind::list);
    case ExpressionKind::tuple:
      return list_of(expression, scope, SequenceKind::tuple);
    case ExpressionKind::dict:
      return dict_of(expression, scope);
    case ExpressionKind::conditional:
      return conditional(expression, scope);
    case ExpressionKind::either: {
      Value left = part(0);
      return is_true(left) ? left : part(1);
    }
    case ExpressionKind::both: {
      Value left = part(0);
      return is_true(left) ? part(1) : left;
    }
    case ExpressionKind::negation:
      return Value(!is_true(part(0)));
    case ExpressionKind::comparison:
      return comparison(expression, scope);
    case ExpressionKind::joined:
      return joined(expression, scope);
    case ExpressionKind::binary: {
      const Value left = part(0);
      const Value right = part(1);
      meter_.set_line(expression.line);
      return binary(expression.name, left, right, meter_);
    }
    case ExpressionKind::unary:
      return unary(expression.name, part(0), meter_);
    case ExpressionKind::attribute:
      return attribute(part(0), expression.name);
    case ExpressionKind::subscript: {
      const Value value = part(0);
      return item(value, part(1));
    }
    case ExpressionKind::slice:
      return slice(expression, scope);
    case ExpressionKind::call: {
      const Value callee = part(0);
      Given given = given_of(expression.arguments, scope);
      meter_.set_line(expression.line);
      Value result = call(callee, std::move(given));
      meter_.set_line(expression.line);
      return result;
    }
    case ExpressionKind::filter:
      return filtered(expression, scope, nullptr);
    case ExpressionKind::test:
      return tested(expression, scope);
    case ExpressionKind::member:
      break;
  }
  return {};
}

}  // namespace headlight::text::jinja
