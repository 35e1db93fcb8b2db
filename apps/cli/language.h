// The language of explanations.
#pragma once

#include <string>

#include "apps/cli/arguments.h"

namespace headlight::cli {

// --lang or its variable; or else that of the locale (LC_ALL, LC_MESSAGES, LANG: the first that is
// set) where it is one of the catalogue's; or else English.
std::string chosen_language(const Arguments& arguments);

}  // namespace headlight::cli
