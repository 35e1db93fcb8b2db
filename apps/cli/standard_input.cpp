// read(2), once or until the end.
#include "apps/cli/standard_input.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "headlight/base/base.h"

namespace headlight::cli {
namespace {

[[noreturn]] void refuse_input(const std::string& why) {
  throw base::Error(base::ErrorKind::bad_input, "standard input", "", why);
}

}  // namespace

std::string read_some_of_standard_input() {
  std::array<char, 1 << 16> buffer;
  for (;;) {
    const ssize_t count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (count >= 0) return {buffer.data(), static_cast<size_t>(count)};
    if (errno == EAGAIN) {
      pollfd wait{STDIN_FILENO, POLLIN, 0};
      poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      refuse_input(strerrordesc_np(errno));
    }
  }
}

void check_input_size(size_t bytes) {
  constexpr size_t kLimit = size_t{1} << 30;
  if (bytes > kLimit) refuse_input("more than " + std::to_string(kLimit) + " bytes");
}

std::string read_standard_input() {
  std::string text;
  for (;;) {
    const std::string more = read_some_of_standard_input();
    if (more.empty()) return text;
    text += more;
    check_input_size(text.size());
  }
}

}  // namespace headlight::cli
