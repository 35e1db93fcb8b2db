// Decoding, once and strictly.
#include "apps/server/http/request_target.h"

#include <algorithm>

#include "apps/server/http/request.h"
#include "headlight/text/text.h"

namespace headlight::server {
namespace {

constexpr size_t kMostQueryNames = 64;

[[noreturn]] void refuse_target(const std::string& why) {
  throw HttpError({.status = 400, .message = "path: " + why, .code = "bad_path"});
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decoded(std::string_view text, bool plus_is_blank) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_blank) {
      result += ' ';
      continue;
    }
    if (text[i] != '%') {
      result += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0) refuse_target("has a % without two hexadecimal digits");
    result += static_cast<char>(16 * high + low);
    i += 2;
  }
  for (const char c : result) {
    const auto byte = static_cast<unsigned char>(c);
    // A query may hold text of several lines.
    const bool is_allowed_control = plus_is_blank && (c == '\n' || c == '\r' || c == '\t');
    if ((byte < 0x20 && !is_allowed_control) || byte == 0x7f) {
      refuse_target(byte == 0 ? "has a NUL" : "has a control character");
    }
  }
  try {
    text::check_utf8(result);
  } catch (const base::Error&) {
    refuse_target("is not UTF-8");
  }
  return result;
}

// A name such as "%2e%2e/x" is decoded into one segment; what lies between its slashes counts too.
void check_stays_below(const std::string& segment) {
  for (size_t begin = 0; begin <= segment.size();) {
    const size_t end = std::min(segment.find_first_of("/\\", begin), segment.size());
    const std::string_view part = std::string_view(segment).substr(begin, end - begin);
    if (part == "." || part == "..") refuse_target("has . or .. in it");
    begin = end + 1;
  }
}

void read_query(std::string_view text, std::map<std::string, std::string>& query) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('&', begin), text.size());
    const std::string_view pair = text.substr(begin, end - begin);
    begin = end + 1;
    if (pair.empty()) continue;
    const size_t equals = std::min(pair.find('='), pair.size());
    const std::string name = decoded(pair.substr(0, equals), true);
    const std::string_view value = pair.substr(std::min(equals + 1, pair.size()));
    if (!query.emplace(name, decoded(value, true)).second) {
      refuse_field(name, "is in the query twice");
    }
    if (query.size() > kMostQueryNames) {
      refuse_target("has a query of more than " + std::to_string(kMostQueryNames) + " names");
    }
  }
}

}  // namespace

RequestTarget target_of(std::string_view target) {
  constexpr std::string_view kScheme = "http://";
  RequestTarget result;
  std::string whole;
  if (target.starts_with(kScheme)) {
    target.remove_prefix(kScheme.size());
    const size_t end = std::min(target.find_first_of("/?"), target.size());
    result.authority = target.substr(0, end);
    if (result.authority.empty()) refuse_target("has no host after http://");
    target.remove_prefix(end);
    if (!target.starts_with('/')) target = whole = "/" + std::string(target);
  }
  if (!target.starts_with('/')) refuse_target("does not begin with /");
  if (target.find('#') != std::string_view::npos) refuse_target("has a #");
  const size_t mark = std::min(target.find('?'), target.size());
  const std::string_view path = target.substr(0, mark);
  for (size_t begin = 1; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    std::string segment = decoded(path.substr(begin, end - begin), false);
    check_stays_below(segment);
    result.path += "/" + segment;
    result.segments.push_back(std::move(segment));
    begin = end + 1;
  }
  read_query(target.substr(std::min(mark + 1, target.size())), result.query);
  return result;
}

}  // namespace headlight::server
