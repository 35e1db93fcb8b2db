// Options and their values. A command declares its options as a table; the table gives the parser,
// the help and the environment variables. In option names `_` and `-` are equal; `--name value` and
// `--name=value` too.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/cli/numbers.h"

namespace headlight::cli {

struct Option {
  std::string_view name;   // without the dashes, e.g. "kv-heads"
  std::string_view value;  // what help calls the value, e.g. "N"; empty: a flag
  std::string_view help;
};

// Where a value comes from, the weightiest first.
enum class Level { command_line, environment, file, run, preset };

struct GivenValue {
  std::string text;
  std::string source;  // how it was given, for errors: "--threads" or "HEADLIGHT_THREADS"
  Level level = Level::command_line;
};

// The values given. Reading one checks it and throws Error(usage).
class Arguments {
 public:
  void set(std::string_view name, GivenValue value);
  // As if it had not been given.
  void drop(std::string_view name);

  bool has(std::string_view name) const { return values_.contains(name); }
  std::optional<std::string> text(std::string_view name) const;
  std::optional<int64_t> integer(std::string_view name, Range<int64_t> range) const;
  std::optional<double> real(std::string_view name, Range<double> range) const;
  // One of `choices`, or the first when none is given.
  std::string choice(std::string_view name, std::span<const std::string_view> choices) const;
  // How the value was given, or "--name" when it was not.
  std::string source(std::string_view name) const;
  // Where it was given; it must have been.
  Level level(std::string_view name) const { return values_.find(name)->second.level; }

  const std::string& command() const { return command_; }
  void set_command(std::string_view command) { command_ = command; }

 private:
  std::string command_;
  std::map<std::string, GivenValue, std::less<>> values_;
};

// Takes words off the front of the command line.
class ArgumentParser {
 public:
  explicit ArgumentParser(std::span<char* const> words) : words_(words.begin(), words.end()) {}

  // Reads options of `known` into `arguments` up to the next word that is not an option, which is
  // returned; nothing at the end.
  std::optional<std::string> next_word(Arguments& arguments, std::span<const Option> known);

 private:
  void read_option(Arguments& arguments, std::span<const Option> known, const std::string& word);
  std::string value_of(const Option& option, std::optional<std::string> attached);

  std::vector<std::string> words_;
  size_t next_ = 0;
  bool options_ended_ = false;  // after a lone "--"
};

// For two options that exclude each other: the one of less weight is dropped, so that what is typed
// beats a variable. On the same level they contradict each other: throws Error(usage) for `option`,
// Error(bad_input) when a file says so; `why` is that it has no meaning with the other, unless
// given.
void exclude(Arguments& arguments, std::string_view option, std::string_view other,
             std::string_view why = {});
// An option that asks for another: without it, what is typed is Error(usage), ended by `what_for`,
// and a variable is dropped.
void require_option(Arguments& arguments, std::string_view option, std::string_view needed,
                    std::string_view what_for);

// HEADLIGHT_<NAME> for each option that the command line left open. For a flag, 1, true, yes and on
// set it; 0, false, no, off and nothing leave it. There is none for help and version.
void read_environment(Arguments& arguments, std::span<const Option> known);

// A line per option, for help.
std::string option_table(std::span<const Option> options);

}  // namespace headlight::cli
