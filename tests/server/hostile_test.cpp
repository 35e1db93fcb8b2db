// Requests that nobody should send: each is answered with its error or closed, and the server goes
// on.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/server/hostile_requests.h"
#include "tests/server/raw_client.h"
#include "tests/server/test_server.h"

namespace headlight::test {
namespace {

int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  int64_t total = 0;
  int64_t resident = 0;
  file >> total >> resident;
  return resident * 4096;
}

void expect_error_form(const RawResponse& response) {
  EXPECT_TRUE(response.is_complete);
  EXPECT_EQ(response.header("content-type"), "application/json");
  EXPECT_EQ(response.header("x-content-type-options"), "nosniff");
  io::Json json;
  EXPECT_NO_THROW(json = io::parse_json(response.body, "error")) << response.body;
  const io::Json* error = json.find("error");
  ASSERT_NE(error, nullptr) << response.body;
  ASSERT_NE(error->object(), nullptr);
  EXPECT_EQ(error->object()->size(), 4u);
  for (const char* text : {"message", "type"}) {
    ASSERT_NE(error->find(text), nullptr);
    EXPECT_TRUE(error->find(text)->text() != nullptr && !error->find(text)->text()->empty());
  }
  EXPECT_NE(error->find("param"), nullptr);
  EXPECT_NE(error->find("code"), nullptr);
  EXPECT_EQ(error->find("message")->text()->find('\n'), std::string::npos);
}

void expect_answer(uint16_t port, const HostileRequest& hostile) {
  RawClient client(port);
  ASSERT_TRUE(client.is_connected());
  client.send(hostile.bytes);
  if (hostile.ends) client.end_sending();
  const RawResponse response = client.read_response();
  EXPECT_EQ(response.status, hostile.status) << response.body;
  if (hostile.status == 0) {
    EXPECT_TRUE(client.is_closed());
    return;
  }
  expect_error_form(response);
  if (response.status == 405) {
    EXPECT_NE(response.header("allow").find("OPTIONS"), std::string::npos);
  }
  if (response.header("connection") == "close") {
    client.end_sending();
    EXPECT_TRUE(client.is_closed());
  } else {
    // What it said of the connection holds: the next request is read from its own first byte.
    client.send(get(port, "/health"));
    EXPECT_EQ(client.read_response().status, 200);
  }
}

TEST(HostileRequests, are_answered_with_their_errors) {
  TestServer server;
  const std::vector<HostileRequest> all = hostile_requests(server.port());
  EXPECT_GE(all.size(), 120u);
  for (const HostileRequest& hostile : all) {
    SCOPED_TRACE(hostile.name);
    expect_answer(server.port(), hostile);
  }
  EXPECT_EQ(ask(server.port(), get(server.port(), "/health")).status, 200);
}

// However the bytes are cut, the answer is the same.
TEST(HostileRequests, are_answered_the_same_byte_by_byte) {
  TestServer server;
  for (const HostileRequest& hostile : hostile_requests(server.port())) {
    if (hostile.bytes.size() > 400 || hostile.status == 0) continue;
    SCOPED_TRACE(hostile.name);
    RawClient client(server.port());
    for (const char c : hostile.bytes) {
      if (!client.send(std::string_view(&c, 1))) break;
    }
    const RawResponse response = client.read_response();
    EXPECT_EQ(response.status, hostile.status) << response.body;
  }
}

TEST(HostileRequests, leave_the_memory_bounded) {
  TestServer server;
  const std::vector<HostileRequest> all = hostile_requests(server.port());
  const auto send_all = [&] {
    for (const HostileRequest& hostile : all) {
      RawClient client(server.port());
      client.send(hostile.bytes);
      client.close(true);
    }
  };
  for (int i = 0; i < 3; ++i) send_all();
  const int64_t before = resident_bytes();
  for (int i = 0; i < 20; ++i) send_all();
  EXPECT_LT(resident_bytes() - before, 32 << 20);
  EXPECT_TRUE(
      comes_true([&] { return ask(server.port(), get(server.port(), "/health")).status == 200; }));
}

TEST(HostileRequests, do_not_reach_the_log_as_control_sequences) {
  TestServer server;
  ask(server.port(), get(server.port(), "/\x1b[31mred"));
  ask(server.port(), get(server.port(), "/%0a2026 forged line"));
  ask(server.port(),
      "BR\x1b"
      "EW /health HTTP/1.1\r\n\r\n");
  ask(server.port(), get(server.port(), "/" + std::string(3000, 'a')));
  ASSERT_TRUE(comes_true([&] { return server.log_lines().size() == 4; }));
  for (const std::string& line : server.log_lines()) {
    EXPECT_LT(line.size(), 600u);
    for (const char c : line) {
      EXPECT_GE(static_cast<unsigned char>(c), 0x20) << line;
      EXPECT_NE(c, 0x7f) << line;
    }
  }
}

}  // namespace
}  // namespace headlight::test
