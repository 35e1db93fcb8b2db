// Lines and counts of requests.
#include "apps/server/http/request_log.h"

#include <array>
#include <charconv>
#include <ctime>

#include "headlight/text/text.h"

namespace headlight::server {
namespace {

// Methods that clients make up are one label.
std::string method_label(const std::string& method) {
  for (const char* known : {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"}) {
    if (method == known) return known;
  }
  return "other";
}

std::string time_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

std::string milliseconds(double seconds) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), seconds * 1000,
                                 std::chars_format::fixed, 1);
  return {text.data(), end.ptr};
}

// At most so many bytes, with the end of a letter where they are cut.
std::string shortened(const std::string& text) {
  constexpr size_t kMostBytes = 200;
  if (text.size() <= kMostBytes) return text::printable(text);
  size_t end = kMostBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text::printable(text.substr(0, end)) + "...";
}

}  // namespace

std::string log_line(const AnsweredRequest& request) {
  const std::string asked =
      request.method.empty() ? "-" : shortened(request.method) + " " + shortened(request.target);
  const std::string status = request.status == 0 ? "-" : std::to_string(request.status);
  return time_text() + " " + request.address + " " + asked + " " + status + " " +
         std::to_string(request.bytes) + " bytes " + milliseconds(request.seconds) + " ms #" +
         std::to_string(request.number) + (request.is_cut ? " (the client went)" : "");
}

void RequestLog::add(const AnsweredRequest& request) {
  const std::string route = request.route.empty() ? "none" : request.route;
  metrics_
      .counter("headlight_http_requests_total",
               "Requests by route, method and status; status 0: the client went before.",
               {{"route", route},
                {"method", method_label(request.method)},
                {"status", std::to_string(request.status)}})
      .add();
  metrics_
      .histogram("headlight_http_request_seconds",
                 "From the first byte of a request to the last of its answer.", {{"route", route}})
      .observe(request.seconds);
  if (line_) line_(log_line(request));
}

}  // namespace headlight::server
