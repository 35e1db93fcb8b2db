// Error's one sentence.
#include "headlight/base/error.h"

namespace headlight::base {
namespace {

constexpr size_t kMostBytes = 4000;  // of what is wrong: names in files may have megabytes

// Without its end where it is very long; no code point of UTF-8 is cut.
std::string shortened(std::string_view text) {
  if (text.size() <= kMostBytes) return std::string(text);
  size_t end = kMostBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "…";
}

// Names of files and excerpts of their content may hold anything; a sentence stays on its line.
std::string one_line(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string line;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      line += c;
    } else {
      line.append("\\x").append({kDigits[byte >> 4], kDigits[byte & 15]});
    }
  }
  return line;
}

std::string sentence(std::string_view what, std::string_view where, std::string_view why) {
  if (what.empty()) return one_line(shortened(why));
  std::string text(what);
  if (!where.empty()) text.append(" (").append(where).append(")");
  return one_line(text.append(": ").append(shortened(why)));
}

}  // namespace

Error::Error(ErrorKind kind, std::string_view what, std::string_view where, std::string_view why)
    : std::runtime_error(sentence(what, where, why)), kind_(kind) {}

void refuse(std::string_view what, std::string_view where, std::string_view why) {
  throw Error(ErrorKind::bad_input, what, where, why);
}

}  // namespace headlight::base
