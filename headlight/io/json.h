// JSON documents: a value, its reader and its writer.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "headlight/base/base.h"

namespace headlight::io {

// A JSON value. Members keep their order. The readers below give at most 64 levels and no repeated
// keys; who builds a value keeps to that, since copying and writing recurse.
class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;

  Json();  // null
  Json(const Json&);
  Json(Json&&) noexcept;
  Json& operator=(const Json&);
  Json& operator=(Json&&) noexcept;
  ~Json();
  Json(bool value) : value_(value) {}
  Json(std::integral auto value) : value_(static_cast<int64_t>(value)) {}
  Json(double value) : value_(value) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(std::string_view value) : value_(std::string(value)) {}
  Json(const char* value) : value_(std::string(value)) {}
  Json(Array value) : value_(std::move(value)) {}
  Json(Object value) : value_(std::move(value)) {}

  // What the value is, or nothing when it is something else.
  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  std::optional<bool> boolean() const;
  std::optional<int64_t> integer() const;  // a number without fraction and exponent
  std::optional<double> number() const;    // any number
  const std::string* text() const { return std::get_if<std::string>(&value_); }
  const Array* array() const { return std::get_if<Array>(&value_); }
  Array* array() { return std::get_if<Array>(&value_); }
  const Object* object() const { return std::get_if<Object>(&value_); }
  Object* object() { return std::get_if<Object>(&value_); }
  // The member's value; nullptr when there is none, or when this is no object.
  const Json* find(std::string_view key) const;

  bool operator==(const Json&) const = default;

 private:
  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object> value_;
};

inline constexpr uint64_t kJsonLimit = 10'000'000;  // bytes

// `name` (a path) is for errors. Integers beyond 64 bits become doubles. Throws Error(bad_input)
// with the byte of the mistake.
Json parse_json(std::string_view text, const std::string& name);
Json read_json(base::FileSystem& files, const std::string& path, uint64_t limit = kJsonLimit);

// One line. Numbers in the shortest form that reads back the same, a non-finite one as null; what
// is not UTF-8 as U+FFFD.
std::string json_text(const Json& value);

}  // namespace headlight::io
