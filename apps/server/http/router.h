// Router: which handler answers which method and path.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/server/http/reply.h"

namespace headlight::server {

// Runs on a worker thread, of which there are few: what takes long or waits belongs to a thread of
// its own that keeps the reply. What it throws becomes the answer.
using Handler = std::function<void(const Request&, std::shared_ptr<Reply>)>;

struct RouteOptions {
  uint64_t body_limit = 1 << 20;  // bytes; more is 413
  // A body of another type is 415; GET and DELETE need none. Bodies of application/json are UTF-8.
  std::vector<std::string> content_types = {"application/json"};
  bool needs_key = true;         // where the server has one
  bool answers_at_once = false;  // on the server's own thread: it computes nothing and never waits
};

class Router {
 public:
  // `pattern`: "/api/trace/{id}/cell"; a parameter takes part of one segment, at least a letter:
  // "/api/export/{trace}.{format}". Of several patterns that fit, the one with more fixed text
  // wins. HEAD is answered by GET, OPTIONS and wrong methods by the server.
  void add(std::string method, std::string pattern, Handler handler, RouteOptions options = {});

  struct Route {
    std::string method;
    std::string pattern;  // names the route in /metrics
    Handler handler;
    RouteOptions options;
  };
  struct Match {
    const Route* route = nullptr;  // null: no such path, or another method
    std::map<std::string, std::string> parameters{};
    std::vector<std::string> allowed{};  // methods that this path has; empty: no such path
  };
  // `segments`: of the path, decoded; "/" has one empty segment. HEAD finds GET.
  Match find(std::string_view method, const std::vector<std::string>& segments) const;

 private:
  struct Entry;
  std::vector<std::shared_ptr<const Entry>> entries_;
};

}  // namespace headlight::server
