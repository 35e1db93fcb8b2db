// Texts in quotes, as Python escapes them. For text's own use.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headlight::text::jinja {

// What stands between the quotes, without its escapes: \n, \x41, \u00e9, \101 and the like; an
// unknown escape stays as it is. Nothing for \N{...}, for cut escapes and for what is no code
// point.
std::optional<std::string> string_literal(std::string_view text);

}  // namespace headlight::text::jinja
