// Server: listens, reads requests within limits, lets handlers answer, and stops cleanly.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "apps/server/http/metrics.h"
#include "apps/server/http/options.h"
#include "apps/server/http/router.h"

namespace headlight::server {

// Ends what a part of the server does, until this time at the latest; false: it still computes.
using StopCall = std::function<bool(std::chrono::steady_clock::time_point until)>;

// One thread reads and writes all connections, `workers` others run handlers; /health, /metrics and
// the files of the options are answered by the first, whatever the workers do.
class HttpServer {
 public:
  // Listens from here on. `router` is complete; `metrics` outlives the server. Throws Error(failed)
  // when the port is busy or the address is not of this machine, Error(usage) for a host beyond
  // loopback without a key.
  HttpServer(ServerOptions options, Router router, Metrics& metrics);
  ~HttpServer();  // stops
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  uint16_t port() const;
  std::string url() const;  // "http://127.0.0.1:8080/"

  // Called when the server stops and every reply is gone, in the order they came: they end the
  // threads that held replies. Before start().
  void on_stop(StopCall call);
  void start();
  // Accepts nothing more, lets nobody wait, ends all connections and joins its threads. False: a
  // handler, or what was to be called, still computes after this time; then the server must not be
  // destroyed before it ends. Again: only waits. Not from a handler.
  bool stop(double seconds = 1e6);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Whether a host name or address means this machine alone.
bool is_loopback_host(const std::string& host);

}  // namespace headlight::server
