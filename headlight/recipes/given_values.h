// Values that were given for keys, as text: typed, in a request, in a file or by a preset. Each
// knows where it comes from, so that a mistake is told where it was made and what weighs more wins.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "headlight/recipes/typed_words.h"

namespace headlight::recipes {

// Where a value comes from, the weightiest first. `request`: a command line, a call, an HTTP body.
enum class Level { request, environment, file, run, preset };

struct GivenValue {
  std::string text;
  std::string source;  // how it was given, for errors: "--threads" or "HEADLIGHT_THREADS"
  Level level = Level::request;
};

// Keys are written with dashes: "max-iters". Reading a value checks it and throws Error(usage).
class GivenValues {
 public:
  // `prefix`: what stands before a key where people write it: "--" on a command line. Without one
  // errors name a key as files do, "max_iters".
  GivenValues() = default;
  explicit GivenValues(std::string prefix) : prefix_(std::move(prefix)) {}

  void set(std::string_view name, GivenValue value);
  // As if it had not been given.
  void drop(std::string_view name);

  bool has(std::string_view name) const { return values_.contains(name); }
  std::optional<std::string> text(std::string_view name) const;
  std::optional<int64_t> integer(std::string_view name, Range<int64_t> range) const;
  std::optional<double> real(std::string_view name, Range<double> range) const;
  // One of `choices`, or the first when none is given.
  std::string choice(std::string_view name, std::span<const std::string_view> choices) const;
  // How the value was given, or the key when it was not.
  std::string source(std::string_view name) const;
  // Where it was given; it must have been.
  Level level(std::string_view name) const { return values_.find(name)->second.level; }
  // Whether any value was given there.
  bool has_any(Level level) const;
  // A key as people write it here: "--max-iters" or "max_iters".
  std::string key_text(std::string_view name) const;

 private:
  std::string prefix_;
  std::map<std::string, GivenValue, std::less<>> values_;
};

// For two keys that exclude each other: the one of less weight is dropped, so that what is typed
// beats a variable. On the same level they contradict each other: throws Error(usage) for `name`,
// Error(bad_input) when a file says so; `why` is that it has no meaning with the other, unless
// given.
void exclude(GivenValues& values, std::string_view name, std::string_view other,
             std::string_view why = {});
// A key that asks for another: without it, what is requested is Error(usage), ended by `what_for`,
// and a variable is dropped.
void require_other(GivenValues& values, std::string_view name, std::string_view needed,
                   std::string_view what_for);

// "max_iters" of "max-iters", as files spell keys; and back.
std::string key_in_files(std::string_view name);
std::string key_of(std::string_view written);

}  // namespace headlight::recipes
