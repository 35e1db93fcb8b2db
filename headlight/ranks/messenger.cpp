// The messenger's loop, and what it is asked to do.
#include "headlight/ranks/messenger.h"

#include <algorithm>

#include "headlight/base/base.h"

namespace headlight::ranks {
namespace {

using namespace std::chrono_literals;

constexpr auto kIdle = 1ms;
// While exchanges are under way: first no time is lost, then the cores are for those who compute.
constexpr auto kWatchful = 1ms;
constexpr auto kShortestPause = 50us;
constexpr int kShareOfPauses = 20;  // of the time that was waited already
// Who was stopped first listens: to send to one who has gone would close the connection with all
// that waits in it.
constexpr auto kPause = 1s;
constexpr auto kTimeToListen = 200ms;
// Where ranks do not come together, one after the other may tell it. A launcher tells the others to
// end a second after one has gone.
constexpr auto kTurnToTell = 2s;
constexpr int kMostTurns = 5;
// Who is told to end may still come together with the others, who are told too, and end with them.
constexpr auto kTimeToEndTogether = 1s;

}  // namespace

struct Messenger::Exchange {
  int peer = 0;
  std::span<const std::byte> out;
  std::span<std::byte> in;
  std::optional<Link::Request> sending, receiving;
  bool is_done = false;  // guarded by the messenger's mutex
};

Messenger::Messenger(std::unique_ptr<Link> link, MessengerOptions options)
    : link_(std::move(link)), options_(std::move(options)), timeout_(options_.timeout.count()) {
  thread_ = std::thread([this] { run(); });
  std::unique_lock lock(mutex_);
  wait_until_open(lock);
  if (!open_error_) return;
  lock.unlock();
  thread_.join();
  std::rethrow_exception(open_error_);
}

void Messenger::wait_until_open(std::unique_lock<std::mutex>& lock) {
  constexpr auto kLook = 20ms;
  const Clock::time_point begin = Clock::now();
  const auto is_over = [this] { return is_open_ || open_error_; };
  std::optional<Fault> fault;
  std::optional<Clock::time_point> told;
  while (!fault && !done_.wait_for(lock, kLook, is_over)) fault = fault_of_opening(begin, told);
  if (fault && options_.on_fault) options_.on_fault(*fault, *link_);
  done_.wait(lock, is_over);
}

// Who lives cannot be known yet. Who is told to end (since `told`) while it waits for its turn says
// nothing: a lower rank has told it.
std::optional<Fault> Messenger::fault_of_opening(Clock::time_point begin,
                                                 std::optional<Clock::time_point>& told) const {
  const Clock::time_point now = Clock::now();
  const auto late = now - begin - options_.timeout;
  const auto wish = options_.end_wish ? options_.end_wish() : std::nullopt;
  if (wish && wish->ends) {
    if (!told) told = now;
    if (late.count() >= 0 || now - *told >= kTimeToEndTogether)
      return Fault{.exit_code = wish->exit_code, .have_all_answered = true};
  }
  if (late.count() < 0) return std::nullopt;
  if (late < kTurnToTell * std::min(options_.launched_rank, kMostTurns)) return std::nullopt;
  const auto seconds = std::to_string(static_cast<int64_t>(timeout_));
  return Fault{.text = "ranks: they have not come together for " + seconds + " s",
               .is_told_here = true,
               .have_all_answered = true};
}

Messenger::~Messenger() {
  is_abandoned_ = true;
  work_.notify_one();
  if (thread_.joinable()) thread_.join();
}

Messenger::Handle Messenger::start(int peer, std::span<const std::byte> out,
                                   std::span<std::byte> in) {
  auto exchange = std::make_shared<Exchange>();
  exchange->peer = peer;
  exchange->out = out;
  exchange->in = in;
  const std::lock_guard lock(mutex_);
  if (end_ != End::none) refuse();
  orders_.push_back(exchange);
  work_.notify_one();
  return exchange;
}

void Messenger::wait(const Handle& handle) {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return handle->is_done || end_ != End::none; });
  if (!handle->is_done) refuse();
}

void Messenger::fail(const std::string& text, int exit_code) {
  std::unique_lock lock(mutex_);
  if (end_ != End::none) return;
  own_failure_ = PendingFault{.text = text, .exit_code = exit_code, .is_news = true};
  work_.notify_one();
  done_.wait(lock, [this] { return end_ != End::none; });
}

bool Messenger::leave(bool closes) {
  std::unique_lock lock(mutex_);
  if (end_ != End::none) return true;
  closes_ = closes;
  wants_to_leave_ = true;
  work_.notify_one();
  const auto has_ended = [this] { return end_ != End::none; };
  // As long as somebody has not come, it is noticed when that one has gone. Then nobody is watched.
  done_.wait(lock, [&] { return has_ended() || have_all_left_; });
  const std::chrono::duration<double> timeout(timeout_);
  if (!done_.wait_for(lock, timeout, has_ended)) return false;
  if (end_ == End::fault) refuse();
  return true;
}

