// Requests that nobody should send, and what each is answered with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headlight::test {

struct HostileRequest {
  std::string name;
  std::string bytes;
  int status = 400;   // 0: nothing is answered, the connection is closed
  bool ends = false;  // nothing is sent after it, as by a client that broke off
};

// Of the routes of TestServer on this port.
std::vector<HostileRequest> hostile_requests(uint16_t port);

}  // namespace headlight::test
