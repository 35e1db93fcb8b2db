// Finding the longest beginning of a code point.
#include "headlight/text/repair.h"

#include <algorithm>

#include "headlight/io/io.h"

namespace headlight::text {
namespace {

// Whether some bytes would make it a code point.
bool is_beginning(std::string_view bytes) {
  std::string whole(bytes);
  // The lowest second byte that may follow.
  if (whole == "\xE0") whole += '\xA0';
  if (whole == "\xF0") whole += '\x90';
  while (whole.size() < 4 && io::code_point_length(whole, 0) == 0) whole += '\x80';
  return io::code_point_length(whole, 0) > 0;
}

std::string take(std::string& bytes, bool by_bytes) {
  std::string result;
  size_t at = 0;
  while (at < bytes.size()) {
    const size_t length = io::code_point_length(bytes, at);
    if (length > 0) {
      result.append(bytes, at, length);
      at += length;
      continue;
    }
    const std::string_view rest = std::string_view(bytes).substr(at);
    size_t wrong = std::min<size_t>(rest.size(), 3);
    while (wrong > 0 && !is_beginning(rest.substr(0, wrong))) --wrong;
    if (wrong == rest.size()) break;
    result += "\uFFFD";
    at += by_bytes ? 1 : std::max<size_t>(wrong, 1);
  }
  bytes.erase(0, at);
  return result;
}

}  // namespace

std::string take_utf8(std::string& bytes) { return take(bytes, false); }
std::string take_utf8_by_bytes(std::string& bytes) { return take(bytes, true); }

}  // namespace headlight::text
