// A client that sends any bytes, as slowly and as wrongly as a test likes, and reads what comes.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace headlight::test {

struct RawResponse {
  int status = 0;                                   // 0: the connection ended before there was one
  std::map<std::string, std::string> headers = {};  // names in small letters
  std::string body = {};                            // without chunks
  bool is_complete = false;                         // its end was seen

  std::string header(const std::string& name) const;
};

using Patience = std::chrono::milliseconds;

class RawClient {
 public:
  // Connects to 127.0.0.1. `receive_bytes`: of the buffer that the system keeps for us.
  explicit RawClient(uint16_t port, int receive_bytes = 0);
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool is_connected() const { return socket_ >= 0; }
  // False: the server has closed the connection, or does not read.
  bool send(std::string_view bytes, Patience patience = Patience(5000));
  // No more will be sent.
  void end_sending();
  // At once, with a reset where `abruptly`.
  void close(bool abruptly = false);

  // The next response of the connection; `has_body`: not where HEAD was asked for.
  RawResponse read_response(bool has_body = true, Patience patience = Patience(10000));
  // Whatever comes within the time, up to so many bytes, or to the end.
  std::string read_some(size_t most, Patience patience = Patience(5000));
  // Whether the server closes the connection within the time; what comes before is read.
  bool is_closed(Patience patience = Patience(5000));

 private:
  bool fill(std::chrono::steady_clock::time_point until);
  std::optional<std::string> line(std::chrono::steady_clock::time_point until);
  bool take(size_t count, std::string& into, std::chrono::steady_clock::time_point until);

  int socket_ = -1;
  std::string input_;
};

// A whole exchange on a connection of its own.
RawResponse ask(uint16_t port, const std::string& request, Patience patience = Patience(10000));
// "GET /path HTTP/1.1" with the Host that the server expects, and more headers ("a: b\r\n").
std::string get(uint16_t port, const std::string& path, const std::string& headers = "");
std::string post(uint16_t port, const std::string& path, const std::string& body,
                 const std::string& headers = "content-type: application/json\r\n");

}  // namespace headlight::test
