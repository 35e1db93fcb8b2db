// Values of templates: Python's, as far as templates meet them. For text's own use.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "headlight/io/io.h"
#include "headlight/text/jinja/meter.h"
#include "headlight/text/marked_text.h"

namespace headlight::text::jinja {

class Value;
using Values = std::vector<Value>;

// A text; `is_safe`: what jinja calls Markup, which escapes what is added to it.
struct String {
  MarkedText text = {};
  bool is_safe = false;
};

// What Python tells apart although all of them are values in a row.
enum class SequenceKind { list, tuple, range, keys, values, items, iterator };

struct Sequence;
struct Dict;
struct Absence;
struct Namespace;
struct Callable;  // a macro, a method of a value, or a function
struct Loop;      // `loop` inside a for; the render owns it

// A value, cheap to copy: what is large is shared and never changed.
class Value {
 public:
  using Undefined = std::shared_ptr<const Absence>;
  struct None {
    bool operator==(const None&) const = default;
  };
  using StringHandle = std::shared_ptr<const String>;
  using SequenceHandle = std::shared_ptr<const Sequence>;
  using DictHandle = std::shared_ptr<const Dict>;
  using CallableHandle = std::shared_ptr<const Callable>;

  Value() : value_(None()) {}
  explicit Value(bool value) : value_(value) {}
  explicit Value(int64_t value) : value_(value) {}
  explicit Value(double value) : value_(value) {}
  explicit Value(MarkedText text, bool is_safe = false)
      : value_(std::make_shared<const String>(String{std::move(text), is_safe})) {}
  explicit Value(std::string_view text) : Value(MarkedText{std::string(text)}) {}
  explicit Value(const char* text) : Value(std::string_view(text)) {}
  explicit Value(SequenceHandle sequence) : value_(std::move(sequence)) {}
  explicit Value(DictHandle dict) : value_(std::move(dict)) {}
  explicit Value(CallableHandle callable) : value_(std::move(callable)) {}
  explicit Value(Namespace* members) : value_(members) {}
  explicit Value(Loop* loop) : value_(loop) {}

  static Value undefined(std::string why);

  bool is_undefined() const { return std::holds_alternative<Undefined>(value_); }
  bool is_none() const { return std::holds_alternative<None>(value_); }
  const Absence* absence() const { return pointed<Undefined>(); }
  const bool* boolean() const { return std::get_if<bool>(&value_); }
  const int64_t* integer() const { return std::get_if<int64_t>(&value_); }
  const double* real() const { return std::get_if<double>(&value_); }
  const String* string() const { return pointed<StringHandle>(); }
  const MarkedText* text() const { return string() ? &string()->text : nullptr; }
  const Sequence* sequence() const { return pointed<SequenceHandle>(); }
  const Dict* dict() const { return pointed<DictHandle>(); }
  const Callable* callable() const { return pointed<CallableHandle>(); }
  Namespace* members() const { return plain<Namespace*>(); }
  Loop* loop() const { return plain<Loop*>(); }

  bool is_sequence(SequenceKind kind) const;
  // Numbers as Python counts them: True is 1.
  bool is_number() const { return boolean() || integer() || real(); }
  // A whole number or a boolean as one.
  bool is_whole() const { return boolean() || integer(); }
  int64_t whole() const { return boolean() ? (*boolean() ? 1 : 0) : *integer(); }
  double number() const { return real() ? *real() : static_cast<double>(whole()); }

  // Whether both are the same object, as `is` asks.
  bool is_same(const Value& other) const;

 private:
  template <class Handle>
  auto pointed() const -> decltype(std::declval<Handle>().get()) {
    const Handle* handle = std::get_if<Handle>(&value_);
    return handle ? handle->get() : nullptr;
  }
  template <class Pointer>
  Pointer plain() const {
    const Pointer* pointer = std::get_if<Pointer>(&value_);
    return pointer ? *pointer : nullptr;
  }

  std::variant<None, Undefined, bool, int64_t, double, StringHandle, SequenceHandle, DictHandle,
               CallableHandle, Namespace*, Loop*>
      value_;
};

struct Sequence {
  SequenceKind kind = SequenceKind::list;
  Values items = {};
  int depth = 1;             // levels of nesting, its own included
  mutable size_t taken = 0;  // of an iterator: what has been read, and is not read again
};

// Members in their order; keys are texts, numbers, booleans, None or tuples of these.
struct Dict {
  std::vector<std::pair<Value, Value>> members = {};
  int depth = 1;
};

// Why a value is undefined, for the error of who uses it.
struct Absence {
  std::string why;
};

// namespace(): members that a template may set. The render owns it.
struct Namespace {
  std::vector<std::pair<std::string, Value>> members = {};
};

inline bool Value::is_sequence(SequenceKind kind) const {
  return sequence() && sequence()->kind == kind;
}

// Nested at most this deep: what walks through a value recurses.
inline constexpr int kMostLevels = 100;

// Python's name of its type: "str", "NoneType".
std::string type_name(const Value& value);
// Throws Error for more levels than kMostLevels.
Value make_sequence(SequenceKind kind, Values items, Meter& meter);
Value make_dict(std::vector<std::pair<Value, Value>> members, Meter& meter);
// Of a JSON document; its texts and keys are marked as given.
Value given_value(const io::Json& json, Meter& meter);

bool is_true(const Value& value);
// Python's ==. Never an error.
bool equal(const Value& left, const Value& right, Meter& meter);
// Negative, 0 or positive. Throws Error for what Python does not order.
int compare(const Value& left, const Value& right, Meter& meter);
// A member of a dict; nullptr: none.
const Value* find(const Dict& dict, const Value& key, Meter& meter);
const Value* find(const Dict& dict, std::string_view key, Meter& meter);
// Throws Error unless it may be a key.
void check_key(const Value& key, Meter& meter);

// All that a for loop would see: an iterator is empty afterwards. Throws Error for what cannot be
// iterated.
Values items_of(const Value& value, Meter& meter);
bool is_iterable(const Value& value);
// Throws Error for what has no length.
int64_t length_of(const Value& value, Meter& meter);

// str() and repr().
MarkedText text_of(const Value& value, Meter& meter);
MarkedText representation(const Value& value, Meter& meter);
// As Python writes a float.
std::string real_text(double value);

struct JsonStyle {
  bool ascii = false;  // escapes what is not
  bool sorts_keys = false;
  bool has_indent = false;
  std::string indent = {};  // of one level
  MarkedText between = {", "};
  MarkedText after_key = {": "};
};
MarkedText json_text(const Value& value, const JsonStyle& style, Meter& meter);

}  // namespace headlight::text::jinja
