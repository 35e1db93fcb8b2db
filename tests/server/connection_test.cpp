// Requests and answers on one connection: keeping it alive, framing, methods, errors of handlers,
// keys.
#include <gtest/gtest.h>

#include "tests/server/raw_client.h"
#include "tests/server/test_server.h"

namespace headlight::test {
namespace {

class AConnection : public testing::Test {
 protected:
  RawResponse asked(const std::string& request) const { return ask(server_.port(), request); }
  std::string get_of(const std::string& path, const std::string& headers = "") const {
    return get(server_.port(), path, headers);
  }
  std::string post_of(const std::string& body, const std::string& headers) const {
    return post(server_.port(), "/echo", body, headers);
  }
  uint16_t port() const { return server_.port(); }
  TestServer server_;
};

TEST_F(AConnection, serves_one_request_after_another) {
  RawClient client(port());
  for (int i = 0; i < 100; ++i) {
    client.send(get_of("/echo/" + std::to_string(i)));
    const RawResponse response = client.read_response();
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.body, R"({"id":")" + std::to_string(i) + R"(","query":{}})");
    EXPECT_EQ(response.header("connection"), "keep-alive");
  }
}

TEST_F(AConnection, answers_requests_that_are_sent_together_in_their_order) {
  RawClient client(port());
  std::string all;
  for (int i = 0; i < 50; ++i) {
    all += get_of("/echo/" + std::to_string(i)) + get_of("/health") +
           post_of("[" + std::to_string(i) + "]", "content-type: application/json\r\n");
  }
  client.send(all);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(client.read_response().body, R"({"id":")" + std::to_string(i) + R"(","query":{}})");
    EXPECT_EQ(client.read_response().body, R"({"status":"ok"})");
    EXPECT_EQ(client.read_response().body, "[" + std::to_string(i) + "]");
  }
}

// More than is read ahead while a request is being answered.
TEST_F(AConnection, answers_many_requests_that_are_sent_together) {
  RawClient client(port());
  constexpr int kCount = 2000;
  std::string all;
  for (int i = 0; i < kCount; ++i) all += get_of("/echo/" + std::to_string(i));
  std::thread sending([&] { client.send(all, Patience(20000)); });
  for (int i = 0; i < kCount; ++i) {
    ASSERT_EQ(client.read_response().body, R"({"id":")" + std::to_string(i) + R"(","query":{}})");
  }
  sending.join();
}

TEST_F(AConnection, is_closed_when_the_client_wishes) {
  RawClient client(port());
  client.send(get_of("/health", "connection: close\r\n"));
  EXPECT_EQ(client.read_response().header("connection"), "close");
  EXPECT_TRUE(client.is_closed());
  RawClient old(port());
  old.send("GET /health HTTP/1.0\r\nhost: localhost:" + std::to_string(port()) + "\r\n\r\n");
  EXPECT_EQ(old.read_response().body, R"({"status":"ok"})");
  EXPECT_TRUE(old.is_closed());
}

TEST_F(AConnection, goes_on_after_an_error_that_leaves_no_doubt_where_the_next_request_begins) {
  RawClient client(port());
  client.send(get_of("/none") + get_of("/health"));
  EXPECT_EQ(client.read_response().status, 404);
  EXPECT_EQ(client.read_response().status, 200);
  client.send(post_of("{", "content-type: application/json\r\n") + get_of("/health"));
  EXPECT_EQ(client.read_response().status, 400);
  EXPECT_EQ(client.read_response().status, 200);
}

TEST_F(AConnection, takes_empty_lines_before_a_request) {
  EXPECT_EQ(asked("\r\n\r\n" + get_of("/health")).status, 200);
}

TEST_F(AConnection, takes_the_absolute_form_of_its_own_address) {
  const std::string own = "127.0.0.1:" + std::to_string(port());
  EXPECT_EQ(asked("GET http://" + own + "/health HTTP/1.1\r\nhost: " + own + "\r\n\r\n").status,
            200);
  EXPECT_EQ(asked("GET http://localhost:" + std::to_string(port()) +
                  "/health HTTP/1.1\r\nhost: " + own + "\r\n\r\n")
                .status,
            400);
}

TEST_F(AConnection, answers_to_every_name_of_this_machine) {
  const std::string port_text = std::to_string(port());
  for (const std::string host : {"localhost", "LOCALHOST", "127.0.0.1", "[::1]", "127.3.2.1"}) {
    EXPECT_EQ(asked("GET /health HTTP/1.1\r\nhost: " + host + ":" + port_text + "\r\n\r\n").status,
              200)
        << host;
  }
}

