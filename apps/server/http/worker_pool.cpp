// Threads around a queue.
#include "apps/server/http/worker_pool.h"

#include <algorithm>
#include <chrono>

namespace headlight::server {

WorkerPool::WorkerPool(int threads, size_t limit, Gauge& waiting, Gauge& busy)
    : limit_(limit), waiting_(waiting), busy_(busy) {
  for (int i = 0; i < std::max(1, threads); ++i) threads_.emplace_back([this] { run(); });
}

WorkerPool::~WorkerPool() {
  stop(0);
  for (std::thread& thread : threads_) thread.join();
}

bool WorkerPool::try_add(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  if (stops_ || queue_.size() >= limit_) return false;
  queue_.push_back(std::move(work));
  waiting_.set(static_cast<int64_t>(queue_.size()));
  changed_.notify_one();
  return true;
}

bool WorkerPool::stop(double seconds) {
  std::deque<std::function<void()>> dropped;  // goes after the lock
  std::unique_lock lock(mutex_);
  stops_ = true;
  dropped.swap(queue_);
  waiting_.set(0);
  changed_.notify_all();
  return changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                           [&] { return running_ == 0; });
}

void WorkerPool::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stops_ || !queue_.empty(); });
    if (stops_) return;
    std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    waiting_.set(static_cast<int64_t>(queue_.size()));
    busy_.set(static_cast<int64_t>(++running_));
    lock.unlock();
    work();
    work = nullptr;  // what it holds goes before it counts as ended
    lock.lock();
    busy_.set(static_cast<int64_t>(--running_));
    if (stops_) changed_.notify_all();
  }
}

}  // namespace headlight::server
