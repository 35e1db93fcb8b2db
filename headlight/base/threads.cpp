// Workers wait for a new generation number: they spin a little (a training step has thousands of
// short jobs), then let others go first for a while, then sleep: waking up takes longest.
#include "headlight/base/threads.h"

#if __has_include(<sched.h>)
#include <sched.h>
#endif

#include <algorithm>
#include <exception>
#include <string>

#include "headlight/base/error.h"

namespace headlight::base {
namespace {

constexpr int kSpins = 2000;
constexpr int kYields = 4000;

// Which worker of which pool this thread is while it runs a task; no pool outside.
struct Place {
  const void* pool = nullptr;
  int worker = 0;
};
thread_local Place current_place;

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Waits for `holds`, for some milliseconds at most.
template <class Condition>
void spin_until(const Condition& holds) {
  for (int spin = 0; spin < kSpins + kYields && !holds(); ++spin) {
    if (spin < kSpins) {
      pause_briefly();
    } else {
      std::this_thread::yield();
    }
  }
}

// How many cores this thread may run on; 0 where the system has no affinity masks (macOS) or does
// not tell.
int cores_in_affinity_mask() {
#ifdef CPU_COUNT
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) return CPU_COUNT(&mask);
#endif
  return 0;
}

}  // namespace

struct ThreadPool::Job {
  const TaskRef* task;
  int64_t count;
  int64_t workers;
  std::atomic<bool> failed{false};
  std::exception_ptr failure{};  // written by the one who sets `failed`

  int64_t first_of(int64_t worker) const { return count * worker / workers; }
};

int ThreadPool::available_cores() {
  const int in_mask = cores_in_affinity_mask();
  const int count = in_mask > 0 ? in_mask : static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(count, 1, kMaxThreads);
}

ThreadPool::ThreadPool(int size) {
  if (size < 1 || size > kMaxThreads) {
    throw Error(ErrorKind::usage, "threads", "",
                "the number is " + std::to_string(size) + ", it must be 1 to " +
                    std::to_string(kMaxThreads));
  }
  shares_ = std::make_unique<Share[]>(static_cast<size_t>(size));
  workers_.reserve(static_cast<size_t>(size - 1));
  try {
    for (int worker = 1; worker < size; ++worker)
      workers_.emplace_back([this, worker] { work(worker); });
  } catch (const std::exception&) {
    // The system has no more threads or no memory for them. Fewer threads than asked for change the
    // speed, not the result.
  }
}

ThreadPool::~ThreadPool() {
  stopping_.store(true);
  generation_.fetch_add(1);
  generation_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

// Its own share first, in order, then what is left of the others'.
void ThreadPool::drain(Job& job, int worker) {
  current_place = {this, worker};
  try {
    for (int other = 0; other < size(); ++other) {
      const int owner = (worker + other) % size();
      const int64_t last = job.first_of(owner + 1);
      std::atomic<int64_t>& next = shares_[static_cast<size_t>(owner)].next;
      for (int64_t i; !job.failed.load(std::memory_order_relaxed) &&
                      (i = next.fetch_add(1, std::memory_order_relaxed)) < last;)
        (*job.task)(i, worker);
    }
  } catch (...) {
    if (!job.failed.exchange(true)) job.failure = std::current_exception();
  }
  current_place = {};
}

// A worker announces itself in active_ before it looks at job_, and run() clears job_ before it
// looks at active_: so run() never returns while a worker holds the job, and never waits for a
// worker that is still asleep.
void ThreadPool::work(int worker) {
  uint64_t seen = 0;
  while (true) {
    spin_until([&] { return generation_.load() != seen; });
    generation_.wait(seen);
    seen = generation_.load();
    if (stopping_.load()) return;
    active_.fetch_add(1);
    if (Job* job = job_.load()) drain(*job, worker);
    if (active_.fetch_sub(1) == 1) active_.notify_all();
  }
}

void ThreadPool::run(int64_t count, const TaskRef& task) {
  if (count <= 0) return;
  if (workers_.empty() || count == 1 || current_place.pool != nullptr) {
    const int worker = current_place.pool == this ? current_place.worker : 0;
    for (int64_t index = 0; index < count; ++index) task(index, worker);
    return;
  }
  std::lock_guard<std::mutex> lock(one_at_a_time_);
  Job job{&task, count, size()};
  for (int worker = 0; worker < size(); ++worker)
    shares_[static_cast<size_t>(worker)].next.store(job.first_of(worker),
                                                    std::memory_order_relaxed);
  job_.store(&job);
  generation_.fetch_add(1);
  generation_.notify_all();
  drain(job, 0);
  job_.store(nullptr);
  spin_until([&] { return active_.load() == 0; });
  for (int left; (left = active_.load()) != 0;) active_.wait(left);
  if (job.failed.load()) std::rethrow_exception(job.failure);
}

}  // namespace headlight::base
