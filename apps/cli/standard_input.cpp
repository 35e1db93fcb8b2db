// read(2) until the end.
#include "apps/cli/standard_input.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "headlight/base/base.h"

namespace headlight::cli {

std::string read_standard_input() {
  constexpr size_t kLimit = size_t{1} << 30;  // bytes
  const auto refuse = [](const std::string& why) {
    throw base::Error(base::ErrorKind::bad_input, "standard input", "", why);
  };
  std::string text;
  std::array<char, 1 << 16> buffer;
  for (;;) {
    const ssize_t count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (count == 0) return text;
    if (count > 0) {
      text.append(buffer.data(), static_cast<size_t>(count));
      if (text.size() > kLimit) refuse("more than " + std::to_string(kLimit) + " bytes");
    } else if (errno == EAGAIN) {
      pollfd wait{STDIN_FILENO, POLLIN, 0};
      poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      refuse(strerrordesc_np(errno));
    }
  }
}

}  // namespace headlight::cli
