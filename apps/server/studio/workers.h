// Workers: the studio's own threads, on which everything is computed that takes longer than a
// moment, in the order in which it comes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "apps/server/http/http.h"

namespace headlight::server::studio {

class Workers {
 public:
  struct Options {
    int threads = 4;
    size_t waiting = 64;  // more is 503
  };
  explicit Workers(const Options& options);
  ~Workers();  // stops
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // What it throws becomes the answer; whoever has gone when its turn comes is left out. Throws
  // HttpError 503 when too many wait.
  void compute(std::shared_ptr<Reply> reply,
               std::function<void(const std::shared_ptr<Reply>&)> work);
  // Lets nobody wait any longer, and waits for what is being computed. False: that goes on.
  bool stop(std::chrono::steady_clock::time_point until);

 private:
  struct Order {
    std::shared_ptr<Reply> reply;
    std::function<void(const std::shared_ptr<Reply>&)> work;
  };
  void serve();
  static void compute(const Order& order);

  size_t most_waiting_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Order> orders_;
  bool is_stopping_ = false;
  int computing_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace headlight::server::studio
