// Error's one sentence.
#include "headlight/base/error.h"

namespace headlight::base {
namespace {

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
  std::string text(what);
  if (!where.empty()) text.append(" (").append(where).append(")");
  return one_line(text.append(": ").append(why));
}

}  // namespace

Error::Error(ErrorKind kind, std::string_view what, std::string_view where, std::string_view why)
    : std::runtime_error(sentence(what, where, why)), kind_(kind) {}

void refuse(std::string_view what, std::string_view where, std::string_view why) {
  throw Error(ErrorKind::bad_input, what, where, why);
}

}  // namespace headlight::base
