// Ranks that go, fail or fall silent: the others notice, and one of them tells.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <ctime>

#include "tests/ranks/thread_link.h"

namespace headlight::ranks {
namespace {

using namespace std::chrono_literals;

// What each rank's on_fault was given.
struct Heard {
  std::mutex mutex;
  std::map<int, Fault> faults;
  std::map<int, std::string> silences;  // and its on_silence
};

class Ranks {
 public:
  explicit Ranks(int count, std::chrono::duration<double> timeout = 20s) : network(count) {
    for (int rank = 0; rank < count; ++rank) {
      messengers.push_back(std::make_unique<Messenger>(
          std::make_unique<ThreadLink>(network, rank),
          MessengerOptions{
              .on_fault =
                  [this, rank](const Fault& fault, Link&) {
                    const std::lock_guard lock(heard.mutex);
                    heard.faults[rank] = fault;
                  },
              .end_wish = [this] { return is_told_to_end ? std::optional(wish) : std::nullopt; },
              .on_silence =
                  [this, rank](const std::string& text) {
                    const std::lock_guard lock(heard.mutex);
                    heard.silences[rank] = text;
                  }}));
      messengers.back()->set_timeout(timeout);
    }
  }
  // Like SIGKILL: it says nothing any more.
  void kill(int rank) { messengers[static_cast<size_t>(rank)].reset(); }

  bool has_heard(const std::function<bool()>& what) {
    const std::lock_guard lock(heard.mutex);
    return what();
  }
  void wait_for(size_t count) {
    wait_until([&] { return heard.faults.size() >= count; });
  }
  void wait_until(const std::function<bool()>& is_so) {
    const auto begin = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begin < 20s) {
      if (has_heard(is_so)) return;
      std::this_thread::sleep_for(5ms);
    }
  }

