// The queue in front of the thread, and what starts and stops it.
#include "apps/server/openai/generating_thread.h"

#include "apps/server/http/http.h"
#include "apps/server/openai/generating_loop.h"

namespace headlight::server::openai {
namespace {

std::exception_ptr stopping_problem() {
  return std::make_exception_ptr(HttpError({.status = 503,
                                            .message = "the server is being stopped",
                                            .type = "server_error",
                                            .code = "server_stopping"}));
}

}  // namespace

size_t GenerationWork::prompt_ids() const {
  size_t count = 0;
  for (const infer::GenerationRequest& part : parts) {
    count += part.prompt.ids.size() + part.prompt.source.size();
  }
  return count;
}

GenerationMetrics::GenerationMetrics(Metrics& metrics, const std::string& model)
    : prompt_tokens(metrics.counter("headlight_prompt_tokens_total",
                                    "Tokens of prompts and inputs that were begun to be read.",
                                    {{"model", model}})),
      generated_tokens(metrics.counter("headlight_generated_tokens_total", "Tokens written.",
                                       {{"model", model}})),
      waiting(metrics.gauge("headlight_waiting_requests",
                            "Requests to a model of which nothing has begun.", {{"model", model}})),
      sequences(metrics.gauge("headlight_running_sequences", "Texts being read or written.",
                              {{"model", model}})),
      first_token_seconds(metrics.histogram("headlight_first_token_seconds",
                                            "From a request's arrival to its first token.",
                                            {{"model", model}})),
      request_seconds(metrics.histogram("headlight_model_request_seconds",
                                        "From a request's arrival to its last token or vector.",
                                        {{"model", model}})) {}

GeneratingThread::GeneratingThread(const models::Model& model, base::ThreadPool& threads,
                                   Metrics& metrics, const std::string& name,
                                   const GeneratingLimits& limits)
    : model_(model), threads_(threads), limits_(limits), metrics_(metrics, name), thread_([this] {
        run();
      }) {}

GeneratingThread::~GeneratingThread() {
  stop();
  thread_.join();
}

void GeneratingThread::submit(std::shared_ptr<GenerationWork> work) {
  const size_t ids = work->prompt_ids();
  admit({.work = std::move(work), .turns = nullptr, .prompt_ids = ids, .when = {}});
}

void GeneratingThread::submit(std::shared_ptr<TurnWork> work) {
  const size_t ids = work->prompt_ids();
  admit({.work = nullptr, .turns = std::move(work), .prompt_ids = ids, .when = {}});
}

void GeneratingThread::admit(QueuedWork arrival) {
  arrival.when = std::chrono::steady_clock::now();
  {
    const std::lock_guard lock(mutex_);
    if (is_stopped_) std::rethrow_exception(stopping_problem());
    // One request is always taken, however long.
    const bool is_full = requests_ >= limits_.requests ||
                         (requests_ > 0 && prompt_ids_ + arrival.prompt_ids > limits_.prompt_ids);
    if (is_full) {
      refuse_busy("the model's queue is full: " + std::to_string(requests_) + " requests with " +
                  std::to_string(prompt_ids_) + " prompt tokens wait or are being answered");
    }
    ++requests_;
    prompt_ids_ += arrival.prompt_ids;
    arrivals_.push_back(std::move(arrival));
  }
  arrived_.notify_one();
}

void GeneratingThread::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
  }
  arrived_.notify_all();
}

bool GeneratingThread::wait(std::chrono::steady_clock::time_point until) {
  std::unique_lock lock(mutex_);
  return arrived_.wait_until(lock, until, [this] { return has_ended_; });
}

size_t GeneratingThread::size() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

bool GeneratingThread::take_arrivals(std::vector<QueuedWork>& arrivals, bool is_idle) {
  std::unique_lock lock(mutex_);
  if (is_idle) arrived_.wait(lock, [this] { return is_stopped_ || !arrivals_.empty(); });
  arrivals = std::move(arrivals_);
  arrivals_.clear();
  return !is_stopped_;
}

void GeneratingThread::forget(const QueuedWork& work) {
  const std::lock_guard lock(mutex_);
  --requests_;
  prompt_ids_ -= work.prompt_ids;
}

void GeneratingThread::run() {
  GeneratingLoop loop({.model = model_,
                       .threads = threads_,
                       .limits = limits_,
                       .metrics = metrics_,
                       .forget = [this](const QueuedWork& work) { forget(work); }});
  std::vector<QueuedWork> arrivals;
  bool goes_on = true;
  while (goes_on) {
    goes_on = take_arrivals(arrivals, loop.is_idle());
    try {
      loop.take(arrivals);
      if (goes_on) loop.step();
    } catch (...) {
      // Memory ran out where no request is to blame.
      loop.fail_all(std::current_exception());
    }
  }
  loop.fail_all(stopping_problem());
  const std::lock_guard lock(mutex_);
  has_ended_ = true;
  arrived_.notify_all();
}

}  // namespace headlight::server::openai
