// Looking values up, reading them, and weighing them against each other.
#include "headlight/recipes/given_values.h"

#include <algorithm>

#include "headlight/base/base.h"
#include "headlight/io/io.h"

namespace headlight::recipes {

using base::Error;
using base::ErrorKind;

void GivenValues::set(std::string_view name, GivenValue value) {
  values_[std::string(name)] = std::move(value);
}

void GivenValues::drop(std::string_view name) {
  const auto found = values_.find(name);
  if (found != values_.end()) values_.erase(found);
}

std::optional<std::string> GivenValues::text(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return std::nullopt;
  return found->second.text;
}

std::string GivenValues::source(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? key_text(name) : found->second.source;
}

bool GivenValues::has_any(Level level) const {
  return std::ranges::any_of(values_, [&](const auto& one) { return one.second.level == level; });
}

std::string GivenValues::key_text(std::string_view name) const {
  return prefix_.empty() ? key_in_files(name) : prefix_ + std::string(name);
}

std::optional<int64_t> GivenValues::integer(std::string_view name, Range<int64_t> range) const {
  const auto given = text(name);
  if (!given) return std::nullopt;
  return integer_of(source(name), *given, range);
}

std::optional<double> GivenValues::real(std::string_view name, Range<double> range) const {
  const auto given = text(name);
  if (!given) return std::nullopt;
  return real_of(source(name), *given, range);
}

std::string GivenValues::choice(std::string_view name,
                                std::span<const std::string_view> choices) const {
  const auto given = text(name);
  if (!given) return std::string(choices.front());
  if (std::ranges::find(choices, *given) != choices.end()) return *given;
  std::string all;
  for (const std::string_view choice : choices) all.append(all.empty() ? "" : ", ").append(choice);
  throw Error(ErrorKind::usage, source(name), io::in_quotes(*given),
              "must be one of " + all + base::nearest_hint(in_small_letters(*given), choices));
}

void exclude(GivenValues& values, std::string_view name, std::string_view other,
             std::string_view why) {
  if (!values.has(name) || !values.has(other)) return;
  const Level level = values.level(name), beside = values.level(other);
  if (level != beside) return values.drop(level > beside ? name : other);
  throw Error(level < Level::file ? ErrorKind::usage : ErrorKind::bad_input, values.source(name),
              "", why.empty() ? "has no meaning with " + values.source(other) : std::string(why));
}

void require_other(GivenValues& values, std::string_view name, std::string_view needed,
                   std::string_view what_for) {
  if (!values.has(name) || values.has(needed)) return;
  if (values.level(name) != Level::request) return values.drop(name);
  throw Error(ErrorKind::usage, values.source(name), "",
              "needs " + values.key_text(needed) + ", " + std::string(what_for));
}

std::string key_in_files(std::string_view name) {
  std::string written(name);
  std::ranges::replace(written, '-', '_');
  return written;
}

std::string key_of(std::string_view written) {
  std::string name(written);
  std::ranges::replace(name, '_', '-');
  return name;
}

}  // namespace headlight::recipes
