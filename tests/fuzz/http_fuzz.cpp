// Any bytes as what a client sends: requests that keep to the limits, or one HttpError, by the same
// parser and the same checks as a connection's. How the bytes are cut changes nothing.
#include <string>
#include <vector>

#include "apps/server/http/dispatch.h"
#include "headlight/text/text.h"
#include "tests/fuzz/trapped.h"

namespace {

using namespace headlight;
using server::HttpError;
using server::RequestParser;

constexpr uint64_t kBodyLimit = 500;

const server::Router& routes() {
  static const server::Router router = [] {
    server::Router made;
    const auto none = [](const server::Request&, const std::shared_ptr<server::Reply>&) {};
    made.add("GET", "/a/{id}", none);
    made.add("GET", "/e/{trace}.{format}", none);
    made.add("POST", "/b", none, {.body_limit = kBodyLimit});
    made.add("POST", "/c", none, {.body_limit = kBodyLimit, .content_types = {"text/plain"}});
    return made;
  }();
  return router;
}

void check_request(const server::Request& request) {
  for (const auto* texts : {&request.parameters, &request.query, &request.headers}) {
    for (const auto& entry : *texts) {
      fuzz::must_succeed([&] { return text::check_utf8(entry.second), 0; });
      fuzz::require(entry.second.find('\0') == std::string::npos);
    }
  }
  fuzz::must_succeed([&] { return text::check_utf8(request.path), 0; });
  fuzz::require(request.path.starts_with('/') ||
                (request.method == "OPTIONS" && request.path == "*"));
  fuzz::require(("/" + request.path + "/").find("/../") == std::string::npos);
  fuzz::require(request.body.size() <= kBodyLimit);
}

// What became of the bytes, as a text that can be compared.
std::string outcome(std::string_view bytes, size_t step) {
  static const server::HttpLimits limits{.request_line = 300, .headers = 600, .header_count = 20};
  static const server::Dispatcher dispatcher(
      server::ServerOptions{.api_key = "", .allowed_hosts = {"h"}}, routes(), 8080);
  std::string result;
  std::string input;
  size_t next = 0;
  try {
    while (next < bytes.size() || !input.empty()) {
      RequestParser parser(limits);
      server::Dispatched dispatched;
      while (parser.state() != RequestParser::State::complete) {
        const auto before = parser.state();
        const size_t used = parser.put(input);
        fuzz::require(used <= input.size());
        input.erase(0, used);
        if (before == RequestParser::State::head && parser.state() != before) {
          dispatched = dispatcher.dispatch(parser.head());
          parser.set_body_limit(dispatched.body_limit);
          continue;
        }
        if (used > 0) continue;
        if (next >= bytes.size()) return result + "more";
        input += bytes.substr(next, step);
        next += step;
      }
      server::add_body(dispatched, parser.take_body());
      check_request(dispatched.request);
      result += dispatched.request.path + " " + dispatched.request.body + "\n";
    }
  } catch (const HttpError& error) {
    fuzz::require(error.fields().status >= 400 && error.fields().status < 500);
    fuzz::require(!server::error_json(error.fields()).empty());
    result += std::to_string(error.fields().status);
  }
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string whole = outcome(bytes, bytes.size() + 1);
  // A limit may be told sooner where less is known; that there is an error stays.
  const std::string cut = outcome(bytes, 1);
  const auto is_error = [](const std::string& text) {
    return text.ends_with("more") ? 0 : text.find_last_of("\n") + 1 == text.size() ? 1 : 2;
  };
  fuzz::require(is_error(whole) == is_error(cut));
  return 0;
}
