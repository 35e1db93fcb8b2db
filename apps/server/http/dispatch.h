// Dispatcher: from the head of a request to the route that answers it, or to an error.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "apps/server/http/access.h"
#include "apps/server/http/options.h"
#include "apps/server/http/request_parser.h"
#include "apps/server/http/router.h"

namespace headlight::server {

// A request whose body may be read.
struct Dispatched {
  Request request;                       // without its body
  const Router::Route* route = nullptr;  // null: `answer` is there
  std::optional<Response> answer = {};   // OPTIONS
  uint64_t body_limit = 0;
  bool expects_continue = false;
};

class Dispatcher {
 public:
  // The router outlives it.
  Dispatcher(const ServerOptions& options, const Router& router, uint16_t port)
      : access_(options, port), router_(router) {}

  // Throws HttpError: 400, 401, 403, 404, 405, 413, 415, 417.
  Dispatched dispatch(const RequestHead& head) const;

 private:
  AccessRules access_;
  const Router& router_;
};

// The body of a request, once all of it is there. Throws HttpError 400 where JSON is not UTF-8.
void add_body(Dispatched& dispatched, std::string body);

}  // namespace headlight::server
