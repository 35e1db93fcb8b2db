// Bytes and their marks, side by side.
#include "headlight/text/marked_text.h"

namespace headlight::text {

MarkedText MarkedText::slice(size_t begin, size_t end) const {
  MarkedText part{bytes.substr(begin, end - begin)};
  if (!given.empty()) part.given = given.substr(begin, end - begin);
  return part;
}

MarkedText& MarkedText::append(const MarkedText& more) {
  if (!more.given.empty() || !given.empty()) {
    given.resize(bytes.size(), '\0');
    given += more.given;
    given.resize(bytes.size() + more.bytes.size(), '\0');
  }
  bytes += more.bytes;
  return *this;
}

MarkedText& MarkedText::append(std::string_view more, bool is_given) {
  if (is_given || !given.empty()) {
    given.resize(bytes.size(), '\0');
    given.append(more.size(), is_given ? '\1' : '\0');
  }
  bytes += more;
  return *this;
}

}  // namespace headlight::text
