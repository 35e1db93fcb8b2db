// Python's two ways to put values into a text. For text's own use.
#pragma once

#include "headlight/text/jinja/callable.h"

namespace headlight::text::jinja {

// "{} and {name:>5}".format(...). Throws Error for what is not supported: attributes and items of
// arguments, and types of numbers other than d, f and x.
MarkedText formatted_braces(const MarkedText& form, const Given& given, Meter& meter);

}  // namespace headlight::text::jinja
