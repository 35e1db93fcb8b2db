// What a server listens to, serves and allows.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::server {

// Deadlines are for the whole of what they name, however the bytes trickle in.
struct HttpLimits {
  uint64_t request_line = 8192;      // bytes; more is 414
  uint64_t headers = 32768;          // bytes of all headers; more is 431
  uint64_t header_count = 100;       // more is 431
  double header_seconds = 10;        // from the first byte to the end of the headers
  double body_seconds = 30;          // from there to the end of the body
  double write_seconds = 60;         // until the client has taken what waits for it
  double idle_seconds = 60;          // between requests on one connection
  uint64_t output_buffer = 1 << 20;  // bytes of a stream that wait for a slow client
  uint64_t body_memory = 64 << 20;   // bytes of all bodies being received; more is 503
  int connections = 256;             // being answered at once; more are told so with 503
  int requests_per_connection = 10'000;
  int workers = 4;            // threads that run handlers
  int queued_requests = 256;  // waiting for a worker; more is 503
};

// A file of the page, all of it in memory that outlives the server.
struct StaticFile {
  std::string path;                  // "/", "/studio.js"
  std::string content_type;          // "text/html; charset=utf-8"
  std::string_view bytes = {};       // as it is
  std::string_view gzip_bytes = {};  // the same compressed, for clients that take it; may be empty
};

struct ServerOptions {
  std::string host = "127.0.0.1";  // a name or an address; beyond loopback a key is needed
  uint16_t port = 8080;            // 0: any free one
  std::string api_key = {};        // empty: none
  std::vector<std::string> allowed_hosts = {};  // names besides loopback's and the host's own
  HttpLimits limits = {};
  std::vector<StaticFile> files = {};
  std::function<void(std::string_view)> log =
      {};  // a line per request, without its end; any thread
};

}  // namespace headlight::server
