// JSON as a stream of events: what documents, array files and safetensors headers are read from.
// For io's own use.
#pragma once

#include <string>
#include <string_view>

namespace headlight::io {

inline constexpr size_t kJsonDepth = 64;

// Takes the parts of a document in their order. Each may throw.
class JsonEvents {
 public:
  virtual ~JsonEvents() = default;
  virtual void null() = 0;
  virtual void boolean(bool value) = 0;
  virtual void integer(int64_t value) = 0;
  virtual void real(std::string_view number) = 0;  // with fraction or exponent, or beyond int64;
                                                   // finite as a double
  virtual void text(std::string& value) = 0;       // may be moved from, as may a key
  virtual void begin_array() = 0;
  virtual void end_array() = 0;
  virtual void begin_object() = 0;
  virtual void key(std::string& key) = 0;
  virtual void end_object() = 0;
};

// Parses one document. Throws Error(bad_input, what, where, …) with the byte of the mistake, for
// more than kJsonDepth levels and for a key that stands twice in an object.
void parse_json_events(std::string_view text, std::string_view what, std::string_view where,
                       JsonEvents& events);

}  // namespace headlight::io