void Messenger::set_advice(const std::string& advice) {
  const std::lock_guard lock(mutex_);
  advice_ = advice;
}

std::string Messenger::name_of(int rank) const {
  const std::lock_guard lock(mutex_);
  const auto index = static_cast<size_t>(rank);
  const std::string name = "rank " + std::to_string(rank);
  return index < hosts_.size() ? name + " on " + hosts_[index] : name;
}

void Messenger::set_hosts(std::vector<std::string> hosts) {
  const std::lock_guard lock(mutex_);
  hosts_ = std::move(hosts);
}

int Messenger::ranks_here() const {
  const std::lock_guard lock(mutex_);
  return std::max(1, static_cast<int>(std::ranges::count(hosts_, host_)));
}

void Messenger::set_processes(std::vector<std::string> processes) {
  const std::lock_guard lock(mutex_);
  processes_ = std::move(processes);
}

void Messenger::refuse() const {
  throw base::Error(base::ErrorKind::failed, "", "",
                    end_text_.empty() ? "ranks: the run of several ranks is over" : end_text_);
}

void Messenger::run() {
  try {
    link_->open();
    rank_ = link_->rank();
    count_ = link_->count();
    host_ = link_->host();
  } catch (...) {
    const std::lock_guard lock(mutex_);
    open_error_ = std::current_exception();
    done_.notify_all();
    return;
  }
  last_sign_ = last_turn_ = last_progress_ = listens_until_ = Clock::now();
  last_heard_.assign(static_cast<size_t>(count_), last_sign_);
  has_left_.assign(static_cast<size_t>(count_), false);
  {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    done_.notify_all();
  }
  while (!is_abandoned_) {
    try {
      if (!turn()) return;
    } catch (const std::exception& error) {
      // The link is broken: nobody can be told or asked.
      if (!fault_) fault_ = PendingFault{.text = error.what()};
      asked_ = Clock::now();
      end_by_fault();
      return;
    }
  }
}

// False: it is over.
bool Messenger::turn() {
  wait_for_work();
  finish_exchanges();
  while (const auto notice = link_->next_notice()) take_notice(*notice);
  const Clock::time_point now = Clock::now();
  if (has_paused(now)) return true;
  take_orders();
  give_signs_of_life(now);
  look_for_the_gone(now);
  consider_answers(now);
  {
    const std::lock_guard lock(mutex_);
    if (end_ != End::none) return false;
  }
  return !leave_if_all_do();
}

// Whether this process was stopped a moment ago.
bool Messenger::has_paused(Clock::time_point now) {
  if (now - last_turn_ >= kPause) listens_until_ = now + kTimeToListen;
  last_turn_ = now;
  return now < listens_until_;
}

void Messenger::wait_for_work() {
  std::unique_lock lock(mutex_);
  if (!orders_.empty()) return;
  Clock::duration pause = kIdle;
  if (!under_way_.empty()) {
    const Clock::duration waited = Clock::now() - last_progress_;
    if (waited < kWatchful) {
      lock.unlock();
      std::this_thread::yield();
      return;
    }
    pause = std::clamp<Clock::duration>(waited / kShareOfPauses, kShortestPause, kIdle);
  }
  work_.wait_for(lock, pause);
}

void Messenger::take_orders() {
  std::deque<Handle> orders;
  std::optional<PendingFault> failure;
  {
    const std::lock_guard lock(mutex_);
    orders.swap(orders_);
    failure.swap(own_failure_);
  }
  if (!orders.empty()) last_progress_ = Clock::now();
  for (const Handle& exchange : orders) {
    if (!exchange->in.empty()) exchange->receiving = link_->receive(exchange->peer, exchange->in);
    if (!exchange->out.empty()) exchange->sending = link_->send(exchange->peer, exchange->out);
    under_way_.push_back(exchange);
  }
  if (failure) begin_fault(std::move(*failure));
}

void Messenger::finish_exchanges() {
  const auto is_over = [&](const Handle& exchange) {
    if (exchange->receiving && link_->is_done(*exchange->receiving)) {
      exchange->receiving.reset();
      last_heard_[static_cast<size_t>(exchange->peer)] = Clock::now();
    }
    if (exchange->sending && link_->is_done(*exchange->sending)) exchange->sending.reset();
    return !exchange->receiving && !exchange->sending;
  };
  const auto done = std::stable_partition(under_way_.begin(), under_way_.end(),
                                          [&](const Handle& one) { return !is_over(one); });
  if (done == under_way_.end()) return;
  last_progress_ = Clock::now();
  const std::lock_guard lock(mutex_);
  for (auto each = done; each != under_way_.end(); ++each) (*each)->is_done = true;
  under_way_.erase(done, under_way_.end());
  done_.notify_all();
}

void Messenger::end(End how, const std::string& text) {
  const std::lock_guard lock(mutex_);
  end_ = how;
  end_text_ = text;
  done_.notify_all();
}

}  // namespace headlight::ranks
