// A namespace belongs to a thread: one is started for each visit and takes it along when it ends.
#include "tests/ranks/network_namespace.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <thread>
#include <utility>

namespace headlight::test {
namespace {

void in_own_thread(const std::function<void()>& work) {
  std::exception_ptr thrown;
  std::thread([&] {
    try {
      work();
    } catch (...) {
      thrown = std::current_exception();
    }
  }).join();
  if (thrown) std::rethrow_exception(thrown);
}

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

}  // namespace

NetworkNamespace::NetworkNamespace(const std::string& path)
    : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (file_ < 0) fail(path);
}

NetworkNamespace::~NetworkNamespace() {
  if (file_ >= 0) close(file_);
}

NetworkNamespace::NetworkNamespace(NetworkNamespace&& other) noexcept
    : file_(std::exchange(other.file_, -1)) {}

NetworkNamespace NetworkNamespace::made_for_trying() {
  int file = -1;
  in_own_thread([&] {
    if (unshare(CLONE_NEWNET) != 0) fail("a network namespace cannot be made");
    file = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    if (file < 0) fail("/proc/thread-self/ns/net");
  });
  return NetworkNamespace(file);
}

void NetworkNamespace::inside(const std::function<void()>& work) const {
  in_own_thread([&] {
    if (setns(file_, CLONE_NEWNET) != 0) fail("a network namespace cannot be entered");
    work();
  });
}

}  // namespace headlight::test
