// write(2) until all is written.
#include "apps/cli/program/output.h"

#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace headlight::cli {
namespace {

constexpr size_t kBufferBytes = 1 << 16;

// 0, or the errno of the failure.
int write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd wait{file, POLLOUT, 0};
      poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace

void StandardOutput::write(std::span<const std::byte> bytes) {
  buffer_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (buffer_.size() >= kBufferBytes) flush();
}

void StandardOutput::flush() {
  const int problem = write_all(STDOUT_FILENO, buffer_);
  buffer_.clear();
  if (problem == 0) return;
  if (problem == EPIPE) throw ReaderGone();
  const bool full = problem == ENOSPC || problem == EDQUOT;
  throw base::Error(full ? base::ErrorKind::out_of_memory : base::ErrorKind::failed,
                    "standard output", "", std::strerror(problem));
}

void print_line(std::string_view line) {
  // Nothing is allocated: memory may be what ran out. Both at once, or what a terminal echoes of a
  // key could come between a full row and its end.
  constexpr std::string_view kEnd = "\n";
  const std::array<iovec, 2> parts = {{{const_cast<char*>(line.data()), line.size()},
                                       {const_cast<char*>(kEnd.data()), kEnd.size()}}};
  const size_t written = static_cast<size_t>(
      std::max<ssize_t>(0, ::writev(STDERR_FILENO, parts.data(), static_cast<int>(parts.size()))));
  if (written > line.size()) return;
  if (write_all(STDERR_FILENO, line.substr(written)) == 0) write_all(STDERR_FILENO, kEnd);
}

}  // namespace headlight::cli
