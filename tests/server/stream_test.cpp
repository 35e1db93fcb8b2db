// Answers that take time: streams, slow clients and clients that go away, in every state.
#include <gtest/gtest.h>

#include "tests/server/raw_client.h"
#include "tests/server/test_server.h"

namespace headlight::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

TEST(AStream, arrives_whole) {
  TestServer server;
  RawClient client(server.port());
  client.send(get(server.port(), "/stream?count=1000&size=5000"));
  const RawResponse response = client.read_response();
  EXPECT_TRUE(response.is_complete);
  EXPECT_EQ(response.body, std::string(5'000'000, 'x'));
  EXPECT_EQ(response.header("transfer-encoding"), "chunked");
  client.send(get(server.port(), "/health"));
  EXPECT_EQ(client.read_response().status, 200);
}

TEST(AStream, of_nothing_ends) {
  TestServer server;
  const RawResponse response = ask(server.port(), get(server.port(), "/stream?count=0&size=0"));
  EXPECT_TRUE(response.is_complete);
  EXPECT_EQ(response.body, "");
}

TEST(AStream, has_no_chunks_for_clients_that_know_none) {
  TestServer server;
  RawClient client(server.port());
  client.send("GET /stream?count=10&size=1000 HTTP/1.0\r\nhost: 127.0.0.1:" +
              std::to_string(server.port()) + "\r\n\r\n");
  const RawResponse response = client.read_response();
  EXPECT_EQ(response.header("transfer-encoding"), "");
  EXPECT_EQ(response.header("connection"), "close");
  EXPECT_EQ(response.body, std::string(10'000, 'x'));
}

// write() waits for the client: what is held for it stays within the buffer, and all of it comes.
TEST(AStream, waits_for_a_slow_client) {
  TestServer server({.limits = {.output_buffer = 50'000}});
  RawClient client(server.port(), 4096);
  client.send(get(server.port(), "/stream?count=2000&size=10000"));
  EXPECT_TRUE(comes_true([&] { return server.written > 100'000; }));
  std::this_thread::sleep_for(300ms);
  const int64_t held = server.written;
  EXPECT_LT(held, 19'000'000);  // the system's buffers hold some
  std::this_thread::sleep_for(200ms);
  EXPECT_LT(server.written - held, 1'000'000);
  const RawResponse response = client.read_response(true, 30000ms);
  EXPECT_EQ(response.body.size(), 20'000'000u);
  EXPECT_TRUE(response.is_complete);
}

TEST(AStream, does_not_wait_for_a_client_forever) {
  TestServer server({.limits = {.write_seconds = 0.4, .output_buffer = 50'000}});
  RawClient client(server.port(), 4096);
  const auto begin = Clock::now();
  client.send(get(server.port(), "/stream?count=100000&size=10000"));
  EXPECT_TRUE(comes_true([&] { return server.ended_streams == 1; }));
  EXPECT_LT(Clock::now() - begin, 5s);
  EXPECT_LT(server.written, 100'000'000);
}

// A trickle does not keep it waiting either: deadlines are for the whole.
TEST(AStream, does_not_wait_for_a_client_that_reads_byte_by_byte) {
  TestServer server({.limits = {.write_seconds = 0.5, .output_buffer = 50'000}});
  RawClient client(server.port(), 4096);
  client.send(get(server.port(), "/stream?count=100000&size=10000"));
  const auto begin = Clock::now();
  while (server.ended_streams == 0 && Clock::now() - begin < 10s) {
    client.read_some(10, 50ms);
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_EQ(server.ended_streams, 1);
  EXPECT_LT(Clock::now() - begin, 5s);
}

TEST(AStream, that_may_not_wait_drops_a_client_that_is_too_slow) {
  TestServer server({.limits = {.output_buffer = 100'000}});
  RawClient client(server.port(), 4096);
  client.send(get(server.port(), "/flood"));
  EXPECT_TRUE(comes_true([&] { return server.ended_streams == 1; }, 20s));
  EXPECT_TRUE(comes_true([&] { return server.gone == 1; }));
}

TEST(AClient, that_goes_is_noticed_by_a_stream) {
  TestServer server;
  for (const bool abruptly : {false, true}) {
    const int before = server.gone;
    RawClient client(server.port());
    client.send(get(server.port(), "/flood"));
    client.read_some(50'000);
    client.close(abruptly);
    EXPECT_TRUE(comes_true([&] { return server.gone == before + 1; }));
  }
  EXPECT_TRUE(comes_true([&] { return server.ended_streams == 2; }));
}

// Nothing is read from it and nothing written to it.
TEST(AClient, that_goes_is_noticed_while_it_waits_for_an_answer) {
  TestServer server;
  for (const bool abruptly : {false, true}) {
    RawClient client(server.port());
    client.send(get(server.port(), "/wait"));
    ASSERT_TRUE(comes_true([&] { return server.waiting == 1; }));
    const auto begin = Clock::now();
    client.close(abruptly);
    EXPECT_TRUE(comes_true([&] { return server.waiting == 0; }));
    EXPECT_LT(Clock::now() - begin, 1s);
  }
  EXPECT_EQ(server.gone, 2);
}

TEST(AClient, that_goes_is_noticed_although_it_sent_more_than_is_read_ahead) {
  TestServer server;
  // The second is more than the system takes for us: its end cannot be seen behind it.
  for (const size_t bytes : {size_t{100'000}, size_t{8'000'000}}) {
    RawClient client(server.port());
    client.send(get(server.port(), "/wait"));
    ASSERT_TRUE(comes_true([&] { return server.waiting == 1; }));
    std::string more;
    while (more.size() < bytes) more += get(server.port(), "/health");
    client.send(more, Patience(200));
    client.close();
    EXPECT_TRUE(comes_true([&] { return server.waiting == 0; }, 3s));
  }
}

// Its request waits for a worker; when one is free, there is nobody to work for.
TEST(AClient, that_goes_is_noticed_while_its_request_is_queued) {
  TestServer server({.limits = {.workers = 1}});
  RawClient first(server.port());
  first.send(get(server.port(), "/block"));
  ASSERT_TRUE(comes_true([&] { return server.blocked == 1; }));
  {
    RawClient second(server.port());
    second.send(get(server.port(), "/stream?count=1&size=1"));
    EXPECT_TRUE(comes_true([&] {
      return server.metrics().text().find("headlight_http_queue 1\n") != std::string::npos;
    }));
  }
  EXPECT_TRUE(comes_true([&] {
    return server.metrics().text().find("headlight_http_connections 1\n") != std::string::npos;
  }));
  server.release();
  EXPECT_EQ(first.read_response().status, 200);
  EXPECT_EQ(ask(server.port(), get(server.port(), "/echo/1")).status, 200);
  EXPECT_EQ(server.ended_streams, 0);
}

TEST(AClient, that_sends_its_headers_slowly_is_told_so) {
  TestServer server({.limits = {.header_seconds = 0.4}});
  RawClient client(server.port());
  const auto begin = Clock::now();
  const std::string request =
      get(server.port(), "/health", "a: " + std::string(2000, 'b') + "\r\n");
  for (const char c : request) {
    if (!client.send(std::string_view(&c, 1)) || Clock::now() - begin > 5s) break;
    if (!client.read_some(1, 10ms).empty()) break;
  }
  EXPECT_LT(Clock::now() - begin, 2s);
  EXPECT_GT(Clock::now() - begin, 300ms);
  ASSERT_TRUE(comes_true([&] { return !server.log_lines().empty(); }));
  EXPECT_NE(server.log_lines().front().find(" 408 "), std::string::npos);
  RawClient silent(server.port());
  EXPECT_TRUE(silent.is_closed(2s));
}

TEST(AClient, that_sends_its_body_slowly_is_told_so) {
  TestServer server({.limits = {.body_seconds = 0.4}});
  for (const std::string framing :
       {"content-length: 900\r\n\r\n", "transfer-encoding: chunked\r\n\r\n300\r\n"}) {
    RawClient client(server.port());
    client.send("POST /echo HTTP/1.1\r\nhost: 127.0.0.1:" + std::to_string(server.port()) +
                "\r\ncontent-type: application/json\r\n" + framing);
    const auto begin = Clock::now();
    std::string got;
    while (got.empty() && Clock::now() - begin < 5s) {
      client.send(" ");
      got = client.read_some(12, 10ms);
    }
    EXPECT_EQ(got, "HTTP/1.1 408") << got;
    EXPECT_LT(Clock::now() - begin, 2s);
  }
}

TEST(AClient, that_asks_for_nothing_more_is_left) {
  TestServer server({.limits = {.idle_seconds = 0.3}});
  RawClient client(server.port());
  client.send(get(server.port(), "/health"));
  EXPECT_EQ(client.read_response().status, 200);
  EXPECT_TRUE(client.is_closed(2s));
}

TEST(AnAnswer, that_is_not_read_is_dropped) {
  TestServer server({.limits = {.write_seconds = 0.4}});
  RawClient client(server.port(), 4096);
  std::string many;
  for (int i = 0; i < 20'000; ++i) many += get(server.port(), "/metrics");
  client.send(many, Patience(1000));
  EXPECT_TRUE(comes_true([&] {
    const std::vector<std::string> lines = server.log_lines();
    return !lines.empty() && lines.back().ends_with("(the client went)");
  }));
  EXPECT_EQ(ask(server.port(), get(server.port(), "/health")).status, 200);
}

}  // namespace
}  // namespace headlight::test
