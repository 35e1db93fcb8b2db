// A server on a port of the system's choice, with routes that behave well and badly.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "apps/server/http/http.h"

namespace headlight::test {

// Routes: /health, /metrics and
//   GET  /echo/{id}        {"id","query":{...}}
//   POST /echo             the JSON body as it came, at most 1000 bytes
//   POST /bytes            {"size"} of application/octet-stream, at most 100,000 bytes
//   GET  /export/{name}.{kind}
//   GET  /stream?count=&size=   chunks, by write()
//   GET  /flood            chunks without an end, by write_or_drop()
//   GET  /block            computes until release(), deaf to everything
//   GET  /wait             keeps the reply until the client goes
//   GET  /fail?how=        throws
//   GET  /forget?begun=    gives no answer, or no end
class TestServer {
 public:
  explicit TestServer(server::ServerOptions options = {});
  ~TestServer();

  uint16_t port() const { return http_->port(); }
  server::HttpServer& http() { return *http_; }
  server::Metrics& metrics() { return metrics_; }
  void release();
  std::vector<std::string> log_lines() const;

  std::atomic<int> gone = 0;         // calls of on_gone
  std::atomic<int> waiting = 0;      // replies that are kept
  std::atomic<int> blocked = 0;      // handlers that compute
  std::atomic<int64_t> written = 0;  // bytes that streams handed over
  std::atomic<int> ended_streams = 0;

 private:
  server::Router routes();
  void add_answers(server::Router& router);
  void add_streams(server::Router& router);
  void add_failures(server::Router& router);

  server::Metrics metrics_;
  mutable std::mutex mutex_;
  std::condition_variable released_;
  bool is_released_ = false;
  std::vector<std::string> log_lines_;
  std::unique_ptr<server::HttpServer> http_;
};

// Whether it comes true within the time.
template <class Condition>
bool comes_true(const Condition& condition,
                std::chrono::milliseconds time = std::chrono::seconds(10)) {
  const auto until = std::chrono::steady_clock::now() + time;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace headlight::test
