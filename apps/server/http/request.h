// What a handler is given of a request, and the error it may answer with.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

#include "headlight/base/base.h"

namespace headlight::server {

// Within all limits, with Host, Origin and key checked, everything decoded once and UTF-8 without
// NUL. Names of headers are in small letters.
struct Request {
  std::string method;                               // "GET"; a HEAD request comes as "GET"
  std::string path;                                 // without the query
  std::map<std::string, std::string> parameters{};  // {id} of the route's pattern
  std::map<std::string, std::string> query{};       // each name once
  std::map<std::string, std::string> headers{};     // repeated ones joined by ", "
  std::string body{};                               // UTF-8 only where the route takes JSON
  std::string content_type{};                       // small letters, without parameters
  uint64_t number = 0;                              // of the request: in the log, and x-request-id
};

// An error that is an answer: {"error":{"message","type","param","code"}} with this status. One
// form for /v1, /api and everything else.
struct HttpErrorFields {
  int status = 400;
  std::string message = {};                         // one line with the numbers in it
  std::string type = "invalid_request_error";       // OpenAI's words
  std::string param = {};                           // the field that is wrong; empty: null
  std::string code = {};                            // for programs, "model_not_found"; empty: null
  std::map<std::string, std::string> headers = {};  // {"Retry-After", "1"}
};

// What a handler throws.
class HttpError : public std::runtime_error {
 public:
  explicit HttpError(HttpErrorFields fields)
      : std::runtime_error(fields.message), fields_(std::move(fields)) {}
  const HttpErrorFields& fields() const noexcept { return fields_; }

 private:
  HttpErrorFields fields_;
};

// 400 about one field of a query or a body.
[[noreturn]] void refuse_field(std::string_view field, std::string_view why);
// 404 with a code such as "trace_not_found".
[[noreturn]] void refuse_unknown(std::string_view what, std::string_view name,
                                 std::string_view code);
// 503 with Retry-After: a queue is full.
HttpErrorFields busy_fields(std::string_view why);
[[noreturn]] void refuse_busy(std::string_view why);

// The one table of kinds: usage and bad_input are 400, out_of_memory 413, failed 500. `param` where
// the handler knows the field.
HttpErrorFields fields_of(const base::Error& error, std::string_view param = {});
// The body of such an answer.
std::string error_json(const HttpErrorFields& fields);

}  // namespace headlight::server
