// Fields: what a request says, each value checked by type and range as it is read. What nobody has
// read is refused by name.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/server/http/http.h"
#include "headlight/io/io.h"

namespace headlight::server::studio {

// Both ends belong to it.
struct IntegerRange {
  int64_t lowest = 0;
  int64_t highest = 0;
};
struct NumberRange {
  double lowest = 0;
  double highest = 0;
};
struct TextRange {
  size_t shortest = 0;  // bytes
  size_t longest = 0;
};

inline constexpr TextRange kAnyText = {0, 65536};
inline constexpr TextRange kSomeText = {1, 65536};
inline constexpr IntegerRange kAnyId = {0, INT32_MAX};
inline constexpr IntegerRange kAnySeed = {0, INT64_MAX};

// The members of a JSON object. Reading throws HttpError 400 that names the field; an absent one,
// or null, is nothing.
class BodyFields {
 public:
  // Throws HttpError 400 for what is no JSON object.
  static BodyFields parse(const std::string& body);
  // `where`: what stands before a name in errors, "sentences[2]."
  explicit BodyFields(io::Json::Object members, std::string where = "");

  bool has(std::string_view name) const;
  std::optional<std::string> text(std::string_view name, TextRange range = kAnyText);
  std::string needed_text(std::string_view name, TextRange range = kSomeText);
  std::optional<std::string> choice(std::string_view name,
                                    std::span<const std::string_view> choices);
  std::optional<int64_t> integer(std::string_view name, IntegerRange range);
  std::optional<double> number(std::string_view name, NumberRange range);
  bool flag(std::string_view name, bool otherwise = false);
  std::optional<std::vector<int64_t>> integers(std::string_view name, IntegerRange range,
                                               size_t most);
  std::optional<std::vector<double>> numbers(std::string_view name, NumberRange range, size_t most);
  std::optional<std::vector<std::string>> texts(std::string_view name, size_t most,
                                                TextRange range = kSomeText);
  std::optional<std::vector<BodyFields>> objects(std::string_view name, size_t most);
  // Any value of the field, for what has a form of its own.
  const io::Json* value(std::string_view name);

  // Fields that contradict each other.
  void exclude(std::string_view name, std::string_view other) const;
  [[noreturn]] void refuse(std::string_view name, std::string_view why) const;
  // Throws for what has not been read, with the nearest name that has.
  void refuse_others() const;

 private:
  const io::Json::Array* list(std::string_view name, size_t most);
  std::string path(std::string_view name) const { return where_ + std::string(name); }

  io::Json::Object members_;
  std::string where_;
  std::set<std::string, std::less<>> read_;
};

// The same of a query.
class QueryFields {
 public:
  explicit QueryFields(const std::map<std::string, std::string>& query) : query_(query) {}

  std::optional<std::string> text(std::string_view name);
  std::string needed_text(std::string_view name);
  std::optional<int64_t> integer(std::string_view name, IntegerRange range);
  std::optional<double> number(std::string_view name, NumberRange range);
  std::string choice(std::string_view name, std::span<const std::string_view> choices);
  bool flag(std::string_view name);  // "1" or "true", "0" or "false"
  std::vector<std::string> words(std::string_view name, size_t most);  // with commas between
  std::vector<int64_t> integers(std::string_view name, IntegerRange range, size_t most);
  void refuse_others() const;

 private:
  const std::map<std::string, std::string>& query_;
  std::set<std::string, std::less<>> read_;
};

// The bytes that letters of base 64 stand for; nothing when they are none.
std::optional<std::string> bytes_of_letters(std::string_view letters);

}  // namespace headlight::server::studio
