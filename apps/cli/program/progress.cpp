// A thread that looks at the clock.
#include "apps/cli/program/progress.h"

#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "apps/cli/program/interruption.h"
#include "apps/cli/program/terminal.h"
#include "headlight/text/text.h"

namespace headlight::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kEraseBelow = "\r\x1b[J";

// Lock-free, as a signal handler needs them.
std::atomic<bool> is_progress_shown{false};
std::atomic<bool> is_typing{false};

// What cannot be written is not missed, and not waited for: a terminal may have been stopped.
void write_to_terminal(std::string_view text) noexcept {
  while (!text.empty()) {
    pollfd room{STDERR_FILENO, POLLOUT, 0};
    if (poll(&room, 1, 0) <= 0) return;
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

std::string command_text(const Session& session, std::string_view key,
                         const std::vector<narrate::Placeholder>& values) {
  return catalogue_of(session.arguments).text(key, values);
}

void say_line(const Session& session, std::string_view key,
              const std::vector<narrate::Placeholder>& values) {
  const std::string text = command_text(session, key, values);
  if (!session.talkative) return print_line(text);
  for (const std::string& line : split_words(narrate::wrapped(text, columns_of_errors()), '\n')) {
    if (!line.empty()) print_line(line);
  }
}

void say_what_is_awaited(const Session& session, std::string_view key) {
  if (session.talkative && isatty(STDIN_FILENO) == 1) say_line(session, key);
}

void show_progress(std::string_view line) {
  if (line.empty()) return erase_progress();
  if (is_dumb_terminal()) return;
  is_progress_shown.store(true);
  write_to_terminal(std::string(kEraseBelow).append(text::printable(line)).append("\r"));
}

void erase_progress() noexcept {
  if (is_progress_shown.exchange(false)) write_to_terminal(kEraseBelow);
}

void replace_row(const Session& session, const std::vector<std::string>& lines) {
  is_progress_shown.store(false);
  // At once, or the ^C that a terminal echoes would come between the row and what takes its place.
  std::string text(session.talkative && !is_dumb_terminal() ? kEraseBelow : "");
  if (lines.empty()) return write_to_terminal(text);
  for (const std::string& line : lines) text.append(text::printable(line)).append("\n");
  print_as_it_is(text);
}

TypingRow::TypingRow(std::string_view text) {
  is_typing.store(true);
  print_as_it_is(text);
}
TypingRow::~TypingRow() { is_typing.store(false); }

void end_typing_row() noexcept {
  if (is_typing.exchange(false)) write_to_terminal("\n");
}

struct Progress::Ticking {
  Ticking(const narrate::Catalogue& catalogue, std::string what)
      : catalogue(catalogue), what(std::move(what)), thread([this] { tick(); }) {}
  ~Ticking() {
    {
      const std::lock_guard lock(mutex);
      is_over = true;
    }
    changed.notify_one();
    thread.join();
    erase_progress();
  }

  void tick() {
    constexpr std::chrono::milliseconds kBetweenLines{200};
    std::unique_lock lock(mutex);
    while (!changed.wait_for(lock, kBetweenLines, [this] { return is_over; })) {
      if (!what_when_signalled.empty() && waiting_signal() != 0) {
        begin = what == what_when_signalled ? begin : Clock::now();
        what = what_when_signalled;
        share.reset();
        show();
      } else if (!what.empty() && Clock::now() - begin >= kSilence) {
        show();
      }
    }
  }

  void show() const {
    const std::chrono::duration<double> elapsed = Clock::now() - begin;
    show_progress(
        narrate::progress_line(catalogue, what, share, elapsed.count(), columns_of_errors() - 1));
  }

  static constexpr std::chrono::milliseconds kSilence{1000};
  const narrate::Catalogue& catalogue;
  Clock::time_point begin = Clock::now();
  std::mutex mutex;
  std::condition_variable changed;
  std::string what;
  std::string what_when_signalled;
  std::optional<double> share;
  bool is_over = false;
  std::thread thread;  // the last, so that all else is there when it starts
};

Progress::Progress(const Session& session, std::string what) {
  if (!session.talkative) return;
  ticking_ = std::make_unique<Ticking>(catalogue_of(session.arguments), std::move(what));
}

Progress::~Progress() = default;

void Progress::reached(double share) {
  if (!ticking_) return;
  const std::lock_guard lock(ticking_->mutex);
  ticking_->share = share;
}

void Progress::now(std::string what) {
  if (!ticking_) return;
  const std::lock_guard lock(ticking_->mutex);
  ticking_->what = std::move(what);
}

void Progress::restart(std::string what) {
  if (!ticking_) return;
  const std::lock_guard lock(ticking_->mutex);
  ticking_->what = std::move(what);
  ticking_->share.reset();
  ticking_->begin = Clock::now();
}

void Progress::when_signalled(std::string what) {
  if (!ticking_) return;
  const std::lock_guard lock(ticking_->mutex);
  ticking_->what_when_signalled = std::move(what);
}

BlockProgress::BlockProgress(const Session& session, std::string what)
    : session_(session),
      what_(std::move(what)),
      is_over_all_(isatty(STDIN_FILENO) != 1 && isatty(STDOUT_FILENO) != 1) {
  if (is_over_all_) progress_.emplace(session_, what_);
}

void BlockProgress::begin_block() {
  if (!is_over_all_) progress_.emplace(session_, what_);
}

void BlockProgress::reached(double share) {
  if (!is_over_all_) progress_->reached(share);
}

void BlockProgress::end_block() {
  if (!is_over_all_) progress_.reset();
}

}  // namespace headlight::cli
