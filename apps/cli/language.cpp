// From what is asked for, or from the locale, to a language of the catalogue.
#include "apps/cli/language.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "headlight/narrate/narrate.h"

namespace headlight::cli {

std::string chosen_language(const Arguments& arguments) {
  if (const auto asked = arguments.text("lang")) return *asked;
  for (const char* variable : {"LC_ALL", "LC_MESSAGES", "LANG"}) {
    const char* locale = std::getenv(variable);
    if (locale == nullptr || *locale == '\0') continue;
    // "tr" of "tr_TR.UTF-8".
    const std::string_view name = locale;
    const std::string_view language = name.substr(0, name.find_first_of("_.@"));
    const auto& known = narrate::languages();
    return std::ranges::find(known, language) == known.end() ? "en" : std::string(language);
  }
  return "en";
}

}  // namespace headlight::cli
