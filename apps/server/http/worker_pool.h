// WorkerPool: a few threads that run handlers, and a queue of limited length before them.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "apps/server/http/metrics.h"

namespace headlight::server {

class WorkerPool {
 public:
  // Starts the threads. `waiting` shows how long the queue is, `busy` how many work.
  WorkerPool(int threads, size_t limit, Gauge& waiting, Gauge& busy);
  ~WorkerPool();  // stops, and waits for what runs
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // False: the queue is full, or the pool has stopped. Work does not throw.
  bool try_add(std::function<void()> work);
  // What waits is dropped, and nothing is taken any more. Whether all that ran has ended within
  // this time.
  bool stop(double seconds);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  size_t limit_;
  size_t running_ = 0;
  bool stops_ = false;
  Gauge& waiting_;
  Gauge& busy_;
  std::vector<std::thread> threads_;
};

}  // namespace headlight::server
