// A handler that either leaves at once or takes a note.
#include "apps/cli/program/interruption.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <exception>

#include "apps/cli/program/progress.h"

namespace headlight::cli {
namespace {

// Lock-free, as a signal handler needs them.
std::atomic<int> holding{0};
std::atomic<int> waiting{0};

void on_signal(int signal) {
  if (holding.load() > 0 && waiting.exchange(signal) == 0) return;
  erase_progress();
  _exit(128 + signal);
}

void handle(int signal) {
  struct sigaction action {};
  if (sigaction(signal, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) return;
  action = {};
  action.sa_handler = on_signal;
  sigaction(signal, &action, nullptr);
}

}  // namespace

void prepare_process() {
  for (int file = STDIN_FILENO; file <= STDERR_FILENO; ++file) {
    if (fcntl(file, F_GETFD) >= 0) continue;
    // The lowest free number is this one. A closed standard output stays unwritable: what is
    // written to it is lost, and the user is told.
    if (open("/dev/null", file == STDERR_FILENO ? O_WRONLY : O_RDONLY) < 0) _exit(1);
  }
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a limit of file sizes is an error of the write
  handle(SIGINT);
  handle(SIGTERM);
}

Uninterrupted::Uninterrupted() : exceptions_(std::uncaught_exceptions()) { holding.fetch_add(1); }

bool Uninterrupted::is_signalled() const { return waiting.load() != 0; }

Uninterrupted::~Uninterrupted() {
  if (holding.fetch_sub(1) > 1) return;
  if (std::uncaught_exceptions() > exceptions_) return;
  if (const int signal = waiting.load(); signal != 0) _exit(128 + signal);
}

}  // namespace headlight::cli
