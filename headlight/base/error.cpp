// Error's one sentence.
#include "headlight/base/error.h"

namespace headlight::base {
namespace {

std::string sentence(std::string_view what, std::string_view where, std::string_view why) {
  std::string text(what);
  if (!where.empty()) text.append(" (").append(where).append(")");
  return text.append(": ").append(why);
}

}  // namespace

Error::Error(ErrorKind kind, std::string_view what, std::string_view where, std::string_view why)
    : std::runtime_error(sentence(what, where, why)), kind_(kind) {}

}  // namespace headlight::base
