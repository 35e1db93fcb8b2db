// + - * / and their like, `in`, comparisons and slices. For text's own use.
#pragma once

#include <string_view>

#include "headlight/text/jinja/value.h"

namespace headlight::text::jinja {

// All throw Error for operands that Python refuses, and for whole numbers beyond 64 bits.
Value binary(std::string_view sign, const Value& left, const Value& right, Meter& meter);
Value unary(std::string_view sign, const Value& value, Meter& meter);
// "==", "<", "in", "not in" and so on.
bool compared(std::string_view sign, const Value& left, const Value& right, Meter& meter);
bool contains(const Value& container, const Value& value, Meter& meter);

// value[begin:end:step]; None where a bound is left out.
struct Bounds {
  Value begin = {};
  Value end = {};
  Value step = {};
};
Value sliced(const Value& value, const Bounds& bounds, Meter& meter);

// "%s and %d" % values.
MarkedText formatted_percent(const MarkedText& form, const Values& values, Meter& meter);
// < > & ' " as HTML writes them.
MarkedText escaped_html(const MarkedText& text, Meter& meter);

}  // namespace headlight::text::jinja