TEST_F(AConnection, answers_pages_of_its_own) {
  const std::string own = "http://127.0.0.1:" + std::to_string(port());
  EXPECT_EQ(asked(get_of("/echo/1", "origin: " + own + "\r\n")).status, 200);
}

TEST_F(AConnection, decodes_paths_and_queries_once) {
  EXPECT_EQ(asked(get_of("/echo/a%2520b?x=1%2B1+2&y&z=%E2%82%AC&w=a=b")).body,
            R"({"id":"a%20b","query":{"w":"a=b","x":"1+1 2","y":"","z":"€"}})");
  EXPECT_EQ(asked(get_of("/echo/a%2Fb")).body, R"({"id":"a/b","query":{}})");
}

TEST_F(AConnection, splits_a_segment_at_its_last_point) {
  EXPECT_EQ(asked(get_of("/export/a.b.html")).body, "a.b|html");
}

TEST_F(AConnection, reads_chunks) {
  const std::string head = "POST /echo HTTP/1.1\r\nhost: 127.0.0.1:" + std::to_string(port()) +
                           "\r\ncontent-type: application/json; charset=utf-8\r\n"
                           "transfer-encoding: chunked\r\n\r\n";
  EXPECT_EQ(asked(head + "1\r\n[\r\n3;a=b\r\n1,2\r\n1\r\n]\r\n0\r\n\r\n").body, "[1,2]");
  EXPECT_EQ(
      asked(head + "00000001\r\n[\r\nA\r\n1,2,3,4,5 \r\n1\r\n]\r\n0\r\ntrailer: x\r\n\r\n").body,
      "[1,2,3,4,5]");
  // Trailers do not become headers: the connection stays.
  RawClient client(port());
  client.send(head + "2\r\n{}\r\n0\r\nconnection: close\r\n\r\n" + get_of("/health"));
  EXPECT_EQ(client.read_response().status, 200);
  EXPECT_EQ(client.read_response().status, 200);
}

