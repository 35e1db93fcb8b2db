// Options and their values. A command declares its options as a table; the table gives the parser,
// the help and the environment variables. In option names `_` and `-` are equal; `--name value` and
// `--name=value` too.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headlight/heads/heads.h"
#include "headlight/recipes/recipes.h"

namespace headlight::cli {

struct Option {
  std::string_view name;   // without the dashes, e.g. "kv-heads"
  std::string_view value;  // what help calls the value, e.g. "N"; empty: a flag; TEXT may be empty
  std::string_view help;
  // Asked for the value's name where it is not known beforehand, as "en|tr|az|ko"; null: it is.
  const std::string& (*choices)() = nullptr;

  std::string_view value_text() const { return choices == nullptr ? value : choices(); }
};

using recipes::exclude;
using recipes::fixed_text;
using recipes::in_small_letters;
using recipes::integer_of;
using recipes::integers_of;
using recipes::Level;
using recipes::Range;
using recipes::require_other;
using recipes::split_words;

// The values given on the command line or by environment variables.
class Arguments : public recipes::GivenValues {
 public:
  Arguments() : GivenValues("--") {}

  const std::string& command() const { return command_; }
  void set_command(std::string_view command) { command_ = command; }
  // Operands, in their order.
  const std::vector<std::string>& words() const { return words_; }
  void add_word(std::string word) { words_.push_back(std::move(word)); }

 private:
  std::string command_;
  std::vector<std::string> words_;
};

// Takes words off the front of the command line.
class ArgumentParser {
 public:
  explicit ArgumentParser(std::span<char* const> words) : words_(words.begin(), words.end()) {}

  // Reads options of `known` into `arguments` up to the next word that is not an option, which is
  // returned; nothing at the end.
  std::optional<std::string> next_word(Arguments& arguments, std::span<const Option> known);

  // The option right before the word that next_word() has returned, a flag or one whose value was a
  // word of its own; null: there is none. The word may have been meant for it.
  const Option* option_before() const { return option_before_; }
  // That option's value, the word, and all up to the next option, with blanks between them.
  std::string text_so_far() const;

 private:
  void read_option(Arguments& arguments, std::span<const Option> known, const std::string& word);
  std::string value_of(const Option& option, std::optional<std::string> attached);

  std::vector<std::string> words_;
  size_t next_ = 0;
  bool options_ended_ = false;  // after a lone "--"
  const Option* option_before_ = nullptr;
};

// HEADLIGHT_<NAME> for each option that the command line left open. For a flag, 1, true, yes and on
// set it; 0, false, no, off and nothing leave it. There is none for help and version.
void read_environment(Arguments& arguments, std::span<const Option> known);

// Names of heads with commas between them, "decoder.0.self.3,encoder.1.self.0"; none when the
// option is not given. Throws Error(usage).
std::vector<heads::HeadName> head_names(const Arguments& arguments, std::string_view option);

}  // namespace headlight::cli
