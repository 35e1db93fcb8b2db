// Asks the terminal for its width, the environment for colours and the locale.
#include "apps/cli/program/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace headlight::cli {
namespace {

constexpr int64_t kUnknownWidth = 80;
constexpr int64_t kLeastWidth = 40;

bool is_set(const char* variable) {
  const char* text = std::getenv(variable);
  return text != nullptr && *text != '\0';
}

bool is_dumb() {
  const char* terminal = std::getenv("TERM");
  return terminal == nullptr || std::string_view(terminal) == "dumb";
}

}  // namespace

narrate::TextStyle style_of_output() {
  narrate::TextStyle style;
  if (isatty(STDOUT_FILENO) != 1) return style;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    style.width = std::max<int64_t>(size.ws_col, kLeastWidth);
  } else {
    style.width = kUnknownWidth;
  }
  style.colors = !is_set("NO_COLOR") && !is_dumb();
  return style;
}

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

const std::string& language_choices() {
  static const std::string kChoices = [] {
    std::string choices;
    for (const std::string_view code : narrate::languages()) {
      choices.append(choices.empty() ? "" : "|").append(code);
    }
    return choices;
  }();
  return kChoices;
}

}  // namespace headlight::cli
