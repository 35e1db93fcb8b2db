// Ranks as threads of one process: a link over queues in memory, for tests of everything above it.
#pragma once

#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "headlight/ranks/ranks.h"

namespace headlight::ranks {

// What has been sent and not yet received, for all ranks.
class ThreadNetwork {
 public:
  explicit ThreadNetwork(int count) : count_(count) {}
  int count() const { return count_; }

  void put(int from, int to, std::string bytes) {
    const std::lock_guard lock(mutex_);
    if (!is_cut_) messages_[{from, to}].push_back(std::move(bytes));
  }
  bool get(int from, int to, std::span<std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    auto& queue = messages_[{from, to}];
    if (queue.empty()) return false;
    std::memcpy(bytes.data(), queue.front().data(), bytes.size());
    queue.pop_front();
    return true;
  }
  void put_notice(int from, int to, const std::string& bytes) {
    const std::lock_guard lock(mutex_);
    if (!is_cut_) notices_[to].push_back({from, bytes});
  }
  std::optional<Notice> get_notice(int to) {
    std::unique_lock lock(mutex_);
    is_continued_.wait(lock, [&] { return !stopped_.contains(to); });
    auto& queue = notices_[to];
    if (queue.empty()) return std::nullopt;
    Notice notice = std::move(queue.front());
    queue.pop_front();
    return notice;
  }
  // Like SIGSTOP and SIGCONT: who is stopped does nothing.
  void stop(int rank) {
    const std::lock_guard lock(mutex_);
    stopped_.insert(rank);
  }
  void go_on() {
    const std::lock_guard lock(mutex_);
    stopped_.clear();
    is_continued_.notify_all();
  }
  // From now on nothing arrives any more.
  void cut() {
    const std::lock_guard lock(mutex_);
    is_cut_ = true;
  }

 private:
  int count_;
  std::mutex mutex_;
  bool is_cut_ = false;
  std::set<int> stopped_;
  std::condition_variable is_continued_;
  std::map<std::pair<int, int>, std::deque<std::string>> messages_;
  std::map<int, std::deque<Notice>> notices_;
};

class ThreadLink : public Link {
 public:
  ThreadLink(ThreadNetwork& network, int rank) : network_(network), rank_(rank) {}
  void open() override {}
  int rank() const override { return rank_; }
  int count() const override { return network_.count(); }
  std::string host() const override { return "host-" + std::to_string(rank_); }

  Request send(int to, std::span<const std::byte> bytes) override {
    network_.put(rank_, to, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    return 0;
  }
  // Of one sender in order, as they were asked for.
  Request receive(int from, std::span<std::byte> bytes) override {
    receiving_[from].push_back({++last_, bytes});
    senders_[last_] = from;
    return last_;
  }
  bool is_done(Request request) override {
    if (request == 0) return true;
    auto& queue = receiving_[senders_.at(request)];
    if (queue.empty() || queue.front().first != request) return false;
    if (!network_.get(senders_.at(request), rank_, queue.front().second)) return false;
    queue.pop_front();
    return true;
  }
  void send_notice(int to, const std::string& bytes) override {
    network_.put_notice(rank_, to, bytes);
  }
  std::optional<Notice> next_notice() override { return network_.get_notice(rank_); }
  bool are_notices_sent() override { return true; }
  void close() override {}

 private:
  ThreadNetwork& network_;
  int rank_;
  Request last_ = 0;
  std::map<int, std::deque<std::pair<Request, std::span<std::byte>>>> receiving_;
  std::map<Request, int> senders_;
};

// Runs work(group) on `count` ranks at once; throws what the first rank that failed threw.
inline void run_on_threads(int count, const std::function<void(Group&)>& work) {
  ThreadNetwork network(count);
  std::mutex mutex;
  std::exception_ptr first_error;  // others may hear of it as their own
  const auto keep_error = [&] {
    const std::lock_guard lock(mutex);
    if (!first_error) first_error = std::current_exception();
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        Messenger messenger(std::make_unique<ThreadLink>(network, rank), {});
        Group group(messenger);
        try {
          work(group);
          static_cast<void>(messenger.leave());
        } catch (const std::exception& error) {
          keep_error();
          messenger.fail(error.what(), 1);
        }
      } catch (...) {
        keep_error();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (first_error) std::rethrow_exception(first_error);
}

}  // namespace headlight::ranks
