// Messenger: the one thread of a rank that makes all calls of the link. It exchanges what the
// rank asks for, gives and expects signs of life, and notices when another rank has gone.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "headlight/ranks/link.h"
#include "headlight/ranks/process_state.h"

namespace headlight::ranks {

// Why a run of several ranks ends early.
struct Fault {
  std::string text = {};  // one line, as an Error has it
  int exit_code = 1;
  bool is_told_here = false;       // this is the lowest living rank, which tells it
  bool have_all_answered = false;  // so nobody looks for the teller later
};

// What a signal to this process means for all ranks. First it is looked at whether all are there.
struct EndWish {
  bool ends = false;  // at once; otherwise who works here saves and leaves
  int exit_code = 1;
};

struct MessengerOptions {
  // Called once, in the messenger's thread, when the run cannot go on; the link may still have
  // notices to send. A program ends here; where it returns, all exchanges throw Error(failed).
  std::function<void(const Fault&, Link&)> on_fault = {};
  // Whether this process was told to end.
  std::function<std::optional<EndWish>()> end_wish = {};
  // Called in the messenger's thread where this is the lowest living rank, told to end, and another
  // does not answer: it may have gone, or its link is slow. The run goes on to where it is saved.
  std::function<void(const std::string& text)> on_silence = {};
  // Without a sign of life for so long, a rank counts as gone; and so long all have to come
  // together.
  std::chrono::duration<double> timeout{60};
  // This process's, as its launcher says it: until all have come together, nothing else is known.
  int launched_rank = 0;
};

// One thread asks at a time.
class Messenger {
 public:
  // Opens the link and waits for it; throws what that throws. Where it takes too long, that is a
  // fault.
  Messenger(std::unique_ptr<Link> link, MessengerOptions options);
  // Goes without a word where leave() was not called.
  ~Messenger();
  Messenger(const Messenger&) = delete;
  Messenger& operator=(const Messenger&) = delete;

  int rank() const noexcept { return rank_; }
  int count() const noexcept { return count_; }
  const std::string& host() const noexcept { return host_; }

  // Sends and receives at the same time; either may be empty. The memory is the caller's and stays
  // until wait(). Two ranks start what they exchange in the same order.
  struct Exchange;
  using Handle = std::shared_ptr<Exchange>;
  Handle start(int peer, std::span<const std::byte> out, std::span<std::byte> in);
  void wait(const Handle& handle);

  // Tells all others that this rank cannot go on, and why; returns when the fault is over, where
  // on_fault returns.
  void fail(const std::string& text, int exit_code);
  // Waits until all ranks have come here, then closes the link, unless the launcher is ending the
  // ranks already: it would not answer. False: all have come, and the link has not closed within
  // the timeout. It may never do so, and with it the messenger's thread: the process has to end at
  // once.
  [[nodiscard]] bool leave(bool closes = true);

  void set_timeout(std::chrono::duration<double> timeout) { timeout_ = timeout.count(); }
  // What to do when a rank has gone, for people.
  void set_advice(const std::string& advice);
  // For people: "rank 2", with its machine where that is known.
  std::string name_of(int rank) const;
  void set_hosts(std::vector<std::string> hosts);
  // Of these, how many are this rank's machine: 1 at least.
  int ranks_here() const;
  // What own_process() gives on each rank: of those on this machine it is then known when they go.
  void set_processes(std::vector<std::string> processes);

 private:
  using Clock = std::chrono::steady_clock;
  enum class End { none, fault, left };
  struct PendingFault {
    std::string text = {};
    int exit_code = 1;
    int lost = -1;         // the rank that has gone, if one has
    bool is_news = false;  // the others have not heard of it
  };

  void wait_until_open(std::unique_lock<std::mutex>& lock);
  std::optional<Fault> fault_of_opening(Clock::time_point begin,
                                        std::optional<Clock::time_point>& told) const;
  void run();
  bool turn();
  bool has_paused(Clock::time_point now);
  void wait_for_work();
  void take_orders();
  void finish_exchanges();
  void take_notice(const Notice& notice);
  void give_signs_of_life(Clock::time_point now);
  void look_for_the_gone(Clock::time_point now);
  void ask_who_is_there(Clock::time_point now);
  void consider_answers(Clock::time_point now);
  static PendingFault fault_in(const std::string& words);
  bool is_missed(int other) const;
  bool has_answered(int other) const;
  bool is_alive(int other, Clock::time_point now) const;
  bool is_lowest_alive(Clock::time_point now) const;
  ProcessState process_of(int other, Clock::time_point now) const;
  double silence_of(int other, Clock::time_point now) const;
  void begin_fault(PendingFault fault);
  void tell_of_silence(int rank, Clock::time_point now) const;
  std::string with_advice(std::string text) const;
  void end_by_loss(int rank, Clock::time_point now);
  void end_by_fault();
  bool leave_if_all_do();
  void tell_all(const std::string& notice);
  void end(End how, const std::string& text);
  [[noreturn]] void refuse() const;

  std::unique_ptr<Link> link_;
  MessengerOptions options_;
  int rank_ = 0;
  int count_ = 1;
  std::string host_;

  mutable std::mutex mutex_;      // for what follows, up to the next comment
  std::condition_variable work_;  // wakes the messenger
  std::condition_variable done_;  // wakes who asked
  std::deque<Handle> orders_;
  std::optional<PendingFault> own_failure_;
  std::vector<std::string> hosts_;
  std::vector<std::string> processes_;
  std::string advice_;
  bool wants_to_leave_ = false;
  bool closes_ = true;
  bool have_all_left_ = false;
  bool is_open_ = false;
  std::exception_ptr open_error_;
  End end_ = End::none;
  std::string end_text_;
  std::atomic<bool> is_abandoned_{false};
  std::atomic<double> timeout_;  // seconds

  // Of the messenger's thread alone.
  std::vector<Handle> under_way_;
  std::vector<Clock::time_point> last_heard_;
  std::vector<bool> has_left_;
  std::vector<int> questioners_;  // who asks whether this rank lives
  Clock::time_point last_sign_;
  Clock::time_point last_turn_;
  Clock::time_point last_progress_;  // of exchanges
  Clock::time_point listens_until_;
  std::optional<Clock::time_point> asked_;  // who has not been heard since then may be gone
  int looks_for_last_words_ = 0;            // since one was seen to have gone without an answer
  bool has_looked_ = false;                 // since this process was told to end
  std::optional<PendingFault> fault_;       // told when it is known who lives
  bool has_said_goodbye_ = false;

  std::thread thread_;
};

}  // namespace headlight::ranks
