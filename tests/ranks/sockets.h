// Sockets of tests between hosts: made in the network of a host, used from anywhere.
#pragma once

#include <optional>
#include <string>

#include "tests/ranks/test_hosts.h"

namespace headlight::test {

// For what shall happen, and for what shall not.
inline constexpr Milliseconds kLong(10'000);
inline constexpr Milliseconds kShort(300);

// One socket, closed with the object.
class HostSocket {
 public:
  // SOCK_STREAM or SOCK_DGRAM, on the host, bound to its address and a port that is free.
  HostSocket(const TestHosts& hosts, int host, int type);
  ~HostSocket();
  HostSocket(HostSocket&& other) noexcept;
  HostSocket& operator=(HostSocket&&) = delete;

  int port() const;
  void listen();
  // None when nobody knocks in time.
  std::optional<HostSocket> accepted(Milliseconds limit);
  // Of a stream, or where datagrams go. False when there is no connection within the limit.
  bool connect_to(const std::string& address, int port, Milliseconds limit);
  bool send(const std::string& bytes);
  // What comes next, up to so many bytes; empty when nothing comes in time.
  std::string received(size_t most, Milliseconds limit);

 private:
  explicit HostSocket(int file) : file_(file) {}

  int file_ = -1;
};

}  // namespace headlight::test
