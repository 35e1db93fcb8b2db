// Metrics: numbers that any part of the server counts, as Prometheus reads them.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace headlight::server {

// Counts upwards ("..._total").
class Counter {
 public:
  void add(uint64_t count = 1) noexcept { value_.fetch_add(count, std::memory_order_relaxed); }
  uint64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_ = 0;
};

// Goes up and down: what waits, what is in use.
class Gauge {
 public:
  void set(int64_t value) noexcept { value_.store(value, std::memory_order_relaxed); }
  void add(int64_t change) noexcept { value_.fetch_add(change, std::memory_order_relaxed); }
  int64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_ = 0;
};

// How many observations lie below each bound; seconds from a millisecond to a minute.
class Histogram {
 public:
  Histogram();
  void observe(double seconds) noexcept;

 private:
  friend class Metrics;
  std::vector<std::atomic<uint64_t>> counts_;  // one more than bounds
  std::atomic<uint64_t> microseconds_ = 0;
};

using MetricLabels = std::map<std::string, std::string>;

// Thread-safe. What is given lives as long as this; the same name and labels give the same object.
// Label values are from a small fixed set (a route's pattern, a status, a model's id), never what a
// client sends.
class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // `name`: "headlight_generated_tokens_total".
  Counter& counter(const std::string& name, const std::string& help,
                   const MetricLabels& labels = {});
  Gauge& gauge(const std::string& name, const std::string& help, const MetricLabels& labels = {});
  Histogram& histogram(const std::string& name, const std::string& help,
                       const MetricLabels& labels = {});
  // All of them in Prometheus' text format 0.0.4.
  std::string text() const;

 private:
  struct Family;
  Family& family(const std::string& name, const std::string& help, std::string_view type);

  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Family>> families_;
};

}  // namespace headlight::server
