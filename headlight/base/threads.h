// The engine's one thread pool. Work is cut by shape, never by the number of threads, so results do
// not depend on it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace headlight::base {

// A reference to a callable `void(int64_t index, int worker)`; valid only during the call it is
// passed to.
class TaskRef {
 public:
  template <class Task>
  explicit TaskRef(const Task& task)
      : object_(&task), call_([](const void* object, int64_t index, int worker) {
          (*static_cast<const Task*>(object))(index, worker);
        }) {}
  void operator()(int64_t index, int worker) const { call_(object_, index, worker); }

 private:
  const void* object_;
  void (*call_)(const void*, int64_t, int);
};

// `size()` workers, the calling thread being worker 0. Calls from several threads are served one
// after the other; a call from inside a task runs its work on the spot. When a task throws (memory
// ran out), those not yet begun are left out and the call throws the first exception again.
class ThreadPool {
 public:
  static constexpr int kMaxThreads = 1024;

  explicit ThreadPool(int size = available_cores());
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const noexcept { return static_cast<int>(workers_.size()) + 1; }

  // Runs task(index, worker) for each index in [0, count); returns when all are done. Each worker
  // begins with an even share of neighbours, the same ones in every call with this count (what it
  // wrote is still in its cache), and helps the others when it is through.
  template <class Task>
  void parallel_for(int64_t count, const Task& task) {
    run(count, TaskRef(task));
  }

  // The cores that the caller may use, 1 to kMaxThreads: those of its affinity mask, or all of the
  // machine's where the system has no such masks.
  static int available_cores();

 private:
  struct Job;
  void run(int64_t count, const TaskRef& task);
  void work(int worker);
  void drain(Job& job, int worker);

  struct alignas(64) Share {
    std::atomic<int64_t> next{0};
  };
  std::unique_ptr<Share[]> shares_;
  std::vector<std::thread> workers_;
  std::mutex one_at_a_time_;
  std::atomic<uint64_t> generation_{0};
  std::atomic<Job*> job_{nullptr};
  std::atomic<int> active_{0};
  std::atomic<bool> stopping_{false};
};

}  // namespace headlight::base