TEST_F(AConnection, takes_bodies_up_to_the_limit) {
  const std::string type = "content-type: application/octet-stream\r\n";
  EXPECT_EQ(asked(post(port(), "/bytes", std::string(100'000, '\xff'), type)).body,
            R"({"size":100000})");
  EXPECT_EQ(asked(post(port(), "/bytes", std::string(100'001, '\xff'), type)).status, 413);
}

// The answer comes although the client is still sending; it is not lost by closing too early.
TEST_F(AConnection, answers_before_the_end_of_a_body_that_is_too_large) {
  for (int i = 0; i < 20; ++i) {
    RawClient client(port());
    client.send("POST /bytes HTTP/1.1\r\nhost: 127.0.0.1:" + std::to_string(port()) +
                "\r\ncontent-type: application/octet-stream\r\ncontent-length: 2000000\r\n\r\n");
    client.send(std::string(2'000'000, 'x'));
    const RawResponse response = client.read_response();
    EXPECT_EQ(response.status, 413);
    EXPECT_NE(response.body.find("2000000 bytes, at most 100000"), std::string::npos)
        << response.body;
  }
}

TEST_F(AConnection, asks_for_a_body_that_waits_to_be_asked_for) {
  const std::string head = "POST /echo HTTP/1.1\r\nhost: 127.0.0.1:" + std::to_string(port()) +
                           "\r\ncontent-type: application/json\r\nexpect: 100-continue\r\n";
  RawClient client(port());
  client.send(head + "content-length: 2\r\n\r\n");
  EXPECT_EQ(client.read_response().status, 100);
  client.send("[]");
  EXPECT_EQ(client.read_response().body, "[]");
  // And says at once that it does not want it.
  client.send(head + "content-length: 2000\r\n\r\n");
  EXPECT_EQ(client.read_response().status, 413);
}

TEST_F(AConnection, answers_head_as_get_without_a_body) {
  RawClient client(port());
  client.send("HEAD /health HTTP/1.1\r\nhost: 127.0.0.1:" + std::to_string(port()) + "\r\n\r\n");
  const RawResponse response = client.read_response(false);
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.header("content-length"), "15");
  client.send("HEAD /stream?count=3&size=9 HTTP/1.1\r\nhost: 127.0.0.1:" + std::to_string(port()) +
              "\r\n\r\n" + get_of("/health"));
  EXPECT_EQ(client.read_response(false).status, 200);
  EXPECT_EQ(client.read_response().body, R"({"status":"ok"})");
}

TEST_F(AConnection, tells_the_methods_of_a_path) {
  const auto options = [&](const std::string& path) {
    return asked("OPTIONS " + path + " HTTP/1.1\r\nhost: 127.0.0.1:" + std::to_string(port()) +
                 "\r\n\r\n");
  };
  EXPECT_EQ(options("/health").status, 204);
  EXPECT_EQ(options("/health").header("allow"), "GET, HEAD, OPTIONS");
  EXPECT_EQ(options("/echo").header("allow"), "POST, OPTIONS");
  EXPECT_EQ(options("*").status, 204);
  EXPECT_EQ(options("/none").status, 404);
  EXPECT_EQ(options("/health").header("access-control-allow-origin"), "");
}

TEST_F(AConnection, gives_each_error_of_a_handler_its_status) {
  const auto failed = [&](const std::string& how) { return asked(get_of("/fail?how=" + how)); };
  EXPECT_EQ(failed("usage").status, 400);
  EXPECT_EQ(
      failed("input").body,
      R"({"error":{"message":"fail (how): input","type":"invalid_request_error","param":null,"code":null}})");
  EXPECT_EQ(failed("memory").status, 413);
  EXPECT_EQ(failed("failed").status, 500);
  EXPECT_EQ(
      failed("field").body,
      R"({"error":{"message":"how: is wrong","type":"invalid_request_error","param":"how","code":null}})");
  EXPECT_EQ(failed("unknown").status, 404);
  EXPECT_EQ(failed("busy").status, 503);
  EXPECT_EQ(failed("busy").header("retry-after"), "1");
  EXPECT_EQ(failed("alloc").status, 503);
  EXPECT_EQ(failed("number").status, 500);
  EXPECT_EQ(asked(get_of("/fail")).status, 500);
}

TEST_F(AConnection, is_cut_off_where_a_stream_fails) {
  for (const char* path : {"/fail?how=stream", "/forget?begun=1"}) {
    const RawResponse response = asked(get_of(path));
    EXPECT_EQ(response.status, 200);
    EXPECT_FALSE(response.is_complete);
    EXPECT_EQ(response.body, "begun");
  }
}

TEST_F(AConnection, gets_an_error_where_a_handler_gives_no_answer) {
  EXPECT_EQ(asked(get_of("/forget")).status, 500);
  EXPECT_EQ(asked(get_of("/fail?how=none")).status, 500);
}

TEST_F(AConnection, numbers_its_requests_and_logs_each) {
  const std::string number = asked(get_of("/echo/a")).header("x-request-id");
  ASSERT_TRUE(comes_true([&] { return server_.log_lines().size() == 1; }));
  const std::string line = server_.log_lines().front();
  EXPECT_NE(line.find(" 127.0.0.1 GET /echo/a 200 21 bytes "), std::string::npos) << line;
  EXPECT_TRUE(line.ends_with(" ms #" + number)) << line;
}

TEST_F(AConnection, is_counted) {
  asked(get_of("/echo/a"));
  asked(get_of("/echo/b"));
  asked(get_of("/none"));
  std::string text;
  EXPECT_TRUE(comes_true([&] {
    text = asked(get_of("/metrics")).body;
    return text.find(
               "headlight_http_requests_total{method=\"GET\",route=\"none\",status=\"404\"} 1\n") !=
           std::string::npos;
  })) << text;
  for (const char* line :
       {"headlight_http_requests_total{method=\"GET\",route=\"/echo/{id}\",status=\"200\"} 2\n",
        "# TYPE headlight_http_request_seconds histogram\n",
        "headlight_http_request_seconds_bucket{route=\"/echo/{id}\",le=\"+Inf\"} 2\n",
        "headlight_http_request_seconds_count{route=\"/echo/{id}\"} 2\n",
        "headlight_http_queue 0\n", "headlight_http_connections "}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
}

TEST(AKey, is_needed_where_there_is_one) {
  TestServer server({.api_key = "a secret of 24 letters!!"});
  const auto status = [&](const std::string& path, const std::string& headers) {
    return ask(server.port(), get(server.port(), path, headers)).status;
  };
  EXPECT_EQ(status("/health", ""), 200);
  for (const std::string& wrong :
       {std::string(), std::string("authorization: Bearer\r\n"),
        std::string("authorization: Bearer \r\n"),
        std::string("authorization: a secret of 24 letters!!\r\n"),
        std::string("authorization: Basic a secret of 24 letters!!\r\n"),
        std::string("authorization: Bearer a secret of 24 letters!\r\n"),
        std::string("authorization: Bearer a secret of 24 letters!!!\r\n"),
        std::string("authorization: Bearer A secret of 24 letters!!\r\n"),
        std::string("authorization: Bearer a secret of 24 letters!!a secret of 24 letters!!\r\n"),
        std::string(
            "authorization: Bearer a secret of 24 letters!!\r\nauthorization: Bearer x\r\n")}) {
    EXPECT_EQ(status("/echo/1", wrong), 401) << wrong;
    EXPECT_EQ(status("/metrics", wrong), 401) << wrong;
  }
  EXPECT_EQ(status("/echo/1", "authorization: Bearer a secret of 24 letters!!\r\n"), 200);
  EXPECT_EQ(status("/echo/1", "Authorization: bearer a secret of 24 letters!!\r\n"), 200);
  EXPECT_EQ(ask(server.port(), get(server.port(), "/echo/1")).header("www-authenticate"), "Bearer");
}

TEST(AServer, beyond_this_machine_needs_a_key) {
  server::Metrics metrics;
  for (const char* host : {"0.0.0.0", "::", "192.0.2.1", "example.org"}) {
    EXPECT_FALSE(server::is_loopback_host(host)) << host;
  }
  for (const char* host : {"127.0.0.1", "127.9.9.9", "::1", "localhost"}) {
    EXPECT_TRUE(server::is_loopback_host(host)) << host;
  }
  try {
    server::HttpServer server({.host = "0.0.0.0", .port = 0}, {}, metrics);
    FAIL() << "listens";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::usage);
    EXPECT_NE(std::string(error.what()).find("--api-key-file"), std::string::npos) << error.what();
  }
  TestServer with_key({.host = "0.0.0.0", .api_key = "key"});
  EXPECT_EQ(ask(with_key.port(), get(with_key.port(), "/health")).status, 200);
  EXPECT_EQ(ask(with_key.port(), "GET /health HTTP/1.1\r\nhost: 192.0.2.7:" +
                                     std::to_string(with_key.port()) + "\r\n\r\n")
                .status,
            200);
  EXPECT_EQ(ask(with_key.port(), "GET /health HTTP/1.1\r\nhost: evil.example:" +
                                     std::to_string(with_key.port()) + "\r\n\r\n")
                .status,
            403);
}

TEST(AServer, says_that_its_port_is_busy) {
  TestServer first;
  server::Metrics metrics;
  try {
    server::HttpServer second({.port = first.port()}, {}, metrics);
    FAIL() << "listens";
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::failed);
    EXPECT_NE(std::string(error.what()).find("is busy"), std::string::npos) << error.what();
  }
}

TEST(AServer, serves_the_files_of_its_page) {
  const std::string page = "<!doctype html>" + std::string(1000, ' ');
  const std::string compressed = "not really gzip";
  TestServer server(
      {.files = {{.path = "/",
                  .content_type = "text/html; charset=utf-8",
                  .bytes = page,
                  .gzip_bytes = compressed},
                 {.path = "/studio.js", .content_type = "text/javascript", .bytes = "1"}}});
  const auto asked = [&](const std::string& path, const std::string& headers) {
    return ask(server.port(), get(server.port(), path, headers));
  };
  const RawResponse plain = asked("/", "");
  EXPECT_EQ(plain.body, page);
  EXPECT_EQ(plain.header("content-type"), "text/html; charset=utf-8");
  EXPECT_NE(plain.header("content-security-policy").find("default-src 'self'"), std::string::npos);
  EXPECT_EQ(plain.header("vary"), "accept-encoding");
  EXPECT_EQ(asked("/", "accept-encoding: gzip;q=0, br\r\n").body, page);
  const RawResponse small = asked("/", "accept-encoding: br, gzip;q=0.8\r\n");
  EXPECT_EQ(small.body, compressed);
  EXPECT_EQ(small.header("content-encoding"), "gzip");
  EXPECT_NE(small.header("etag"), plain.header("etag"));
  const RawResponse again = asked("/", "if-none-match: " + plain.header("etag") + "\r\n");
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.body, "");
  EXPECT_EQ(asked("/studio.js", "accept-encoding: gzip\r\n").body, "1");
  EXPECT_EQ(asked("/?panel=walk", "").status, 200);
}

}  // namespace
}  // namespace headlight::test
