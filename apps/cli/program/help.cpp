// Help: examples first, then options; laid out for the terminal, in the name the program was
// started by.
#include <algorithm>
#include <array>

#include "apps/cli/program/program.h"
#include "apps/cli/program/terminal.h"
#include "headlight/text/text.h"

namespace headlight::cli {
namespace {

constexpr std::array<Option, 8> kGeneralOptions = {{
    {"threads", "N", "threads to compute with (default: the cores this process may use)"},
    {"seed", "N", "where random numbers start (default: 0; first minute, explain, lesson: 1)"},
    {"json", "", "print one JSON document"},
    {"quiet", "", "nothing on standard error but errors"},
    {"lang", "CODE",
     "language of explanations (default: a lesson's own; or else the locale's, or en)",
     language_choices},
    {"simd", "NAME", "use no instruction set above this one: avx512, avx2, sse4, scalar"},
    {"help", "", "show this"},
    {"version", "", "show the version"},
}};

constexpr std::string_view kOverview =
    R"(Headlight: train, run and look inside multi-head-attention models on CPUs.

  headlight
      the first minute: a tiny model learns, and shows how it works; then the
      studio in the browser, unless --no-serve is given
  headlight train --task lm --data text.txt --out model
      a GPT on your own text
  headlight generate model --prompt "Once"
      what it writes
  headlight translate thrones --text "When you play the game of thrones"
      a model that comes with it
  headlight COMMAND --help
      what a command can do, examples first
)";

int64_t help_width() {
  constexpr int64_t kWidest = 80;
  return std::min(kWidest, style_of_output().width);
}

// A command of an example as it is to be typed.
std::string typed_command(std::string_view line) {
  constexpr std::string_view kWritten = "headlight";
  std::string command(line);
  for (size_t at = command.find(kWritten); at != std::string::npos;
       at = command.find(kWritten, at + 1)) {
    const bool begins = at == 0 || command.substr(0, at).ends_with("| ");
    if (begins) command.replace(at, kWritten.size(), program_name());
  }
  return command;
}

// Lines that begin with two blanks are commands, those with six below them say what they do, and
// those without are paragraphs; both are broken anew. All others stay as they are.
std::string laid_out(std::string_view text) {
  const int64_t width = help_width();
  std::string result;
  std::string paragraph;
  size_t indent = 0;  // of the paragraph
  const auto end_paragraph = [&] {
    result += narrate::wrapped(in_its_name(paragraph), width, std::string(indent, ' '));
    paragraph.clear();
  };
  for (const std::string& line : split_words(text, '\n')) {
    const size_t blanks = std::min(line.find_first_not_of(' '), line.size());
    const bool is_prose = !line.empty() && (blanks == 0 || blanks == 6);
    if (!is_prose || blanks != indent) end_paragraph();
    if (is_prose) {
      paragraph.append(paragraph.empty() ? "" : " ").append(line.substr(blanks));
      indent = blanks;
    } else if (blanks == 2) {
      result += narrate::wrapped_command(typed_command(line.substr(blanks)), width, "  ");
    } else {
      result += line + "\n";
    }
  }
  end_paragraph();
  if (result.ends_with("\n\n")) result.pop_back();
  return result;
}

// Names in one column, what they are in another, which is wrapped; on narrow terminals below.
std::string name_table(std::span<const std::pair<std::string, std::string_view>> rows,
                       size_t column) {
  constexpr int64_t kNarrow = 60;
  const int64_t width = help_width();
  const bool is_narrow = width < kNarrow;
  const std::string indent(is_narrow ? 6 : column, ' ');
  std::string table;
  for (const auto& [name, meaning] : rows) {
    const std::string line = "  " + name;
    std::string lines = narrate::wrapped(meaning, width, indent);
    // Beside the name where there is room for it.
    if (!is_narrow && line.size() + 2 <= column) {
      table += line + lines.substr(line.size());
    } else {
      table += line + "\n" + lines;
    }
  }
  return table;
}

std::string option_table(std::span<const Option> options) {
  std::vector<std::pair<std::string, std::string_view>> rows;
  for (const Option& option : options) {
    std::string name = "--" + std::string(option.name);
    if (!option.value.empty()) name.append(" ").append(option.value_text());
    rows.emplace_back(std::move(name), option.help);
  }
  return name_table(rows, 27);
}

}  // namespace

std::span<const Option> general_options() { return kGeneralOptions; }

std::string overview(std::span<const Command* const> commands) {
  std::vector<std::pair<std::string, std::string_view>> rows;
  for (const Command* command : commands) {
    rows.emplace_back(std::string(command->name), command->summary);
  }
  return laid_out(kOverview) + "\nUsage: " + program_name() + " COMMAND [OPTIONS]\n\nCommands:\n" +
         name_table(rows, 13) + "\nOptions of every command:\n" + option_table(kGeneralOptions) +
         "\n" +
         narrate::wrapped(
             "An option --some-name can also be set by the variable "
             "HEADLIGHT_SOME_NAME; the command line wins.",
             help_width());
}

std::string help_of(const Command& command) {
  std::string text = narrate::wrapped(
      program_name() + " " + std::string(command.name) + ": " + std::string(command.summary),
      help_width());
  text.append("\nExamples:\n").append(laid_out(command.examples));
  if (!command.parts.empty()) {
    std::vector<std::pair<std::string, std::string_view>> rows;
    for (const Command* part : command.parts)
      rows.emplace_back(std::string(part->last_name()), part->summary);
    text.append("\nCommands:\n").append(name_table(rows, 13));
  }
  if (!command.options.empty()) {
    text.append("\nOptions:\n").append(option_table(command.options));
  }
  return text.append("\nOptions of every command:\n").append(option_table(kGeneralOptions));
}

}  // namespace headlight::cli
