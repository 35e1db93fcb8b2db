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

// "learning_rate: --learning-rate X", where files and other programs spell it so.
std::string spelled(const std::string& command, const Option& option) {
  const std::string key = recipes::key_in_files(option.name);
  const bool is_key = command == "train" && key != option.name;
  return (is_key ? key + ": --" : "--") + std::string(option.name) +
         (option.value.empty() ? "" : " ") + std::string(option.value_text());
}

// What a habit from another program means here, or the nearest option; empty when neither helps.
std::string option_hint(const std::string& command, std::string_view typed,
                        std::span<const Option> known) {
  const recipes::HabitAnswer habit = recipes::answer_to_option(command, typed);
  if (!habit.sentence.empty()) return std::string(habit.sentence) + "; ";
  const auto meant = std::ranges::find(known, habit.option, &Option::name);
  if (meant != known.end()) return "here it is " + spelled(command, *meant) + "; ";
  std::vector<std::string_view> names;
  for (const Option& option : known) names.push_back(option.name);
  const std::string name =
      recipes::key_of(typed.substr(std::min(typed.find_first_not_of('-'), typed.size())));
  const auto near = base::nearest(name, names);
  return near ? "the nearest is --" + std::string(*near) + "; " : "";
}

[[noreturn]] void refuse_unknown(const std::string& command, std::string_view typed,
                                 std::span<const Option> known) {
  throw Error(ErrorKind::usage, "unknown option", io::in_quotes(typed),
              option_hint(command, typed, known) + "`headlight " + command +
                  (command.empty() ? "" : " ") + "--help` lists all");
}

std::string variable_of(std::string_view name) {
  std::string variable = "HEADLIGHT_";
  for (const char c : name) {
    variable += c == '-' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return variable;
}

// The short forms that most programs have.
std::string long_form(const Arguments& arguments, const std::string& word) {
  if (word == "-h") return "--help";
  const bool is_version = word == "-V" || word == "-v";
  return is_version && arguments.command().empty() ? "--version" : word;
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
  option_before_ = nullptr;
  while (next_ < words_.size()) {
    const std::string& word = words_[next_++];
    if (options_ended_ || word.size() < 2 || word[0] != '-') return word;
    if (word == "--") {
      options_ended_ = true;
      option_before_ = nullptr;
    } else {
      read_option(arguments, known, long_form(arguments, word));
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
  option_before_ = attached ? nullptr : &*option;
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
  // A text may be empty; a name or a number may not.
  if (!attached || (attached->empty() && option.value != "TEXT")) {
    throw Error(ErrorKind::usage, name, "",
                "a value is missing: " + name + " " + std::string(option.value_text()));
  }
  return *std::move(attached);
}

std::string ArgumentParser::text_so_far() const {
  const size_t value = option_before_ == nullptr || option_before_->value.empty() ? 1 : 2;
  std::string text;
  for (size_t at = next_ - value; at < words_.size(); ++at) {
    if (at >= next_ && words_[at].starts_with("--")) break;
    text.append(text.empty() ? "" : " ").append(words_[at]);
  }
  return text;
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

std::vector<heads::HeadName> head_names(const Arguments& arguments, std::string_view option) {
  const auto names = arguments.text(option);
  if (!names) return {};
  try {
    return heads::parse_head_names(*names, arguments.source(option));
  } catch (const Error& error) {
    throw error.with_kind(ErrorKind::usage);
  }
}

}  // namespace headlight::cli
