// BodyFields: the members of a JSON object in a request, each asked for by its name.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "apps/server/http/http.h"
#include "headlight/io/io.h"

namespace headlight::server::openai {

// 400 about a field in OpenAI's form: `param` names it, `code` is for programs.
[[noreturn]] void refuse_value(std::string_view param, std::string_view why, std::string_view code);

// A body as JSON. Throws HttpError 400 for what is no JSON object.
io::Json parse_body(std::string_view body);

// A value as a message shows it: its JSON, cut short.
std::string shown(const io::Json& value);

// A field that is absent and one that is null are the same: nothing. One of the wrong type or out
// of range is an HttpError 400 that names it.
class BodyFields {
 public:
  // `object` outlives it. `place` stands before names in errors: "messages[1].". Throws HttpError
  // 400 for what is no object.
  explicit BodyFields(const io::Json& object, std::string place = "");

  const io::Json* find(std::string_view name);  // of any type
  std::optional<bool> boolean(std::string_view name);
  std::optional<int64_t> integer(std::string_view name, int64_t low, int64_t high);
  std::optional<double> number(std::string_view name, double low, double high);
  std::optional<std::string> text(std::string_view name);
  const io::Json::Array* array(std::string_view name);
  std::string needed_text(std::string_view name);

  // Taken, and without any influence on the answer.
  void ignore_text(std::string_view name) { text(name); }
  // Refused unless it is one of the texts, the first of which is what happens without the field.
  void only_text(std::string_view name, const std::vector<std::string_view>& allowed,
                 std::string_view why);
  void only_zero(std::string_view name, double low, double high);  // penalties
  void only_false(std::string_view name, std::string_view why);
  // Refused unless it is null, an empty array, an empty object or an empty text.
  void only_empty(std::string_view name, std::string_view why);

  // Throws for the first field that nobody has asked for.
  void refuse_unknown() const;

  std::string path(std::string_view name) const { return place_ + std::string(name); }

 private:
  const io::Json& object_;
  std::string place_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace headlight::server::openai
