// The status line and headers of an answer, as text.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace headlight::server {

struct ResponseHead {
  int status = 200;
  std::string_view content_type = {};
  const std::map<std::string, std::string>& headers;
  uint64_t number = 0;  // of the request
  // How long the body is; negative: not known, it comes in chunks, or up to the connection's end
  // where the client knows no chunks.
  int64_t length = 0;
  bool has_chunks = false;
  bool keeps_alive = false;
};

// "OK" of 200.
std::string_view status_words(int status);
// With the empty line at its end. Line breaks in values are left out.
std::string head_text(const ResponseHead& head);

}  // namespace headlight::server
