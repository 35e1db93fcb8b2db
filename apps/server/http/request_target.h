// The target of a request line taken apart: path and query, decoded.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::server {

struct RequestTarget {
  std::string authority = {};              // of "http://host:port/path"; mostly empty
  std::string path = {};                   // decoded
  std::vector<std::string> segments = {};  // of the path, each decoded by itself
  std::map<std::string, std::string> query = {};
};

// "/a/b?c=d" or "http://host/a". Throws HttpError 400: bad escapes, NUL and other controls, what is
// not UTF-8, "." and ".." in any spelling, a name of the query that comes twice.
RequestTarget target_of(std::string_view target);

}  // namespace headlight::server