  ThreadNetwork network;
  Heard heard;
  std::atomic<bool> is_told_to_end{false};
  EndWish wish;  // set before
  std::vector<std::unique_ptr<Messenger>> messengers;
};

TEST(Messenger, tells_of_a_failure_once_by_the_lowest_rank_with_its_exit_code) {
  Ranks ranks(4);
  std::thread failing([&] { ranks.messengers[2]->fail("disk (b): is full", 4); });
  ranks.wait_for(4);
  failing.join();
  ASSERT_EQ(ranks.heard.faults.size(), 4U);
  for (const auto& [rank, fault] : ranks.heard.faults) {
    EXPECT_EQ(fault.text, "disk (b): is full");
    EXPECT_EQ(fault.exit_code, 4);
    EXPECT_EQ(fault.is_told_here, rank == 0);
    EXPECT_TRUE(fault.have_all_answered);
  }
}

TEST(Messenger, tells_of_a_long_failure_with_its_beginning_and_its_reason) {
  for (const int shift : {0, 1}) {
    const std::string path = std::string(static_cast<size_t>(shift), 'x') + [] {
      std::string letters;
      for (int i = 0; i < 700; ++i) letters += "ü";
      return letters;
    }();
    Ranks ranks(2);
    std::thread failing([&] { ranks.messengers[1]->fail("data (" + path + "): not there", 3); });
    ranks.wait_for(2);
    failing.join();
    const std::string told = ranks.heard.faults[0].text;
    EXPECT_LT(told.size(), kNoticeBytes);
    EXPECT_GT(told.size(), kNoticeBytes - 50);
    EXPECT_TRUE(told.starts_with("data (" + path.substr(0, 101)));
    EXPECT_TRUE(told.ends_with("ü): not there"));
    const size_t middle = told.find("…");
    ASSERT_NE(middle, std::string::npos);
    EXPECT_EQ(told.substr(middle - 2, 7), "ü…ü") << "whole characters";
  }
}

TEST(Messenger, names_a_rank_that_falls_silent_and_the_lowest_living_one_tells) {
  Ranks ranks(4, 1s);
  ranks.kill(0);
  ranks.wait_for(3);
  ASSERT_EQ(ranks.heard.faults.size(), 3U);
  for (const auto& [rank, fault] : ranks.heard.faults) {
    EXPECT_NE(fault.text.find("rank 0"), std::string::npos) << fault.text;
    EXPECT_EQ(fault.exit_code, 1);
    EXPECT_EQ(fault.is_told_here, rank == 1);
    EXPECT_FALSE(fault.have_all_answered);
  }
}

// It may have gone, and a launcher kills those who are left soon; or it is slow, and they save.
TEST(Messenger, who_is_told_to_end_tells_at_once_who_does_not_answer_and_goes_on) {
  Ranks ranks(4, 60s);
  for (auto& messenger : ranks.messengers) messenger->set_advice("all is saved");
  ranks.kill(2);
  ranks.is_told_to_end = true;
  ranks.wait_until([&] { return !ranks.heard.silences.empty(); });
  std::this_thread::sleep_for(300ms);
  EXPECT_TRUE(ranks.has_heard([&] {
    return ranks.heard.silences ==
           std::map<int, std::string>{{0, "ranks (rank 2): does not answer; all is saved"}};
  })) << testing::PrintToString(ranks.heard.silences);
  EXPECT_TRUE(ranks.has_heard([&] { return ranks.heard.faults.empty(); }));
}

TEST(Messenger, who_is_told_to_end_and_ends_at_once_names_the_one_who_does_not_answer) {
  Ranks ranks(4, 60s);
  ranks.wish = {.ends = true, .exit_code = 143};
  ranks.kill(2);
  ranks.is_told_to_end = true;
  ranks.wait_for(3);
  ASSERT_EQ(ranks.heard.faults.size(), 3U);
  for (const auto& [rank, fault] : ranks.heard.faults) {
    EXPECT_NE(fault.text.find("rank 2): has gone"), std::string::npos) << fault.text;
    EXPECT_EQ(fault.is_told_here, rank == 0);
  }
}

// A process that has ended, as another rank would know it.
std::string ended_process() {
  int ends[2];
  if (pipe(ends) != 0) return "";
  const pid_t child = fork();
  if (child == 0) {
    const std::string own = own_process();
    _exit(write(ends[1], own.data(), own.size()) < 0);
  }
  waitpid(child, nullptr, 0);
  std::array<char, 200> text{};
  const ssize_t length = read(ends[0], text.data(), text.size());
  close(ends[0]);
  close(ends[1]);
  return {text.data(), static_cast<size_t>(std::max<ssize_t>(length, 0))};
}

TEST(ProcessState, is_unknown_where_the_process_cannot_be_looked_at) {
  const std::string own = own_process();
  ASSERT_EQ(state_of(own), ProcessState::running);
  const pid_t child = fork();
  if (child == 0) {
    const rlimit no_files{};
    setrlimit(RLIMIT_NOFILE, &no_files);
    _exit(state_of(own) == ProcessState::unknown ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(Messenger, names_the_one_whose_process_has_gone_though_others_do_not_answer_in_time) {
  const std::string gone = ended_process();
  ASSERT_EQ(state_of(gone), ProcessState::gone);
  ASSERT_EQ(state_of(own_process()), ProcessState::running);
  EXPECT_EQ(state_of("another/kernel 1 1"), ProcessState::unknown);
  Ranks ranks(4, 60s);
  for (auto& messenger : ranks.messengers) {
    messenger->set_processes({own_process(), own_process(), gone, own_process()});
  }
  ranks.kill(2);
  ranks.network.stop(0);
  ranks.is_told_to_end = true;
  ranks.wait_for(2);
  ranks.network.go_on();
  ranks.wait_for(3);
  ASSERT_EQ(ranks.heard.faults.size(), 3U);
  for (const auto& [rank, fault] : ranks.heard.faults) {
    EXPECT_NE(fault.text.find("rank 2): has gone"), std::string::npos) << fault.text;
    EXPECT_EQ(fault.is_told_here, rank == 0) << rank;
  }
}

// A process that is stopped until this object goes, as another rank would know it.
class StoppedProcess {
 public:
  StoppedProcess() : ends_(), child_(0) {
    if (pipe(ends_) != 0) return;
    child_ = fork();
    if (child_ == 0) {
      const std::string own = own_process();
      if (write(ends_[1], own.data(), own.size()) > 0) raise(SIGSTOP);
      _exit(0);
    }
    waitpid(child_, nullptr, WUNTRACED);
    std::array<char, 200> text{};
    const ssize_t length = read(ends_[0], text.data(), text.size());
    name_.assign(text.data(), static_cast<size_t>(std::max<ssize_t>(length, 0)));
  }
  ~StoppedProcess() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    close(ends_[0]);
    close(ends_[1]);
  }
  StoppedProcess(const StoppedProcess&) = delete;
  StoppedProcess& operator=(const StoppedProcess&) = delete;
  const std::string& name() const { return name_; }

 private:
  int ends_[2];
  pid_t child_;
  std::string name_;
};

TEST(Messenger, who_saves_before_it_ends_waits_for_one_that_is_stopped) {
  const StoppedProcess stopped;
  ASSERT_EQ(state_of(stopped.name()), ProcessState::stopped);
  Ranks ranks(2, 60s);
  for (auto& messenger : ranks.messengers) {
    messenger->set_processes({own_process(), stopped.name()});
  }
  ranks.network.stop(1);
  ranks.is_told_to_end = true;
  std::this_thread::sleep_for(1s);
  ranks.network.go_on();
  std::thread other([&] { EXPECT_TRUE(ranks.messengers[1]->leave()); });
  EXPECT_TRUE(ranks.messengers[0]->leave());
  other.join();
  EXPECT_TRUE(ranks.heard.faults.empty());
  EXPECT_TRUE(ranks.heard.silences.empty());
}

TEST(Messenger, who_saves_before_it_ends_does_not_wait_for_ever) {
  const StoppedProcess stopped;
  Ranks ranks(2, 1s);
  ranks.messengers[0]->set_processes({own_process(), stopped.name()});
  ranks.network.stop(1);
  ranks.is_told_to_end = true;
  ranks.wait_for(1);
  ranks.network.go_on();
  EXPECT_NE(ranks.heard.faults[0].text.find("rank 1): has given no sign of life"),
            std::string::npos);
}

// The first rank answers and goes before the second has read the answer.
TEST(Messenger, the_last_words_of_one_who_has_gone_are_heard) {
  const std::string gone = ended_process();
  ASSERT_EQ(state_of(gone), ProcessState::gone);
  Ranks ranks(2, 60s);
  ranks.messengers[1]->set_processes({gone, own_process()});
  ranks.messengers[1]->fail("ranks (rank 1): seed is 2", 2);
  ranks.wait_for(2);
  ASSERT_EQ(ranks.heard.faults.size(), 2U);
  EXPECT_TRUE(ranks.heard.faults[0].is_told_here);
  EXPECT_FALSE(ranks.heard.faults[1].is_told_here);
}

TEST(Messenger, who_is_told_to_end_goes_on_where_all_are_there) {
  Ranks ranks(2, 60s);
  ranks.is_told_to_end = true;
  std::this_thread::sleep_for(700ms);
  EXPECT_TRUE(ranks.heard.faults.empty());
  float out = 3, in = 0;
  std::thread other([&] {
    auto& messenger = *ranks.messengers[1];
    messenger.wait(messenger.start(0, std::as_bytes(std::span(&out, 1)), {}));
    EXPECT_TRUE(messenger.leave());
  });
  auto& messenger = *ranks.messengers[0];
  messenger.wait(messenger.start(1, {}, std::as_writable_bytes(std::span(&in, 1))));
  EXPECT_TRUE(messenger.leave());
  other.join();
  EXPECT_EQ(in, 3);
}

TEST(Messenger, who_is_told_to_end_at_once_takes_all_others_along) {
  Ranks ranks(4, 60s);
  ranks.wish = {.ends = true, .exit_code = 143};
  ranks.is_told_to_end = true;
  ranks.wait_for(4);
  ASSERT_EQ(ranks.heard.faults.size(), 4U);
  for (const auto& [rank, fault] : ranks.heard.faults) {
    EXPECT_EQ(fault.exit_code, 143);
    EXPECT_EQ(fault.text, "");
    EXPECT_TRUE(fault.have_all_answered);
  }
}

TEST(Messenger, a_cut_network_ends_every_rank_by_its_timeout) {
  Ranks ranks(4, 1s);
  ranks.network.cut();
  ranks.wait_for(4);
  ASSERT_EQ(ranks.heard.faults.size(), 4U);
  for (const auto& [rank, fault] : ranks.heard.faults) EXPECT_TRUE(fault.is_told_here) << rank;
}

// Stops rank 0 of four until the others have noticed.
void expect_first_is_told_by_second(Ranks& ranks) {
  ranks.network.stop(0);
  ranks.wait_for(3);
  ranks.network.go_on();
  ranks.wait_for(4);
  ASSERT_EQ(ranks.heard.faults.size(), 4U);
  for (const auto& [rank, fault] : ranks.heard.faults) {
    EXPECT_NE(fault.text.find("rank 0): has given no sign of life"), std::string::npos);
    EXPECT_EQ(fault.is_told_here, rank == 1) << rank;
  }
}

TEST(Messenger, who_was_stopped_for_too_long_leaves_the_telling_to_the_others) {
  Ranks ranks(4, 1s);
  expect_first_is_told_by_second(ranks);
}

// The highest rank notices first; when the others have asked once more, the first one runs again.
TEST(Messenger, who_counts_as_gone_and_comes_back_is_not_left_to_tell) {
  const StoppedProcess stopped;
  Ranks ranks(4, 60s);
  for (auto& messenger : ranks.messengers)
    messenger->set_processes({own_process(), own_process(), own_process(), own_process()});
  ranks.messengers[3]->set_processes({stopped.name()});
  ranks.messengers[3]->set_timeout(1s);
  expect_first_is_told_by_second(ranks);
}

TEST(Messenger, all_that_were_stopped_together_go_on) {
  Ranks ranks(4, 1s);
  for (int rank = 0; rank < 4; ++rank) ranks.network.stop(rank);
  std::this_thread::sleep_for(1500ms);
  ranks.network.go_on();
  std::this_thread::sleep_for(700ms);
  EXPECT_TRUE(ranks.heard.faults.empty());
}

TEST(Messenger, knows_how_many_ranks_are_on_its_machine) {
  Ranks ranks(4);
  EXPECT_EQ(ranks.messengers[0]->ranks_here(), 1) << "nothing is known yet";
  for (auto& messenger : ranks.messengers) {
    messenger->set_hosts({"host-0", "host-1", "host-0", "host-0"});
  }
  EXPECT_EQ(ranks.messengers[0]->ranks_here(), 3);
  EXPECT_EQ(ranks.messengers[1]->ranks_here(), 1);
}

TEST(Messenger, waiting_for_a_rank_that_has_failed_throws_its_words) {
  Ranks ranks(2);
  std::thread failing([&] { ranks.messengers[1]->fail("data (x): has changed", 3); });
  float in = 0;
  try {
    auto& messenger = *ranks.messengers[0];
    messenger.wait(messenger.start(1, {}, std::as_writable_bytes(std::span(&in, 1))));
    ADD_FAILURE();
  } catch (const base::Error& error) {
    EXPECT_NE(std::string(error.what()).find("data (x): has changed"), std::string::npos);
  }
  failing.join();
}

TEST(Messenger, who_leaves_waits_for_the_others) {
  Ranks ranks(2);
  std::atomic<bool> has_left{false};
  std::thread first([&] {
    EXPECT_TRUE(ranks.messengers[0]->leave());
    has_left = true;
  });
  std::this_thread::sleep_for(50ms);
  EXPECT_FALSE(has_left);
  EXPECT_TRUE(ranks.messengers[1]->leave());
  first.join();
  EXPECT_TRUE(ranks.heard.faults.empty());
}

// Whose other side has gone since everybody said goodbye.
class LinkThatStays : public ThreadLink {
 public:
  LinkThatStays(ThreadNetwork& network, int rank, bool keeps_notices, std::atomic<bool>& is_free)
      : ThreadLink(network, rank), keeps_notices_(keeps_notices), is_free_(is_free) {}
  bool are_notices_sent() override { return !keeps_notices_ || is_free_; }
  void close() override {
    while (!is_free_) std::this_thread::sleep_for(5ms);
  }

 private:
  bool keeps_notices_;
  std::atomic<bool>& is_free_;
};

TEST(Messenger, who_leaves_does_not_wait_for_ever_for_a_link_that_does_not_close) {
  for (const bool keeps_notices : {false, true}) {
    ThreadNetwork network(2);
    std::atomic<bool> is_free = false;
    Messenger first(std::make_unique<LinkThatStays>(network, 0, keeps_notices, is_free),
                    {.timeout = 500ms});
    Messenger second(std::make_unique<ThreadLink>(network, 1), {});
    std::thread freeing([&] {  // so that this ends without the limit too
      for (int i = 0; i < 1000 && !is_free; ++i) std::this_thread::sleep_for(5ms);
      is_free = true;
    });
    std::thread other([&] { EXPECT_TRUE(second.leave()); });
    EXPECT_FALSE(first.leave()) << keeps_notices;
    is_free = true;
    other.join();
    freeing.join();
  }
}

// Seconds of the processor while nothing comes for two.
double busy_seconds_of_waiting() {
  ThreadNetwork network(2);
  Messenger first(std::make_unique<ThreadLink>(network, 0), {});
  Messenger second(std::make_unique<ThreadLink>(network, 1), {});
  std::thread late([&] {
    std::this_thread::sleep_for(2s);
    const float out = 3;
    second.wait(second.start(0, std::as_bytes(std::span(&out, 1)), {}));
    EXPECT_TRUE(second.leave());
  });
  float in = 0;
  const std::clock_t begin = std::clock();
  first.wait(first.start(1, {}, std::as_writable_bytes(std::span(&in, 1))));
  const double busy = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  EXPECT_TRUE(first.leave());
  late.join();
  EXPECT_EQ(in, 3);
  return busy;
}

TEST(Messenger, leaves_the_processor_to_others_while_it_waits_for_long) {
  EXPECT_LT(busy_seconds_of_waiting(), 0.5);
}

}  // namespace
}  // namespace headlight::ranks
