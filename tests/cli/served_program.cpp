// A process, and sockets to it.
#include "tests/cli/served_program.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace headlight::test {

int connected_to(int port) {
  const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    return client;
  }
  close(client);
  return -1;
}

std::string http_exchange(int port, const std::string& request) {
  const int client = connected_to(port);
  if (client < 0) return "";
  send(client, request.data(), request.size(), MSG_NOSIGNAL);
  std::string answer;
  char bytes[4096];
  for (ssize_t count = 0; (count = recv(client, bytes, sizeof(bytes), 0)) > 0;) {
    answer.append(bytes, static_cast<size_t>(count));
  }
  close(client);
  return answer;
}

std::string http_answer(int port, const std::string& path, const std::string& headers) {
  return http_exchange(port, "GET " + path +
                                 " HTTP/1.1\r\nhost: 127.0.0.1:" + std::to_string(port) +
                                 "\r\nconnection: close\r\n" + headers + "\r\n");
}

std::string http_request(int port, const std::string& method, const std::string& path,
                         const std::string& body) {
  return method + " " + path + " HTTP/1.1\r\nhost: 127.0.0.1:" + std::to_string(port) +
         "\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

io::Json json_in(const std::string& answer) {
  const size_t head = answer.find("\r\n\r\n");
  if (head == std::string::npos) return {};
  return io::parse_json(answer.substr(head + 4), "answer");
}

std::unique_ptr<Program> ServedProgram::started(std::vector<std::string> words) {
  words.insert(words.begin(), "serve");
  folder_.put("output", "");
  auto program =
      std::make_unique<Program>(words, Surroundings{.set = {"XDG_CACHE_HOME=" + folder_ / "cache"},
                                                    .output_path = folder_ / "output"});
  for (int i = 0; i < 1000 && !folder_.get("output").ends_with('\n'); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_GT(port(), 0);
  return program;
}

int ServedProgram::port() const {
  const std::string text = folder_.get("output");
  const size_t colon = text.rfind(':', text.rfind('/'));
  return std::atoi(text.c_str() + std::min(colon + 1, text.size()));
}

}  // namespace headlight::test
