// RequestParser: bytes of a connection to one request, within limits. Knows no socket.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/server/http/options.h"
#include "apps/server/http/request.h"

namespace headlight::server {

// The request line and the headers as they were sent. Framing is settled: at most one of length and
// chunks, each of them said once.
struct RequestHead {
  std::string method;
  std::string target;
  bool is_http_1_0 = false;
  std::vector<std::pair<std::string, std::string>> headers = {};  // names in small letters
  std::optional<uint64_t> content_length = {};
  bool is_chunked = false;
  bool keeps_alive = true;

  bool has_body() const { return is_chunked || content_length.value_or(0) > 0; }
  size_t count(std::string_view name) const;
  // The first of this name; empty where there is none.
  std::string_view header(std::string_view name) const;
};

class RequestParser {
 public:
  enum class State { head, body, complete };

  explicit RequestParser(const HttpLimits& limits);
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  // Takes bytes from the front and returns how many; the rest is to come again, with more after it.
  // Stops where the head ends, and where the request does. Throws HttpError: 400, 413, 414, 431.
  size_t put(std::string_view bytes);
  State state() const;
  // Whether the first byte of a request was seen.
  bool has_begun() const;
  const RequestHead& head() const;  // complete from State::body on
  // Of the body, before any of it is read; without, none may come. Throws HttpError 413 where the
  // head announces more.
  void set_body_limit(uint64_t bytes);
  uint64_t body_size() const;
  std::string take_body();

 private:
  class Reader;
  void check_head_so_far(std::string_view bytes);
  void read_head(std::string_view bytes);

  HttpLimits limits_;
  std::unique_ptr<Reader> reader_;
  RequestHead head_;
  State state_ = State::head;
  bool has_begun_ = false;
  size_t scanned_ = 0;        // bytes of the head that were looked at
  size_t line_begin_ = 0;     // where the line that is looked at begins
  size_t headers_begin_ = 0;  // after the request line
  size_t line_count_ = 0;     // complete lines
  uint64_t body_limit_ = 0;
  uint64_t framed_bytes_ = 0;  // of the body, with what frames it
};

}  // namespace headlight::server
