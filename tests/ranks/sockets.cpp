// Blocking sockets with poll() before each wait.
#include "tests/ranks/sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace headlight::test {
namespace {

sockaddr_in place(const std::string& address, int port) {
  sockaddr_in result{};
  result.sin_family = AF_INET;
  result.sin_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET, address.c_str(), &result.sin_addr);
  return result;
}

bool is_ready(int file, short events, Milliseconds limit) {
  pollfd waited = {file, events, 0};
  return poll(&waited, 1, static_cast<int>(limit.count())) > 0;
}

}  // namespace

HostSocket::HostSocket(const TestHosts& hosts, int host, int type) {
  hosts.inside(host, [&] { file_ = socket(AF_INET, type | SOCK_CLOEXEC, 0); });
  // Who does not read at once loses no datagrams; a stream waits by itself.
  const int bytes = 4 * 1024 * 1024;
  if (type == SOCK_DGRAM) {
    setsockopt(file_, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
  }
  const sockaddr_in own = place(hosts.address(host), 0);
  bind(file_, reinterpret_cast<const sockaddr*>(&own), sizeof(own));
}

HostSocket::~HostSocket() {
  if (file_ >= 0) close(file_);
}

HostSocket::HostSocket(HostSocket&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

int HostSocket::port() const {
  sockaddr_in own{};
  socklen_t size = sizeof(own);
  getsockname(file_, reinterpret_cast<sockaddr*>(&own), &size);
  return ntohs(own.sin_port);
}

void HostSocket::listen() { ::listen(file_, 16); }

std::optional<HostSocket> HostSocket::accepted(Milliseconds limit) {
  if (!is_ready(file_, POLLIN, limit)) return std::nullopt;
  const int file = accept4(file_, nullptr, nullptr, SOCK_CLOEXEC);
  if (file < 0) return std::nullopt;
  return HostSocket(file);
}

bool HostSocket::connect_to(const std::string& address, int port, Milliseconds limit) {
  const sockaddr_in other = place(address, port);
  const int flags = fcntl(file_, F_GETFL);
  fcntl(file_, F_SETFL, flags | O_NONBLOCK);
  const bool at_once =
      connect(file_, reinterpret_cast<const sockaddr*>(&other), sizeof(other)) == 0;
  int problem = at_once ? 0 : errno;
  if (problem == EINPROGRESS && is_ready(file_, POLLOUT, limit)) {
    socklen_t size = sizeof(problem);
    getsockopt(file_, SOL_SOCKET, SO_ERROR, &problem, &size);
  }
  fcntl(file_, F_SETFL, flags);
  const int now = 1;
  setsockopt(file_, IPPROTO_TCP, TCP_NODELAY, &now, sizeof(now));
  return problem == 0;
}

bool HostSocket::send(const std::string& bytes) {
  return ::send(file_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes.size());
}

std::string HostSocket::received(size_t most, Milliseconds limit) {
  std::string bytes(most, '\0');
  if (!is_ready(file_, POLLIN, limit)) return "";
  const ssize_t count = recv(file_, bytes.data(), bytes.size(), 0);
  bytes.resize(count > 0 ? static_cast<size_t>(count) : 0);
  return bytes;
}

}  // namespace headlight::test
