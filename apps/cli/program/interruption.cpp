// A handler that either leaves at once or takes a note.
#include "apps/cli/program/interruption.h"

#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <exception>

#include "apps/cli/program/progress.h"

namespace headlight::cli {
namespace {

// Lock-free, as a signal handler needs them.
std::atomic<int> holding{0};
std::atomic<int> waiting{0};
std::atomic<int64_t> waiting_since{0};      // nanoseconds
std::atomic<bool> waits_for_others{false};  // blocked as long as another program wants

// The file that is being made, where the handler finds it.
std::array<char, 4096> half_made_path;
std::atomic<bool> has_half_made{false};

int64_t nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

[[noreturn]] void end_by(int signal) { end_at_once(exit_code_of(signal)); }

// Nobody is impatient through a terminal that has gone, or within a second.
bool is_impatient(int signal) {
  constexpr int64_t kSecond = 1'000'000'000;
  return signal != SIGHUP && nanoseconds() - waiting_since.load() >= kSecond;
}

void on_signal(int signal) {
  const int before = errno;
  if (holding.load() == 0 || waits_for_others.load()) end_by(signal);
  int none = 0;
  if (waiting.compare_exchange_strong(none, signal)) {
    waiting_since.store(nanoseconds());
  } else if (is_impatient(signal)) {
    end_by(signal);
  }
  errno = before;
}

void handle(int signal) {
  struct sigaction action {};
  if (sigaction(signal, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) return;
  action = {};
  action.sa_handler = on_signal;
  sigaction(signal, &action, nullptr);
}

void set_half_made(const std::string& path) {
  has_half_made.store(false);
  if (path.empty() || path.size() >= half_made_path.size()) return;
  half_made_path[path.copy(half_made_path.data(), path.size())] = '\0';
  has_half_made.store(true);
}

// A signal that has come before waits no longer either.
void wait_for_others() {
  waits_for_others.store(true);
  if (const int signal = waiting.load(); signal != 0) end_by(signal);
}

}  // namespace

void end_at_once(int exit_code) {
  if (has_half_made.load()) unlink(half_made_path.data());
  erase_progress();
  end_typing_row();
  _exit(exit_code);
}

int exit_code_of(int signal) { return 128 + (signal == SIGUSR1 ? SIGINT : signal); }

void take_signal_of_launchers() { handle(SIGUSR1); }

void prepare_process() {
  for (int file = STDIN_FILENO; file <= STDERR_FILENO; ++file) {
    if (fcntl(file, F_GETFD) >= 0) continue;
    // The lowest free number is this one. A closed standard output stays unwritable: what is
    // written to it is lost, and the user is told.
    if (open("/dev/null", file == STDERR_FILENO ? O_WRONLY : O_RDONLY) < 0) _exit(1);
  }
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a limit of file sizes is an error of the write
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) handle(signal);
}

Uninterrupted::Uninterrupted() : exceptions_(std::uncaught_exceptions()) { holding.fetch_add(1); }

bool Uninterrupted::is_signalled() const { return waiting.load() != 0; }

Uninterrupted::~Uninterrupted() {
  if (holding.fetch_sub(1) > 1) return;
  if (std::uncaught_exceptions() > exceptions_) return;
  if (const int signal = waiting.load(); signal != 0) end_by(signal);
}

bool are_signals_held() { return holding.load() > 0; }

int waiting_signal() { return waiting.load(); }

bool take_interrupt() {
  int interrupt = SIGINT;
  return waiting.compare_exchange_strong(interrupt, 0);
}

int InterruptibleFiles::open(const std::string& path, int flags, unsigned permissions) {
  const bool is_new = (flags & O_EXCL) != 0;
  const bool is_direct = !is_new && (flags & O_ACCMODE) == O_WRONLY;
  if (is_new) set_half_made(half_made_ = path);
  if (is_direct) wait_for_others();
  const int file = FilesWithEmbedded::open(path, flags, permissions);
  if (is_new && file < 0) set_half_made(half_made_ = "");
  if (is_direct && file < 0) waits_for_others.store(false);
  if (is_direct && file >= 0) direct_ = file;
  return file;
}

int InterruptibleFiles::close(int file) {
  if (file == direct_) {
    waits_for_others.store(false);
    direct_ = -1;
  }
  return FilesWithEmbedded::close(file);
}

int InterruptibleFiles::rename(const std::string& from, const std::string& to) {
  const int result = FilesWithEmbedded::rename(from, to);
  if (result >= 0 && from == half_made_) set_half_made(half_made_ = "");
  return result;
}

int InterruptibleFiles::remove(const std::string& path) {
  const int result = FilesWithEmbedded::remove(path);
  if (path == half_made_) set_half_made(half_made_ = "");
  return result;
}

}  // namespace headlight::cli
