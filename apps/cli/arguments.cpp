// The parser: one pass over the words, every mistake a sentence.
#include "apps/cli/arguments.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "apps/cli/words.h"
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

void Arguments::set(std::string_view name, GivenValue value) {
  values_[std::string(name)] = std::move(value);
}

void Arguments::drop(std::string_view name) {
  const auto found = values_.find(name);
  if (found != values_.end()) values_.erase(found);
}

std::optional<std::string> Arguments::text(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return std::nullopt;
  return found->second.text;
}

std::string Arguments::source(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? "--" + std::string(name) : found->second.source;
}

std::optional<int64_t> Arguments::integer(std::string_view name, Range<int64_t> range) const {
  const auto given = text(name);
  if (!given) return std::nullopt;
  return integer_of(source(name), *given, range);
}

std::optional<double> Arguments::real(std::string_view name, Range<double> range) const {
  const auto given = text(name);
  if (!given) return std::nullopt;
  return real_of(source(name), *given, range);
}

std::string Arguments::choice(std::string_view name,
                              std::span<const std::string_view> choices) const {
  const auto given = text(name);
  if (!given) return std::string(choices.front());
  if (std::ranges::find(choices, *given) != choices.end()) return *given;
  std::string all;
  for (const std::string_view choice : choices) all.append(all.empty() ? "" : ", ").append(choice);
  throw Error(
      ErrorKind::usage, source(name), io::in_quotes(*given),
      "must be one of " + all + "; the nearest is " + std::string(nearest(*given, choices)));
}

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
                "a value is missing: " + name + " " + std::string(option.value));
  }
  return *std::move(attached);
}

void exclude(Arguments& arguments, std::string_view option, std::string_view other,
             std::string_view why) {
  if (!arguments.has(option) || !arguments.has(other)) return;
  const Level level = arguments.level(option), beside = arguments.level(other);
  if (level != beside) return arguments.drop(level > beside ? option : other);
  throw Error(level < Level::file ? ErrorKind::usage : ErrorKind::bad_input,
              arguments.source(option), "",
              why.empty() ? "has no meaning with " + arguments.source(other) : std::string(why));
}

void require_option(Arguments& arguments, std::string_view option, std::string_view needed,
                    std::string_view what_for) {
  if (!arguments.has(option) || arguments.has(needed)) return;
  if (arguments.level(option) != Level::command_line) return arguments.drop(option);
  throw Error(ErrorKind::usage, arguments.source(option), "",
              "needs --" + std::string(needed) + ", " + std::string(what_for));
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

std::string option_table(std::span<const Option> options) {
  constexpr size_t kHelpColumn = 27;
  std::string table;
  for (const Option& option : options) {
    std::string line = "  --" + std::string(option.name);
    if (!option.value.empty()) line.append(" ").append(option.value);
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
