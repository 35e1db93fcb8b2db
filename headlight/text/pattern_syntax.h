// Regular expressions as tokenizer.json writes them, checked and written for PCRE2. For text's own
// use.
#pragma once

#include <string>
#include <string_view>

namespace headlight::text {

// The files' expressions are Oniguruma's (Ruby's syntax). What means the same here is written so
// that PCRE2 takes it in that sense; what may not throws Error(usage) that says what it is. Behind
// each choice that a match may make stands a callout, (?C), for counting them.
std::string pcre_of(std::string_view expression);

}  // namespace headlight::text
