// Truth, order and length of values, as Python has them.
#include "headlight/text/jinja/value.h"

#include <algorithm>
#include <cmath>

#include "headlight/text/jinja/callable.h"
#include "headlight/text/unicode.h"

namespace headlight::text::jinja {
namespace {

// Of what a value owns: macros, namespaces and loops refer to what the render owns.
int depth_of(const Value& value) {
  if (const Sequence* sequence = value.sequence()) return sequence->depth;
  if (const Dict* dict = value.dict()) return dict->depth;
  if (const Callable* callable = value.callable()) return callable->depth;
  return 0;
}

void check_depth(int depth, Meter& meter) {
  if (depth > kMostLevels) {
    meter.refuse("a value has more than " + std::to_string(kMostLevels) + " levels");
  }
}

bool equal_items(const Values& left, const Values& right, Meter& meter) {
  if (left.size() != right.size()) return false;
  for (size_t i = 0; i < left.size(); ++i) {
    if (!equal(left[i], right[i], meter)) return false;
  }
  return true;
}

bool equal_dicts(const Dict& left, const Dict& right, Meter& meter) {
  if (left.members.size() != right.members.size()) return false;
  for (const auto& [key, value] : left.members) {
    const Value* other = find(right, key, meter);
    if (!other || !equal(value, *other, meter)) return false;
  }
  return true;
}

bool equal_numbers(const Value& left, const Value& right) {
  if (left.is_whole() && right.is_whole()) return left.whole() == right.whole();
  return left.number() == right.number();
}

int order(auto left, auto right) { return left < right ? -1 : left > right ? 1 : 0; }

int compare_items(const Values& left, const Values& right, Meter& meter) {
  for (size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    if (equal(left[i], right[i], meter)) continue;
    return compare(left[i], right[i], meter);
  }
  return order(left.size(), right.size());
}

Values letters_of(const MarkedText& text, Meter& meter) {
  Values letters;
  for (size_t at = 0; at < text.bytes.size();) {
    const size_t length = code_point_at(text.bytes, at).length;
    meter.make(length);
    letters.emplace_back(text.slice(at, at + length));
    at += length;
  }
  return letters;
}

}  // namespace

Value Value::undefined(std::string why) {
  Value value;
  value.value_ = std::make_shared<const Absence>(Absence{std::move(why)});
  return value;
}

bool Value::is_same(const Value& other) const {
  if (value_.index() != other.value_.index()) return false;
  if (boolean()) return *boolean() == *other.boolean();
  if (integer()) return *integer() == *other.integer();
  if (real()) return false;
  if (string()) return string() == other.string();
  if (sequence()) return sequence() == other.sequence();
  if (dict()) return dict() == other.dict();
  if (callable()) return callable() == other.callable();
  if (members()) return members() == other.members();
  return is_none() || (loop() && loop() == other.loop());
}

std::string type_name(const Value& value) {
  if (value.is_undefined()) return "Undefined";
  if (value.is_none()) return "NoneType";
  if (value.boolean()) return "bool";
  if (value.integer()) return "int";
  if (value.real()) return "float";
  if (const String* string = value.string()) return string->is_safe ? "Markup" : "str";
  if (value.dict()) return "dict";
  if (value.members()) return "Namespace";
  if (value.loop()) return "LoopContext";
  if (!value.sequence()) return "function";
  switch (value.sequence()->kind) {
    case SequenceKind::list:
      return "list";
    case SequenceKind::tuple:
      return "tuple";
    case SequenceKind::range:
      return "range";
    case SequenceKind::keys:
      return "dict_keys";
    case SequenceKind::values:
      return "dict_values";
    case SequenceKind::items:
      return "dict_items";
    case SequenceKind::iterator:
      return "generator";
  }
  return "";
}

Value make_sequence(SequenceKind kind, Values items, Meter& meter) {
  meter.make(items.size() * sizeof(Value));
  int depth = 0;
  for (const Value& item : items) depth = std::max(depth, depth_of(item));
  check_depth(depth + 1, meter);
  return Value(std::make_shared<const Sequence>(
      Sequence{.kind = kind, .items = std::move(items), .depth = depth + 1}));
}

Value make_dict(std::vector<std::pair<Value, Value>> members, Meter& meter) {
  meter.make(members.size() * 2 * sizeof(Value));
  int depth = 0;
  for (const auto& [key, value] : members) {
    depth = std::max({depth, depth_of(key), depth_of(value)});
  }
  check_depth(depth + 1, meter);
  return Value(
      std::make_shared<const Dict>(Dict{.members = std::move(members), .depth = depth + 1}));
}

Value make_method(Value receiver, std::string name, Meter& meter) {
  const int depth = depth_of(receiver) + 1;
  check_depth(depth, meter);
  return Value(std::make_shared<const Callable>(Callable{.kind = Callable::Kind::method,
                                                         .name = std::move(name),
                                                         .receiver = std::move(receiver),
                                                         .depth = depth}));
}

Value given_value(const io::Json& json, Meter& meter) {
  if (const auto boolean = json.boolean()) return Value(*boolean);
  if (const auto integer = json.integer()) return Value(*integer);
  if (const auto number = json.number()) return Value(*number);
  if (const std::string* text = json.text()) {
    meter.make(text->size());
    return Value(MarkedText::all_given(*text));
  }
  if (const io::Json::Array* array = json.array()) {
    Values items;
    for (const io::Json& item : *array) items.push_back(given_value(item, meter));
    return make_sequence(SequenceKind::list, std::move(items), meter);
  }
  if (const io::Json::Object* object = json.object()) {
    std::vector<std::pair<Value, Value>> members;
    for (const auto& [key, value] : *object) {
      meter.make(key.size());
      members.emplace_back(MarkedText::all_given(key), given_value(value, meter));
    }
    return make_dict(std::move(members), meter);
  }
  return {};
}

bool is_true(const Value& value) {
  if (value.is_none() || value.is_undefined()) return false;
  if (value.real()) return *value.real() != 0;
  if (value.is_whole()) return value.whole() != 0;
  if (const MarkedText* text = value.text()) return !text->bytes.empty();
  if (const Dict* dict = value.dict()) return !dict->members.empty();
  const Sequence* sequence = value.sequence();
  return !sequence || sequence->kind == SequenceKind::iterator || !sequence->items.empty();
}

bool equal(const Value& left, const Value& right, Meter& meter) {
  meter.step();
  if (left.is_number() && right.is_number()) return equal_numbers(left, right);
  if (left.is_undefined() && right.is_undefined()) return true;
  if (left.text() && right.text()) {
    meter.read(std::min(left.text()->bytes.size(), right.text()->bytes.size()));
    return left.text()->bytes == right.text()->bytes;
  }
  if (left.is_same(right)) return true;
  if (left.dict() && right.dict()) return equal_dicts(*left.dict(), *right.dict(), meter);
  const Sequence* sequence = left.sequence();
  if (!sequence || !right.is_sequence(sequence->kind)) return false;
  if (sequence->kind == SequenceKind::iterator || sequence->kind == SequenceKind::values) {
    return false;
  }
  return equal_items(sequence->items, right.sequence()->items, meter);
}

int compare(const Value& left, const Value& right, Meter& meter) {
  meter.step();
  if (left.is_whole() && right.is_whole()) return order(left.whole(), right.whole());
  if (left.is_number() && right.is_number()) return order(left.number(), right.number());
  if (left.text() && right.text()) {
    meter.read(std::min(left.text()->bytes.size(), right.text()->bytes.size()));
    return order(left.text()->bytes.compare(right.text()->bytes), 0);
  }
  const Sequence* sequence = left.sequence();
  const bool is_ordered =
      sequence && (sequence->kind == SequenceKind::list || sequence->kind == SequenceKind::tuple);
  if (is_ordered && right.is_sequence(sequence->kind)) {
    return compare_items(sequence->items, right.sequence()->items, meter);
  }
  for (const Value* value : {&left, &right}) {
    if (const Absence* absence = value->absence()) meter.refuse(absence->why);
  }
  meter.refuse(type_name(left) + " and " + type_name(right) + " cannot be ordered");
}

const Value* find(const Dict& dict, const Value& key, Meter& meter) {
  for (const auto& [other, value] : dict.members) {
    if (equal(other, key, meter)) return &value;
  }
  return nullptr;
}

const Value* find(const Dict& dict, std::string_view key, Meter& meter) {
  meter.step(1 + static_cast<int64_t>(dict.members.size() / 8));
  for (const auto& [other, value] : dict.members) {
    if (other.text() && other.text()->bytes == key) return &value;
  }
  return nullptr;
}

void check_key(const Value& key, Meter& meter) {
  meter.step();
  if (key.is_number() || key.text() || key.is_none() || key.is_undefined()) return;
  if (!key.is_sequence(SequenceKind::tuple)) {
    meter.refuse(type_name(key) + " cannot be the key of a dict");
  }
  for (const Value& part : key.sequence()->items) check_key(part, meter);
}

bool is_iterable(const Value& value) {
  return value.text() || value.sequence() || value.dict() || value.is_undefined() || value.loop();
}

Values items_of(const Value& value, Meter& meter) {
  if (const MarkedText* text = value.text()) return letters_of(*text, meter);
  if (const Sequence* sequence = value.sequence()) {
    meter.make((sequence->items.size() - sequence->taken) * sizeof(Value));
    Values items(sequence->items.begin() + static_cast<std::ptrdiff_t>(sequence->taken),
                 sequence->items.end());
    if (sequence->kind == SequenceKind::iterator) sequence->taken = sequence->items.size();
    return items;
  }
  if (const Dict* dict = value.dict()) {
    meter.make(dict->members.size() * sizeof(Value));
    Values keys;
    for (const auto& [key, member] : dict->members) keys.push_back(key);
    return keys;
  }
  if (value.is_undefined()) return {};
  meter.refuse(type_name(value) + " cannot be iterated");
}

int64_t length_of(const Value& value, Meter& meter) {
  if (const MarkedText* text = value.text()) {
    meter.read(text->bytes.size());
    return std::ranges::count_if(
        text->bytes, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; });
  }
  if (const Dict* dict = value.dict()) return static_cast<int64_t>(dict->members.size());
  if (value.is_undefined()) return 0;
  const Sequence* sequence = value.sequence();
  if (!sequence || sequence->kind == SequenceKind::iterator) {
    meter.refuse(type_name(value) + " has no length");
  }
  return static_cast<int64_t>(sequence->items.size());
}

}  // namespace headlight::text::jinja
