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

// The values given. Reading one checks it and throws Error(usage).
class Arguments {
 public:
  // `source` is how the value was given, for errors: "--threads" or "HEADLIGHT_THREADS".
  void set(std::string_view name, std::string text, std::string source);

  bool has(std::string_view name) const { return values_.contains(name); }
  std::optional<std::string> text(std::string_view name) const;
  std::optional<int64_t> integer(std::string_view name, Range<int64_t> range) const;
  std::optional<double> real(std::string_view name, Range<double> range) const;
  // One of `choices`, or the first when none is given.
  std::string choice(std::string_view name, std::span<const std::string_view> choices) const;
  // How the value was given, or "--name" when it was not.
  std::string source(std::string_view name) const;

  const std::string& command() const { return command_; }
  void set_command(std::string_view command) { command_ = command; }

 private:
  struct Given {
    std::string text;
    std::string source;
  };
  std::string command_;
  std::map<std::string, Given, std::less<>> values_;
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

// Throws Error(usage) when both options are given.
void refuse_together(const Arguments& arguments, std::string_view option, std::string_view other);

// HEADLIGHT_<NAME> for each option that the command line left open. For a flag, 1, true, yes and on
// set it; 0, false, no, off and nothing leave it. There is none for help and version.
void read_environment(Arguments& arguments, std::span<const Option> known);

// A line per option, for help.
std::string option_table(std::span<const Option> options);

}  // namespace headlight::cli
