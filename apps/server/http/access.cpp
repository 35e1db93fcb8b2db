// Names of this server, and its key.
#include "apps/server/http/access.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "apps/server/http/server.h"
#include "headlight/text/text.h"

namespace headlight::server {
namespace {

std::string in_lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

bool is_address_4(const std::string& text) {
  in_addr address{};
  return inet_pton(AF_INET, text.c_str(), &address) == 1;
}

bool is_address_6(const std::string& text) {
  in6_addr address{};
  return inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

// As it stands in a URL.
std::string in_url(const std::string& host) { return is_address_6(host) ? "[" + host + "]" : host; }

struct HostAndPort {
  std::string host;  // with its brackets
  std::string port;  // empty: none
};

HostAndPort split_authority(std::string_view authority) {
  const size_t bracket = authority.rfind(']');
  const size_t colon = authority.rfind(':');
  if (colon == std::string_view::npos || (bracket != std::string_view::npos && colon < bracket)) {
    return {std::string(authority), ""};
  }
  return {std::string(authority.substr(0, colon)), std::string(authority.substr(colon + 1))};
}

bool is_any_address(const std::string& host) {
  if (is_address_4(host)) return true;
  return host.starts_with('[') && host.ends_with(']') &&
         is_address_6(host.substr(1, host.size() - 2));
}

std::string own_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? in_lower_case(name.data()) : "";
}

[[noreturn]] void refuse_host(int status, std::string message, std::string code) {
  throw HttpError({.status = status, .message = std::move(message), .code = std::move(code)});
}

// Takes the same time wherever they differ.
bool is_same_secret(std::string_view given, std::string_view secret) {
  unsigned difference = given.size() == secret.size() ? 0 : 1;
  for (size_t i = 0; i < secret.size(); ++i) {
    const char c = given.empty() ? '\0' : given[i % given.size()];
    difference |= static_cast<unsigned char>(c) ^ static_cast<unsigned char>(secret[i]);
  }
  // Read once, at the end: no compiler may leave early.
  const volatile unsigned result = difference;
  return result == 0;
}

}  // namespace

bool is_loopback_host(const std::string& host) {
  if (in_lower_case(host) == "localhost") return true;
  in_addr four{};
  if (inet_pton(AF_INET, host.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24) == 127;
  in6_addr six{};
  return inet_pton(AF_INET6, host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

AccessRules::AccessRules(const ServerOptions& options, uint16_t port)
    : names_{"localhost", "127.0.0.1", "[::1]", in_lower_case(in_url(options.host))},
      port_(std::to_string(port)),
      takes_any_address_(options.host == "0.0.0.0" || options.host == "::"),
      key_(options.api_key) {
  if (takes_any_address_) names_.push_back(own_name());
  for (const std::string& name : options.allowed_hosts) allowed_.push_back(in_lower_case(name));
}

bool AccessRules::is_allowed_name(std::string_view authority) const {
  const HostAndPort parts = split_authority(authority);
  return std::ranges::find(allowed_, parts.host) != allowed_.end();
}

bool AccessRules::is_ours(std::string_view authority) const {
  if (is_allowed_name(authority)) return true;
  const HostAndPort parts = split_authority(authority);
  if (parts.port != port_ && !(parts.port.empty() && port_ == "80")) return false;
  if (parts.host.empty()) return false;
  const bool is_loopback =
      parts.host.find(':') == std::string::npos && is_loopback_host(parts.host);
  return is_loopback || std::ranges::find(names_, parts.host) != names_.end() ||
         (takes_any_address_ && is_any_address(parts.host));
}

void AccessRules::check_host(const RequestHead& head, std::string_view authority) const {
  const size_t hosts = head.count("host");
  if (hosts != 1) {
    refuse_host(400, hosts == 0 ? "Host: is missing" : "Host: is there twice", "bad_host");
  }
  const std::string host = in_lower_case(head.header("host"));
  if (!authority.empty() && in_lower_case(authority) != host) {
    refuse_host(400, "Host: is not that of the request line", "bad_host");
  }
  if (!is_ours(host)) {
    refuse_host(403,
                "Host (" + text::printable(host) + "): is not this server, which answers to " +
                    names_.back() + ":" + port_,
                "host_not_allowed");
  }
  if (head.count("origin") == 0) return;
  const std::string origin = in_lower_case(head.header("origin"));
  const bool is_same =
      head.count("origin") == 1 &&
      (origin == "http://" + host || (origin == "https://" + host && is_allowed_name(host)));
  if (!is_same) {
    refuse_host(403, "Origin (" + text::printable(origin) + "): pages of others are not answered",
                "origin_not_allowed");
  }
}

void AccessRules::check_key(const RequestHead& head) const {
  if (key_.empty()) return;
  constexpr std::string_view kScheme = "bearer ";
  std::string_view given = head.header("authorization");
  const bool is_bearer =
      head.count("authorization") == 1 && in_lower_case(given.substr(0, kScheme.size())) == kScheme;
  given.remove_prefix(is_bearer ? kScheme.size() : given.size());
  while (given.starts_with(' ')) given.remove_prefix(1);
  if (is_same_secret(given, key_)) return;
  throw HttpError({.status = 401,
                   .message = given.empty() ? "Authorization: an API key is needed here, as "
                                              "\"Authorization: Bearer KEY\""
                                            : "Authorization: this API key is not the server's",
                   .type = "authentication_error",
                   .code = "invalid_api_key",
                   .headers = {{"www-authenticate", "Bearer"}}});
}

}  // namespace headlight::server
