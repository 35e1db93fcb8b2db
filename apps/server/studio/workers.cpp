// A queue and its threads.
#include "apps/server/studio/workers.h"

namespace headlight::server::studio {

Workers::Workers(const Options& options) : most_waiting_(options.waiting) {
  for (int i = 0; i < options.threads; ++i) threads_.emplace_back([this] { serve(); });
}

Workers::~Workers() {
  stop(std::chrono::steady_clock::time_point::max());
  for (std::thread& thread : threads_) thread.join();
}

void Workers::compute(std::shared_ptr<Reply> reply,
                      std::function<void(const std::shared_ptr<Reply>&)> work) {
  {
    const std::lock_guard lock(mutex_);
    if (is_stopping_) refuse_busy("the server stops");
    if (orders_.size() >= most_waiting_) {
      refuse_busy(std::to_string(orders_.size()) + " requests wait to be computed, at most " +
                  std::to_string(most_waiting_) + " may");
    }
    orders_.push_back({std::move(reply), std::move(work)});
  }
  changed_.notify_one();
}

void Workers::serve() {
  while (true) {
    Order order;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return is_stopping_ || !orders_.empty(); });
      if (is_stopping_) return;
      order = std::move(orders_.front());
      orders_.pop_front();
      ++computing_;
    }
    compute(order);
    order = {};  // what it holds goes before it counts as done
    const std::lock_guard lock(mutex_);
    --computing_;
    if (is_stopping_) changed_.notify_all();
  }
}

void Workers::compute(const Order& order) {
  if (order.reply->is_gone()) return;
  try {
    order.work(order.reply);
  } catch (...) {
    order.reply->send_exception(std::current_exception());
  }
}

bool Workers::stop(std::chrono::steady_clock::time_point until) {
  std::deque<Order> dropped;  // goes after the lock
  std::unique_lock lock(mutex_);
  is_stopping_ = true;
  dropped.swap(orders_);
  changed_.notify_all();
  return changed_.wait_until(lock, until, [&] { return computing_ == 0; });
}

}  // namespace headlight::server::studio
