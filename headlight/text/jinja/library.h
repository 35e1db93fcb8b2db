// What templates find ready: filters, tests, functions, and the methods of texts, lists and dicts.
// For text's own use.
#pragma once

#include <string>
#include <string_view>

#include "headlight/text/jinja/render.h"

namespace headlight::text::jinja {

bool has_filter(std::string_view name);
Value apply_filter(Render& render, const std::string& name, const Value& value, Given given);

bool has_test(std::string_view name);
bool apply_test(Render& render, const std::string& name, const Value& value, Given given);

bool has_function(std::string_view name);
Value call_function(Render& render, const std::string& name, Given given);

// Whether Python's type has a method, or another attribute, of this name.
bool has_method(const Value& value, std::string_view name);
// Whether it changes its list or dict, which templates may not do.
bool is_changing_method(const Value& value, std::string_view name);
Value call_method(Render& render, const Value& receiver, const std::string& name, Given given);

}  // namespace headlight::text::jinja
