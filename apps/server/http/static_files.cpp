// Serving bytes that never change while the server runs.
#include "apps/server/http/static_files.h"

#include <array>
#include <charconv>

namespace headlight::server {
namespace {

constexpr std::string_view kPolicy =
    "default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

// FNV-1a: tells one build of the page from another.
std::string entity_tag(std::string_view bytes, std::string_view encoding) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : bytes) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), hash, 16);
  return "\"" + std::string(digits.data(), end.ptr) + std::string(encoding) + "\"";
}

std::string header_of(const Request& request, const std::string& name) {
  const auto found = request.headers.find(name);
  return found == request.headers.end() ? "" : found->second;
}

struct ServedFile {
  StaticFile file;
  std::string tag;
  std::string gzip_tag;
};

void send_file(const ServedFile& served, const Request& request, Reply& reply) {
  const StaticFile& file = served.file;
  const bool compressed = !file.gzip_bytes.empty() &&
                          (file.bytes.empty() || takes_gzip(header_of(request, "accept-encoding")));
  const std::string& tag = compressed ? served.gzip_tag : served.tag;
  Response response{.content_type = file.content_type,
                    .headers = {{"content-security-policy", std::string(kPolicy)},
                                {"referrer-policy", "no-referrer"},
                                {"cache-control", "no-cache"},
                                {"vary", "accept-encoding"},
                                {"etag", tag}}};
  if (header_of(request, "if-none-match").find(tag) != std::string::npos) {
    response.status = 304;
  } else {
    response.body = compressed ? file.gzip_bytes : file.bytes;
    if (compressed) response.headers["content-encoding"] = "gzip";
  }
  reply.send(std::move(response));
}

}  // namespace

bool takes_gzip(std::string_view accept_encoding) {
  for (size_t begin = 0; begin < accept_encoding.size();) {
    const size_t end = std::min(accept_encoding.find(',', begin), accept_encoding.size());
    std::string word;
    for (const char c : accept_encoding.substr(begin, end - begin)) {
      if (c != ' ' && c != '\t') word += c;
    }
    begin = end + 1;
    const size_t mark = std::min(word.find(';'), word.size());
    const std::string name = word.substr(0, mark);
    if (name != "gzip" && name != "x-gzip" && name != "*") continue;
    const std::string weight = word.substr(mark);
    return weight.find_first_of("123456789") != std::string::npos || !weight.starts_with(";q=");
  }
  return false;
}

void add_static_files(Router& router, const std::vector<StaticFile>& files) {
  for (const StaticFile& file : files) {
    const auto served = std::make_shared<const ServedFile>(
        ServedFile{file, entity_tag(file.bytes, ""), entity_tag(file.gzip_bytes, "-gzip")});
    router.add("GET", file.path,
               [served](const Request& request, const std::shared_ptr<Reply>& reply) {
                 send_file(*served, request, *reply);
               },
               {.needs_key = false, .answers_at_once = true});
  }
}

}  // namespace headlight::server
