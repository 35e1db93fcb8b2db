// The parts of the filters' table. For text's own use.
#pragma once

#include <map>
#include <string_view>

#include "headlight/text/jinja/library.h"

namespace headlight::text::jinja {

using Filter = Value (*)(Render&, const Value&, Given);
using Filters = std::map<std::string_view, Filter>;

const Filters& text_filters();
const Filters& number_filters();
const Filters& sequence_filters();

// What stands at "role" or "function.name" of a value.
Value at_path(Render& render, const Value& value, const Value& path);
// What is compared where large and small letters are the same.
Value without_case(const Value& value, Meter& meter);

}  // namespace headlight::text::jinja
