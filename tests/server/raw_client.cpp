// Sockets as they are.
#include "tests/server/raw_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace headlight::test {
namespace {

using Clock = std::chrono::steady_clock;

int milliseconds_until(Clock::time_point until) {
  const auto left = std::chrono::duration_cast<Patience>(until - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 60'000));
}

std::string small(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return text;
}

}  // namespace

std::string RawResponse::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

RawClient::RawClient(uint16_t port, int receive_bytes) {
  socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (receive_bytes > 0) {
    setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof(receive_bytes));
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  if (connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) close();
}

RawClient::~RawClient() { close(); }

void RawClient::close(bool abruptly) {
  if (socket_ < 0) return;
  if (abruptly) {
    const linger reset{.l_onoff = 1, .l_linger = 0};
    setsockopt(socket_, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
  }
  ::close(socket_);
  socket_ = -1;
}

void RawClient::end_sending() { shutdown(socket_, SHUT_WR); }

bool RawClient::send(std::string_view bytes, Patience patience) {
  const auto until = Clock::now() + patience;
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
      continue;
    }
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return false;
    pollfd file{.fd = socket_, .events = POLLOUT, .revents = 0};
    if (poll(&file, 1, milliseconds_until(until)) == 0) return false;
  }
  return true;
}

// False: nothing more comes, or not in time.
bool RawClient::fill(Clock::time_point until) {
  for (;;) {
    pollfd file{.fd = socket_, .events = POLLIN, .revents = 0};
    const int ready = poll(&file, 1, milliseconds_until(until));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    char bytes[16384];
    const ssize_t count = recv(socket_, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (count <= 0) return false;
    input_.append(bytes, static_cast<size_t>(count));
    return true;
  }
}

std::optional<std::string> RawClient::line(Clock::time_point until) {
  size_t end = 0;
  while ((end = input_.find("\r\n")) == std::string::npos) {
    if (!fill(until)) return std::nullopt;
  }
  std::string result = input_.substr(0, end);
  input_.erase(0, end + 2);
  return result;
}

bool RawClient::take(size_t count, std::string& into, Clock::time_point until) {
  while (input_.size() < count) {
    if (!fill(until)) return false;
  }
  into.append(input_, 0, count);
  input_.erase(0, count);
  return true;
}

RawResponse RawClient::read_response(bool has_body, Patience patience) {
  const auto until = Clock::now() + patience;
  RawResponse response;
  const auto first = line(until);
  if (!first || !first->starts_with("HTTP/1.1 ")) return response;
  response.status = std::atoi(first->c_str() + 9);
  for (auto text = line(until);; text = line(until)) {
    if (!text) return response;
    if (text->empty()) break;
    const size_t colon = std::min(text->find(": "), text->size());
    response.headers[small(text->substr(0, colon))] =
        text->substr(std::min(colon + 2, text->size()));
  }
  const bool is_bare = response.status == 204 || response.status == 304 || response.status == 100;
  if (!has_body || is_bare) {
    response.is_complete = true;
  } else if (response.header("transfer-encoding") == "chunked") {
    for (;;) {
      const auto size = line(until);
      if (!size) return response;
      const size_t count = std::strtoul(size->c_str(), nullptr, 16);
      std::string end;
      if (!take(count, response.body, until) || !take(2, end, until)) return response;
      if (count == 0) break;
    }
    response.is_complete = true;
  } else if (!response.header("content-length").empty()) {
    const size_t count = std::strtoul(response.header("content-length").c_str(), nullptr, 10);
    response.is_complete = take(count, response.body, until);
  } else {
    while (fill(until)) {
    }
    response.body.swap(input_);
    response.is_complete = true;
  }
  return response;
}

std::string RawClient::read_some(size_t most, Patience patience) {
  const auto until = Clock::now() + patience;
  while (input_.size() < most && fill(until)) {
  }
  std::string result = input_.substr(0, most);
  input_.erase(0, result.size());
  return result;
}

bool RawClient::is_closed(Patience patience) {
  const auto until = Clock::now() + patience;
  while (fill(until)) input_.clear();
  return Clock::now() < until;
}

RawResponse ask(uint16_t port, const std::string& request, Patience patience) {
  RawClient client(port);
  client.send(request);
  return client.read_response(!request.starts_with("HEAD "), patience);
}

std::string get(uint16_t port, const std::string& path, const std::string& headers) {
  return "GET " + path + " HTTP/1.1\r\nhost: 127.0.0.1:" + std::to_string(port) + "\r\n" + headers +
         "\r\n";
}

std::string post(uint16_t port, const std::string& path, const std::string& body,
                 const std::string& headers) {
  return "POST " + path + " HTTP/1.1\r\nhost: 127.0.0.1:" + std::to_string(port) +
         "\r\ncontent-length: " + std::to_string(body.size()) + "\r\n" + headers + "\r\n" + body;
}

}  // namespace headlight::test
