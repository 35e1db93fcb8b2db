// Who reads: the terminal behind standard output, and the language of explanations.
#pragma once

#include <string>

#include "apps/cli/program/arguments.h"
#include "headlight/narrate/narrate.h"

namespace headlight::cli {

// 80 columns where standard output is no terminal or does not say; colours only on a terminal that
// has them, and not with NO_COLOR.
narrate::TextStyle style_of_output();

// --lang or its variable; or else that of the locale (LC_ALL, LC_MESSAGES, LANG: the first that is
// set) where it is one of the catalogue's; or else English.
std::string chosen_language(const Arguments& arguments);
// "en|tr|az|ko": all there are.
const std::string& language_choices();

}  // namespace headlight::cli
