// Asks the terminal for its width, the environment for colours and the locale.
#include "apps/cli/program/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "headlight/text/text.h"

namespace headlight::cli {
namespace {

constexpr int64_t kUnknownWidth = 80;
constexpr int64_t kLeastWidth = 40;

bool is_set(const char* variable) {
  const char* text = std::getenv(variable);
  return text != nullptr && *text != '\0';
}

int64_t columns_of(int file) {
  winsize size{};
  if (ioctl(file, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUnknownWidth;
  return std::max<int64_t>(size.ws_col, kLeastWidth);
}

}  // namespace

bool is_dumb_terminal() {
  const char* terminal = std::getenv("TERM");
  return terminal == nullptr || std::string_view(terminal) == "dumb";
}

int64_t columns_of_errors() { return columns_of(STDERR_FILENO); }

std::string program_name() {
  if (!is_set("HEADLIGHT_STARTED_AS")) return "headlight";
  return narrate::shell_quoted(text::printable(std::getenv("HEADLIGHT_STARTED_AS")));
}

std::string in_its_name(std::string_view message) {
  constexpr std::string_view kWritten = "`headlight";
  std::string named;
  for (size_t at = 0; at < message.size();) {
    const std::string_view rest = message.substr(at);
    const size_t end = kWritten.size();
    if (rest.starts_with(kWritten) && rest.size() > end && (rest[end] == ' ' || rest[end] == '`')) {
      named += "`" + program_name();
      at += end;
    } else {
      named += message[at++];
    }
  }
  return named;
}

narrate::TextStyle style_of_output() {
  narrate::TextStyle style;
  if (!is_output_terminal()) return style;
  style.width = columns_of(STDOUT_FILENO);
  style.colors = !is_set("NO_COLOR") && !is_dumb_terminal();
  return style;
}

narrate::TextStyle style_of_document(const Arguments& arguments) {
  return arguments.has("out") ? narrate::TextStyle() : style_of_output();
}

std::string document_format(const Arguments& arguments, std::span<const std::string_view> formats) {
  const std::string out = in_small_letters(arguments.text("out").value_or(""));
  for (const std::string_view format : formats) {
    if (!arguments.has("format") && out.ends_with("." + std::string(format))) {
      return std::string(format);
    }
  }
  return arguments.choice("format", formats);
}

void check_page_has_file(const Arguments& arguments, const std::string& file) {
  if (arguments.has("out") || !is_output_terminal()) return;
  throw base::Error(base::ErrorKind::usage, "--out", "",
                    "is missing: a page is for a browser, not for a terminal: --out " +
                        narrate::shell_quoted(file));
}

int64_t columns_of_table() {
  constexpr int64_t kAnyWidth = 1 << 20;
  return is_output_terminal() ? columns_of(STDOUT_FILENO) : kAnyWidth;
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

const narrate::Catalogue& catalogue_of(const Arguments& arguments) {
  return narrate::Catalogue::of(chosen_language(arguments));
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
