// write(2) until all is written, or nobody will read it.
#include "apps/cli/program/output.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <new>

#include "apps/cli/program/interruption.h"
#include "headlight/io/io.h"
#include "headlight/ranks/ranks.h"
#include "headlight/text/text.h"

namespace headlight::cli {
namespace {

constexpr size_t kBufferBytes = 1 << 16;

// Waits until something can be written without waiting. False when a signal waits too, and nobody
// has read anything for a second.
bool wait_for_reader(int file) {
  constexpr int kMilliseconds = 100;
  constexpr int kMostWaits = 10;
  for (int waits = 0; waiting_signal() == 0 || waits < kMostWaits;) {
    pollfd wait{file, POLLOUT, 0};
    if (poll(&wait, 1, kMilliseconds) > 0) return true;
    waits += waiting_signal() == 0 ? 0 : 1;
  }
  return false;
}

// 0, or the errno of the failure. While signals are held, no write waits for longer than one of
// them would: a pipe that can be written takes PIPE_BUF bytes at once.
int write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const bool is_held = are_signals_held();
    if (is_held && !wait_for_reader(file)) return EPIPE;
    const size_t most = is_held ? std::min<size_t>(text.size(), PIPE_BUF) : text.size();
    const ssize_t written = ::write(file, text.data(), most);
    if (written >= 0) {
      text.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd wait{file, POLLOUT, 0};
      if (!is_held) poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

// Writing to a terminal that has gone is an error of input and output.
bool is_reader_gone(int problem) {
  struct stat facts {};
  return problem == EPIPE ||
         (problem == EIO && fstat(STDOUT_FILENO, &facts) == 0 && S_ISCHR(facts.st_mode));
}

// What can be shown by itself: whole lines, or else whole code points.
size_t whole_length(std::string_view text) {
  if (const size_t end = text.rfind('\n'); end != std::string_view::npos) return end + 1;
  for (size_t count = 1; count <= std::min<size_t>(3, text.size()); ++count) {
    const size_t at = text.size() - count;
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte >= 0xC0) return io::code_point_length(text, at) == 0 ? at : text.size();
  }
  return text.size();
}

}  // namespace

StandardOutput::StandardOutput() : is_terminal_(is_output_terminal()) {}

bool is_output_terminal() { return isatty(STDOUT_FILENO) == 1 && !ranks::launch_of_this_process(); }

void StandardOutput::write(std::span<const std::byte> bytes) {
  buffer_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (buffer_.size() >= kBufferBytes) write_out(whole_length(buffer_));
}

void StandardOutput::flush() { write_out(buffer_.size()); }

void StandardOutput::write_out(size_t length) {
  const std::string_view text = std::string_view(buffer_).substr(0, length);
  const int problem = is_terminal_
                          ? write_all(STDOUT_FILENO, text::printable_lines(text, has_colors_))
                          : write_all(STDOUT_FILENO, text);
  buffer_.erase(0, length);
  if (problem == 0) return;
  if (is_reader_gone(problem)) throw ReaderGone();
  const bool full = problem == ENOSPC || problem == EDQUOT;
  throw base::Error(full ? base::ErrorKind::out_of_memory : base::ErrorKind::failed,
                    "standard output", "", strerrordesc_np(problem));
}

void print_as_it_is(std::string_view text) { write_all(STDERR_FILENO, text); }

void print_line(std::string_view line) {
  try {
    // At once, or what a terminal echoes of a key could come between a full row and its end.
    write_all(STDERR_FILENO, text::printable(line) + "\n");
  } catch (const std::bad_alloc&) {
    // Without anything allocated.
    if (write_all(STDERR_FILENO, line) == 0) write_all(STDERR_FILENO, "\n");
  }
}

}  // namespace headlight::cli
