// The parser: one pass over the words, every mistake a sentence.
#include "apps/cli/program/arguments.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "headlight/base/base.h"
#include "headlight/io/io.h"

namespace headlight::cli {
namespace {

using base::Error;
using base::ErrorKind;

[[noreturn]] void refuse_unknown(const std::string& command, std::string_view typed,
                                 std::span<const Option> known) {
  std::vector<std::string_view> names;
  for (const Option& option : known) names.push_back(option.name);
  const std::string_view name = typed.substr(std::min(typed.find_first_not_of('-'), typed.size()));
  throw Error(ErrorKind::usage, "unknown option", io::in_quotes(typed),
              "the nearest is --" + std::string(nearest(name, names)) + "; `headlight " + command +
                  (command.empty() ? "" : " ") + "--help` lists all");
}

std::string variable_of(std::string_view name) {
  std::string variable = "HEADLIGHT_";
  for (const char c : name) {
    variable += c == '-' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return variable;
}

// What a flag's environment variable says.
bool switched_on(const std::string& variable, std::string_view text) {
  constexpr std::array<std::string_view, 4> kOn = {"1", "true", "yes", "on"};
  constexpr std::array<std::string_view, 5> kOff = {"", "0", "false", "no", "off"};
  if (std::ranges::find(kOn, text) != kOn.end()) return true;
  if (std::ranges::find(kOff, text) != kOff.end()) return false;
  throw Error(ErrorKind::usage, variable, io::in_quotes(text), "must be 1 or 0");
}

}  // namespace

std::optional<std::string> ArgumentParser::next_word(Arguments& arguments,
                                                     std::span<const Option> known) {
  while (next_ < words_.size()) {
    const std::string& word = words_[next_++];
    if (options_ended_ || word.size() < 2 || word[0] != '-') return word;
    if (word == "--") {
      options_ended_ = true;
    } else {
      read_option(arguments, known, word == "-h" ? "--help" : word);
    }
  }
  return std::nullopt;
}

void ArgumentParser::read_option(Arguments& arguments, std::span<const Option> known,
                                 const std::string& word) {
  const size_t equals = std::min(word.find('='), word.size());
  const std::string typed = word.substr(0, equals);
  std::string name = typed.starts_with("--") ? typed.substr(2) : "";
  std::ranges::replace(name, '_', '-');
  const auto option = std::ranges::find(known, name, &Option::name);
  if (option == known.end()) refuse_unknown(arguments.command(), typed, known);
  if (arguments.has(name)) throw Error(ErrorKind::usage, typed, "", "is given twice");
  std::optional<std::string> attached;
  if (equals < word.size()) attached = word.substr(equals + 1);
  arguments.set(name, {value_of(*option, std::move(attached)), "--" + name});
}

std::string ArgumentParser::value_of(const Option& option, std::optional<std::string> attached) {
  const std::string name = "--" + std::string(option.name);
  if (option.value.empty()) {
    if (attached) throw Error(ErrorKind::usage, name, io::in_quotes(*attached), "takes no value");
    return {};
  }
  // What looks like the next option is not a value; `--name=--value` is the way to mean it.
  if (!attached && next_ < words_.size() && !words_[next_].starts_with("--")) {
    attached = words_[next_++];
  }
  if (!attached || attached->empty()) {
    throw Error(ErrorKind::usage, name, "",
                "a value is missing: " + name + " " + std::string(option.value_text()));
  }
  return *std::move(attached);
}

void read_environment(Arguments& arguments, std::span<const Option> known) {
  for (const Option& option : known) {
    if (arguments.has(option.name) || option.name == "help" || option.name == "version") continue;
    const std::string variable = variable_of(option.name);
    const char* text = std::getenv(variable.c_str());
    if (text == nullptr) continue;
    const bool is_flag = option.value.empty();
    if (is_flag ? switched_on(variable, text) : *text != '\0') {
      arguments.set(option.name, {is_flag ? "" : text, variable, Level::environment});
    }
  }
}

std::vector<recipes::HeadName> head_names(const Arguments& arguments, std::string_view option) {
  const auto names = arguments.text(option);
  if (!names) return {};
  try {
    return recipes::parse_head_names(*names, arguments.source(option));
  } catch (const Error& error) {
    throw error.with_kind(ErrorKind::usage);
  }
}

std::string option_table(std::span<const Option> options) {
  constexpr size_t kHelpColumn = 27;
  std::string table;
  for (const Option& option : options) {
    std::string line = "  --" + std::string(option.name);
    if (!option.value.empty()) line.append(" ").append(option.value_text());
    if (line.size() >= kHelpColumn) {  // the help begins a line of its own
      table.append(line).append("\n");
      line.clear();
    }
    line.resize(kHelpColumn, ' ');
    table.append(line).append(option.help).append("\n");
  }
  return table;
}

}  // namespace headlight::cli
