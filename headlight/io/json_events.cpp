// nlohmann's parser behind our events, with the limits it lacks.
#include "headlight/io/json_events.h"

// It asserts that the locale's decimal point is one byte; we read numbers from their text, so
// nothing hangs on it.
#define JSON_ASSERT(condition) static_cast<void>(0)
#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "headlight/base/base.h"
#include "headlight/io/numbers.h"
#include "headlight/io/utf8.h"

namespace headlight::io {
namespace {

using base::Error;
using base::ErrorKind;

constexpr size_t kReasonBytes = 120;

struct Source {
  std::string_view what;
  std::string_view where;

  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorKind::bad_input, what, where, why);
  }
};

// The middle of nlohmann's message: it is wrapped in its own names and ends with a quote of any
// length.
std::string reason_of(std::string message) {
  for (const std::string_view start : {"] ", " - "}) {
    if (const size_t at = message.find(start); at != std::string::npos)
      message.erase(0, at + start.size());
  }
  if (const size_t at = message.find("; last read"); at != std::string::npos) message.erase(at);
  return message.substr(0, valid_utf8_length(std::string_view(message).substr(0, kReasonBytes)));
}

// What nlohmann calls. A return of false would stop it; we throw instead.
class Handler {
 public:
  using json = nlohmann::json;

  Handler(const Source& source, JsonEvents& events) : source_(source), events_(events) {}

  bool null() { return events_.null(), true; }
  bool boolean(bool value) { return events_.boolean(value), true; }
  bool number_integer(json::number_integer_t value) { return events_.integer(value), true; }
  bool number_unsigned(json::number_unsigned_t value) {
    if (value <= INT64_MAX) return number_integer(static_cast<int64_t>(value));
    return events_.real(std::to_string(value)), true;
  }
  bool number_float(json::number_float_t, const json::string_t& digits) {
    // The parser has put the locale's decimal point into the text.
    std::string number = digits;
    const size_t point = number.find_first_not_of("+-0123456789eE");
    if (point != std::string::npos) number[point] = '.';
    return events_.real(number), true;
  }
  bool string(json::string_t& value) { return events_.text(value), true; }
  bool binary(json::binary_t&) { return false; }

  bool start_array(size_t) { return enter(), events_.begin_array(), true; }
  bool end_array() { return leave(), events_.end_array(), true; }
  bool start_object(size_t) { return enter(), events_.begin_object(), true; }
  bool end_object() { return leave(), events_.end_object(), true; }
  bool key(json::string_t& key) {
    keys_.back().push_back(key);
    return events_.key(key), true;
  }

  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception& problem) {
    source_.refuse("not JSON at byte " + std::to_string(position) + ": " +
                   reason_of(problem.what()));
  }

 private:
  void enter() {
    if (keys_.size() == kJsonDepth) {
      source_.refuse("nested deeper than " + std::to_string(kJsonDepth) + " levels");
    }
    keys_.emplace_back();
  }
  void leave() {
    std::vector<std::string>& keys = keys_.back();
    std::sort(keys.begin(), keys.end());
    const auto repeated = std::adjacent_find(keys.begin(), keys.end());
    if (repeated != keys.end()) source_.refuse("the key " + in_quotes(*repeated) + " stands twice");
    keys_.pop_back();
  }

  const Source& source_;
  JsonEvents& events_;
  std::vector<std::vector<std::string>> keys_;  // of the open arrays (none) and objects
};

}  // namespace

void parse_json_events(std::string_view text, std::string_view what, std::string_view where,
                       JsonEvents& events) {
  const Source source{what, where};
  const size_t valid = valid_utf8_length(text);
  if (valid < text.size()) source.refuse("not UTF-8 at byte " + std::to_string(valid));
  // The parser would take a NUL for the end of the text.
  const size_t nul = text.find('\0');
  if (nul != std::string_view::npos)
    source.refuse("not JSON at byte " + std::to_string(nul) + ": a NUL");
  Handler handler(source, events);
  nlohmann::json::sax_parse(text.begin(), text.end(), &handler);
}

}  // namespace headlight::io
