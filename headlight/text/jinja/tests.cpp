// Tests: what stands after `is`.
#include <algorithm>
#include <map>

#include "headlight/text/jinja/letters.h"
#include "headlight/text/jinja/library.h"
#include "headlight/text/jinja/operators.h"

namespace headlight::text::jinja {
namespace {

using Test = bool (*)(Render&, const Value&, Given);

void take_nothing(Given given, Meter& meter) {
  if (!given.positional.empty() || !given.named.empty()) {
    meter.refuse("this test takes no arguments");
  }
}

Value other_of(Given given, Meter& meter) {
  return Bound(std::move(given), "the test", {"other"}, meter).needed(0);
}

template <bool (*Check)(const Value&)>
bool plain(Render& render, const Value& value, Given given) {
  take_nothing(std::move(given), render.meter());
  return Check(value);
}

template <char First, char Second = '\0'>
bool ordered(Render& render, const Value& value, Given given) {
  const char sign[] = {First, Second};
  return compared(std::string_view(sign, Second == '\0' ? 1 : 2), value,
                  other_of(std::move(given), render.meter()), render.meter());
}

bool is_defined(const Value& value) { return !value.is_undefined(); }
bool is_undefined(const Value& value) { return value.is_undefined(); }
bool is_none(const Value& value) { return value.is_none(); }
bool is_boolean(const Value& value) { return value.boolean(); }
bool is_false(const Value& value) { return value.boolean() && !*value.boolean(); }
bool is_exactly_true(const Value& value) { return value.boolean() && *value.boolean(); }
bool is_integer(const Value& value) { return value.integer(); }
bool is_float(const Value& value) { return value.real(); }
bool is_string(const Value& value) { return value.text(); }
bool is_mapping(const Value& value) { return value.dict(); }
bool is_number(const Value& value) { return value.is_number(); }
bool is_escaped(const Value& value) { return value.string() && value.string()->is_safe; }
bool is_callable(const Value& value) {
  return value.callable() || value.loop() || value.is_undefined();
}

bool is_sequence(const Value& value) {
  const Sequence* sequence = value.sequence();
  if (!sequence) return value.text() || value.dict() || value.is_undefined();
  return sequence->kind == SequenceKind::list || sequence->kind == SequenceKind::tuple ||
         sequence->kind == SequenceKind::range;
}

bool is_lower(Render& render, const Value& value, Given given) {
  take_nothing(std::move(given), render.meter());
  return is_lower_text(text_of(value, render.meter()).bytes);
}

bool is_upper(Render& render, const Value& value, Given given) {
  take_nothing(std::move(given), render.meter());
  return is_upper_text(text_of(value, render.meter()).bytes);
}

bool leaves(Render& render, const Value& value, int64_t divisor, int64_t rest) {
  return equal(binary("%", value, Value(divisor), render.meter()), Value(rest), render.meter());
}

bool is_odd(Render& render, const Value& value, Given given) {
  take_nothing(std::move(given), render.meter());
  return leaves(render, value, 2, 1);
}

bool is_even(Render& render, const Value& value, Given given) {
  take_nothing(std::move(given), render.meter());
  return leaves(render, value, 2, 0);
}

bool is_divisible(Render& render, const Value& value, Given given) {
  Meter& meter = render.meter();
  const Value divisor = other_of(std::move(given), meter);
  return equal(binary("%", value, divisor, meter), Value(int64_t{0}), meter);
}

bool is_same(Render& render, const Value& value, Given given) {
  return value.is_same(other_of(std::move(given), render.meter()));
}

bool is_in(Render& render, const Value& value, Given given) {
  return contains(other_of(std::move(given), render.meter()), value, render.meter());
}

bool is_filter(Render& render, const Value& value, Given given) {
  take_nothing(std::move(given), render.meter());
  return value.text() && has_filter(value.text()->bytes);
}

bool is_test(Render& render, const Value& value, Given given) {
  take_nothing(std::move(given), render.meter());
  return value.text() && has_test(value.text()->bytes);
}

const std::map<std::string_view, Test>& tests() {
  static const std::map<std::string_view, Test> table = {
      {"defined", plain<is_defined>},
      {"undefined", plain<is_undefined>},
      {"none", plain<is_none>},
      {"boolean", plain<is_boolean>},
      {"false", plain<is_false>},
      {"true", plain<is_exactly_true>},
      {"integer", plain<is_integer>},
      {"float", plain<is_float>},
      {"string", plain<is_string>},
      {"mapping", plain<is_mapping>},
      {"number", plain<is_number>},
      {"sequence", plain<is_sequence>},
      {"iterable", plain<is_iterable>},
      {"callable", plain<is_callable>},
      {"escaped", plain<is_escaped>},
      {"lower", is_lower},
      {"upper", is_upper},
      {"odd", is_odd},
      {"even", is_even},
      {"divisibleby", is_divisible},
      {"sameas", is_same},
      {"in", is_in},
      {"filter", is_filter},
      {"test", is_test},
      {"eq", ordered<'=', '='>},
      {"equalto", ordered<'=', '='>},
      {"==", ordered<'=', '='>},
      {"ne", ordered<'!', '='>},
      {"!=", ordered<'!', '='>},
      {"gt", ordered<'>'>},
      {"greaterthan", ordered<'>'>},
      {">", ordered<'>'>},
      {"ge", ordered<'>', '='>},
      {">=", ordered<'>', '='>},
      {"lt", ordered<'<'>},
      {"lessthan", ordered<'<'>},
      {"<", ordered<'<'>},
      {"le", ordered<'<', '='>},
      {"<=", ordered<'<', '='>},
  };
  return table;
}

}  // namespace

bool has_test(std::string_view name) { return tests().contains(name); }

bool apply_test(Render& render, const std::string& name, const Value& value, Given given) {
  const auto found = tests().find(name);
  if (found == tests().end()) {
    render.meter().refuse("there is no test " + io::in_quotes(name));
  }
  return found->second(render, value, std::move(given));
}

}  // namespace headlight::text::jinja
