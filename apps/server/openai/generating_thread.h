// GeneratingThread: the one thread that runs a model for all requests about it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "apps/server/http/metrics.h"
#include "headlight/infer/infer.h"

namespace headlight::server::openai {

// Work on a model that a client waits for. The thread calls it, one call at a time; calls are short
// and never wait for a client. The last call is finished() or failed(), unless it was cancelled.
class ModelWork {
 public:
  virtual ~ModelWork() = default;

  virtual void failed(std::exception_ptr problem) = 0;
  // That are to be read, which the queue is bounded by.
  virtual size_t prompt_ids() const = 0;

  // From any thread: the client is gone. The thread forgets it within one step.
  void cancel() noexcept { is_cancelled_.store(true, std::memory_order_relaxed); }
  bool is_cancelled() const noexcept { return is_cancelled_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> is_cancelled_ = false;
};

// Texts to be written: for each part any number of continuations.
class GenerationWork : public ModelWork {
 public:
  std::vector<infer::GenerationRequest> parts = {};

  // Of the continuation of a part, counted from 0 on. The prompt's scores come with the number of
  // the first continuation that they are for, and once more for each group of continuations that
  // is read at once.
  virtual void event(size_t part, size_t continuation, const infer::RequestEvent& event) = 0;
  virtual void finished() = 0;
  size_t prompt_ids() const override;
};

// Anything else, in turns that each take about as long as a step.
class TurnWork : public ModelWork {
 public:
  // False: it is done and has been told.
  virtual bool turn(autograd::Context& context) = 0;
};

struct GeneratingLimits {
  infer::BatchLimits batch = {};
  size_t requests = 128;          // that wait or go on
  size_t prompt_ids = 4'000'000;  // of all of them
  int64_t group = 4;              // continuations of a prompt that are read and begin at once
};

// Numbers for /metrics, of one model.
struct GenerationMetrics {
  GenerationMetrics(Metrics& metrics, const std::string& model);
  Counter& prompt_tokens;
  Counter& generated_tokens;
  Gauge& waiting;    // requests of which nothing has begun
  Gauge& sequences;  // that are being read or written
  Histogram& first_token_seconds;
  Histogram& request_seconds;
};

// A work of either kind on its way.
struct QueuedWork {
  std::shared_ptr<GenerationWork> work;  // or
  std::shared_ptr<TurnWork> turns;
  size_t prompt_ids = 0;
  std::chrono::steady_clock::time_point when = {};
};

// Requests take turns: whenever there is a place in the batch, it goes to the next request that
// still has texts to begin, so that a request for many texts does not keep others waiting. The
// answer to each is what it would be alone, to the bit.
class GeneratingThread {
 public:
  // What is handed in outlives it.
  GeneratingThread(const models::Model& model, base::ThreadPool& threads, Metrics& metrics,
                   const std::string& name, const GeneratingLimits& limits = {});
  ~GeneratingThread();  // stops
  GeneratingThread(const GeneratingThread&) = delete;
  GeneratingThread& operator=(const GeneratingThread&) = delete;

  // Throws HttpError 503 when the queue is full, or the thread has been stopped.
  void submit(std::shared_ptr<GenerationWork> work);
  void submit(std::shared_ptr<TurnWork> work);

  // Ends after the step that runs; what waits is failed. Does not wait for that.
  void stop();
  // Whether it has ended by then.
  bool wait(std::chrono::steady_clock::time_point until);

  // Requests that wait or go on.
  size_t size() const;

 private:
  void admit(QueuedWork arrival);
  void run();
  // Waits while `is_idle` and nothing comes; false: it has been stopped.
  bool take_arrivals(std::vector<QueuedWork>& arrivals, bool is_idle);
  void forget(const QueuedWork& work);

  const models::Model& model_;
  base::ThreadPool& threads_;
  const GeneratingLimits limits_;
  GenerationMetrics metrics_;

  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<QueuedWork> arrivals_;
  size_t requests_ = 0;    // of all kinds, until they are forgotten
  size_t prompt_ids_ = 0;  // of them
  bool is_stopped_ = false;
  bool has_ended_ = false;
  std::thread thread_;
};

}  // namespace headlight::server::openai
