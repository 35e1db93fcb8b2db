// RequestLog: each answered request as a line and as metrics.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "apps/server/http/metrics.h"

namespace headlight::server {

struct AnsweredRequest {
  std::string address;
  std::string method;  // empty: it could not be read
  std::string target;
  std::string route;    // the pattern; empty: none
  int status = 0;       // 0: the client went before there was one
  bool is_cut = false;  // the client went before the end
  uint64_t bytes = 0;
  double seconds = 0;
  uint64_t number = 0;
};

class RequestLog {
 public:
  using Line = std::function<void(std::string_view)>;
  RequestLog(Metrics& metrics, Line line) : metrics_(metrics), line_(std::move(line)) {}

  void add(const AnsweredRequest& request);
  Metrics& metrics() { return metrics_; }

 private:
  Metrics& metrics_;
  Line line_;
};

// "2026-01-31T12:00:00Z 127.0.0.1 GET /health 200 15 bytes 0.2 ms #7": one line whatever was asked.
std::string log_line(const AnsweredRequest& request);

}  // namespace headlight::server
