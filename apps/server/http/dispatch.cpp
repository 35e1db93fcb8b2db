// Every check between the last header and the first byte of the body.
#include "apps/server/http/dispatch.h"

#include <algorithm>

#include "apps/server/http/request_target.h"
#include "headlight/text/text.h"

namespace headlight::server {
namespace {

constexpr std::string_view kJson = "application/json";

std::string allow_list(const Router::Match& match) {
  std::string list;
  for (const std::string& method : match.allowed) {
    list += (list.empty() ? "" : ", ") + method;
    if (method == "GET") list += ", HEAD";
  }
  return list + ", OPTIONS";
}

std::string media_type(std::string_view header) {
  std::string type(header.substr(0, header.find(';')));
  while (type.ends_with(' ') || type.ends_with('\t')) type.pop_back();
  for (char& c : type) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return type;
}

void check_body(const RequestHead& head, const Router::Route& route) {
  if (!head.has_body()) return;
  const uint64_t length = head.content_length.value_or(0);
  if (length > route.options.body_limit) {
    throw HttpError({.status = 413,
                     .message = "body: has " + std::to_string(length) + " bytes, at most " +
                                std::to_string(route.options.body_limit) + " are read here",
                     .code = "body_too_large"});
  }
  const std::string type = media_type(head.header("content-type"));
  std::string taken;
  for (const std::string& one : route.options.content_types) {
    if (one == type && head.count("content-type") == 1 && head.count("content-encoding") == 0) {
      return;
    }
    taken += (taken.empty() ? "" : ", ") + one;
  }
  throw HttpError({.status = 415,
                   .message = "Content-Type (" + text::printable(type) + "): here it is " + taken +
                              ", without a Content-Encoding",
                   .code = "unsupported_media_type"});
}

bool expects_continue(const RequestHead& head) {
  if (head.count("expect") == 0) return false;
  if (media_type(head.header("expect")) != "100-continue" || head.count("expect") != 1) {
    throw HttpError({.status = 417,
                     .message = "Expect: only 100-continue can be expected",
                     .code = "expectation_failed"});
  }
  return !head.is_http_1_0 && head.has_body();
}

std::map<std::string, std::string> header_map(const RequestHead& head) {
  std::map<std::string, std::string> headers;
  for (const auto& [name, value] : head.headers) {
    try {
      text::check_utf8(value);
    } catch (const base::Error&) {
      throw HttpError({.status = 400,
                       .message = "header " + text::printable(name) + ": is not UTF-8",
                       .code = "bad_request"});
    }
    const auto [place, is_new] = headers.emplace(name, value);
    if (!is_new) place->second += ", " + value;
  }
  return headers;
}

}  // namespace

Dispatched Dispatcher::dispatch(const RequestHead& head) const {
  const bool asks_all = head.method == "OPTIONS" && head.target == "*";
  RequestTarget target = asks_all ? RequestTarget{.path = "*"} : target_of(head.target);
  access_.check_host(head, target.authority);
  Dispatched result;
  result.request = {.method = head.method == "HEAD" ? "GET" : head.method,
                    .path = std::move(target.path),
                    .query = std::move(target.query),
                    .headers = header_map(head),
                    .content_type = media_type(head.header("content-type"))};
  result.expects_continue = expects_continue(head);
  if (asks_all) {
    result.answer =
        Response{.status = 204, .headers = {{"allow", "GET, HEAD, POST, DELETE, OPTIONS"}}};
    return result;
  }
  Router::Match match = router_.find(head.method, target.segments);
  if (match.allowed.empty()) {
    throw HttpError(
        {.status = 404,
         .message = "path (" + text::printable(result.request.path) + "): there is no such page",
         .code = "not_found"});
  }
  if (head.method == "OPTIONS" && match.route == nullptr) {
    result.answer = Response{.status = 204, .headers = {{"allow", allow_list(match)}}};
    return result;
  }
  if (match.route == nullptr) {
    throw HttpError({.status = 405,
                     .message = "method (" + text::printable(head.method) + "): " +
                                text::printable(result.request.path) + " has " + allow_list(match),
                     .code = "method_not_allowed",
                     .headers = {{"allow", allow_list(match)}}});
  }
  if (match.route->options.needs_key) access_.check_key(head);
  check_body(head, *match.route);
  result.route = match.route;
  result.request.parameters = std::move(match.parameters);
  result.body_limit = match.route->options.body_limit;
  return result;
}

void add_body(Dispatched& dispatched, std::string body) {
  if (dispatched.request.content_type == kJson) {
    try {
      text::check_utf8(body);
    } catch (const base::Error& error) {
      throw HttpError(
          {.status = 400, .message = std::string("body: ") + error.what(), .code = "not_utf8"});
    }
  }
  dispatched.request.body = std::move(body);
}

}  // namespace headlight::server
