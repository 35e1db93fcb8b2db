// Writing heads of answers.
#include "apps/server/http/response_head.h"

#include <array>
#include <ctime>

namespace headlight::server {
namespace {

struct StatusWords {
  int status;
  std::string_view words;
};
constexpr StatusWords kStatusWords[] = {{200, "OK"},
                                        {201, "Created"},
                                        {202, "Accepted"},
                                        {204, "No Content"},
                                        {304, "Not Modified"},
                                        {400, "Bad Request"},
                                        {401, "Unauthorized"},
                                        {403, "Forbidden"},
                                        {404, "Not Found"},
                                        {405, "Method Not Allowed"},
                                        {406, "Not Acceptable"},
                                        {408, "Request Timeout"},
                                        {409, "Conflict"},
                                        {410, "Gone"},
                                        {413, "Content Too Large"},
                                        {414, "URI Too Long"},
                                        {415, "Unsupported Media Type"},
                                        {417, "Expectation Failed"},
                                        {422, "Unprocessable Content"},
                                        {429, "Too Many Requests"},
                                        {431, "Request Header Fields Too Large"},
                                        {500, "Internal Server Error"},
                                        {503, "Service Unavailable"}};

// Names of days and months are English whatever the locale is.
std::string date_text() {
  constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  const auto two = [](int number) {
    return std::string{static_cast<char>('0' + number / 10), static_cast<char>('0' + number % 10)};
  };
  return std::string(kDays[parts.tm_wday]) + ", " + two(parts.tm_mday) + " " +
         kMonths[parts.tm_mon] + " " + std::to_string(1900 + parts.tm_year) + " " +
         two(parts.tm_hour) + ":" + two(parts.tm_min) + ":" + two(parts.tm_sec) + " GMT";
}

void add_header(std::string& text, std::string_view name, std::string_view value) {
  text.append(name).append(": ");
  for (const char c : value) {
    if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) text += c;
  }
  text += "\r\n";
}

}  // namespace

std::string_view status_words(int status) {
  for (const StatusWords& entry : kStatusWords) {
    if (entry.status == status) return entry.words;
  }
  return "Answer";
}

std::string head_text(const ResponseHead& head) {
  std::string text = "HTTP/1.1 " + std::to_string(head.status) + " ";
  text.append(status_words(head.status)).append("\r\n");
  const auto add_unless_set = [&](const char* name, std::string_view value) {
    if (!head.headers.contains(name)) add_header(text, name, value);
  };
  const bool has_body = head.status != 204 && head.status != 304;
  if (has_body) add_unless_set("content-type", head.content_type);
  if (has_body && head.length >= 0) {
    add_header(text, "content-length", std::to_string(head.length));
  } else if (has_body && head.has_chunks) {
    add_header(text, "transfer-encoding", "chunked");
  }
  for (const auto& [name, value] : head.headers) add_header(text, name, value);
  add_unless_set("cache-control", "no-store");
  add_unless_set("x-content-type-options", "nosniff");
  add_header(text, "x-request-id", std::to_string(head.number));
  add_header(text, "date", date_text());
  add_header(text, "connection", head.keeps_alive ? "keep-alive" : "close");
  return text += "\r\n";
}

}  // namespace headlight::server
