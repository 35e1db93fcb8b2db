// The parts of HTTP by themselves: routes, targets, heads, metrics, log lines, events.
#include <gtest/gtest.h>

#include "apps/server/http/exchange.h"
#include "apps/server/http/request_log.h"
#include "apps/server/http/request_parser.h"
#include "apps/server/http/request_target.h"
#include "apps/server/http/response_head.h"
#include "apps/server/http/static_files.h"
#include "apps/server/http/worker_pool.h"
#include "tests/server/test_server.h"

namespace headlight::test {
namespace {

using server::Router;

TEST(Routes, prefer_fixed_text_to_parameters) {
  Router router;
  const auto none = [](const server::Request&, const std::shared_ptr<server::Reply>&) {};
  router.add("GET", "/api/{name}", none);
  router.add("GET", "/api/models", none);
  router.add("DELETE", "/api/{name}", none);
  router.add("GET", "/api/{a}/{b}.{c}", none);
  router.add("GET", "/", none);
  EXPECT_EQ(router.find("GET", {"api", "models"}).route->pattern, "/api/models");
  EXPECT_EQ(router.find("HEAD", {"api", "models"}).route->pattern, "/api/models");
  EXPECT_EQ(router.find("GET", {"api", "model"}).parameters.at("name"), "model");
  EXPECT_EQ(router.find("DELETE", {"api", "models"}).route->pattern, "/api/{name}");
  EXPECT_EQ(router.find("GET", {""}).route->pattern, "/");
  const Router::Match parts = router.find("GET", {"api", "x", "y.z.html"});
  EXPECT_EQ(parts.parameters.at("b"), "y.z");
  EXPECT_EQ(parts.parameters.at("c"), "html");
  EXPECT_EQ(router.find("PUT", {"api", "x"}).route, nullptr);
  EXPECT_EQ(router.find("PUT", {"api", "x"}).allowed, (std::vector<std::string>{"GET", "DELETE"}));
  EXPECT_TRUE(router.find("GET", {"api"}).allowed.empty());
  EXPECT_TRUE(router.find("GET", {"api", ""}).allowed.empty());
}

TEST(Targets, are_taken_apart) {
  const server::RequestTarget target = server::target_of("/a%20b/c?d=e%26f&g=h+i");
  EXPECT_EQ(target.path, "/a b/c");
  EXPECT_EQ(target.segments, (std::vector<std::string>{"a b", "c"}));
  EXPECT_EQ(target.query.at("d"), "e&f");
  EXPECT_EQ(target.query.at("g"), "h i");
  EXPECT_EQ(server::target_of("http://host:1?a=b").path, "/");
  EXPECT_EQ(server::target_of("http://host:1/x").authority, "host:1");
  EXPECT_THROW(server::target_of(""), server::HttpError);
}

// All of it at once, or a byte at a time: the same request.
TEST(AParser, does_not_care_how_bytes_are_cut) {
  const std::string bytes =
      "POST /a HTTP/1.1\r\nHost: h\r\nA: b\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5\r\nhello\r\n6;x\r\n world\r\n0\r\nT: u\r\n\r\n";
  for (const size_t step : {size_t{1}, size_t{2}, size_t{7}, bytes.size()}) {
    server::RequestParser parser({});
    std::string input;
    size_t next = 0;
    while (parser.state() != server::RequestParser::State::complete) {
      ASSERT_LT(next, bytes.size());
      input += bytes.substr(next, step);
      next += step;
      for (size_t used = 1; used > 0;) {
        const auto before = parser.state();
        used = parser.put(input);
        input.erase(0, used);
        if (before == server::RequestParser::State::head && parser.state() != before) {
          parser.set_body_limit(100);
        }
      }
    }
    EXPECT_EQ(parser.take_body(), "hello world");
    EXPECT_EQ(parser.head().method, "POST");
    EXPECT_EQ(parser.head().header("a"), "b");
    EXPECT_EQ(parser.head().count("t"), 0u);
    EXPECT_EQ(input, "");
  }
}

TEST(AParser, leaves_what_follows_a_request) {
  server::RequestParser parser({});
  const std::string first = "GET /a HTTP/1.1\r\nhost: h\r\n\r\n";
  EXPECT_EQ(parser.put(first + "GET /b"), first.size());
  EXPECT_EQ(parser.state(), server::RequestParser::State::complete);
  EXPECT_EQ(parser.put("GET /b"), 0u);
}

TEST(Heads, keep_line_breaks_out_of_values) {
  const std::map<std::string, std::string> headers = {{"x-name", "a\r\nset-cookie: b"}};
  const std::string text = server::head_text({.content_type = "text/plain", .headers = headers});
  EXPECT_NE(text.find("x-name: aset-cookie: b\r\n"), std::string::npos) << text;
  EXPECT_TRUE(text.starts_with("HTTP/1.1 200 OK\r\n"));
  EXPECT_TRUE(text.ends_with("\r\n\r\n"));
}

TEST(MetricsOf, a_server_are_text_that_prometheus_reads) {
  server::Metrics metrics;
  metrics.counter("a_total", "All \\ of\nthem.", {{"model", "x\"y\\z\n"}}).add(3);
  metrics.counter("a_total", "ignored", {{"model", "x\"y\\z\n"}}).add(2);
  metrics.gauge("b", "Now.").set(-7);
  server::Histogram& times = metrics.histogram("c_seconds", "Times.", {{"route", "/"}});
  times.observe(0.0005);
  times.observe(0.3);
  times.observe(1000);
  const std::string text = metrics.text();
  for (const char* line :
       {"# HELP a_total All \\\\ of\\nthem.\n# TYPE a_total "
        "counter\na_total{model=\"x\\\"y\\\\z\\n\"} 5\n",
        "# TYPE b gauge\nb -7\n", "c_seconds_bucket{route=\"/\",le=\"0.001\"} 1\n",
        "c_seconds_bucket{route=\"/\",le=\"0.25\"} 1\n",
        "c_seconds_bucket{route=\"/\",le=\"0.5\"} 2\n",
        "c_seconds_bucket{route=\"/\",le=\"60\"} 2\n",
        "c_seconds_bucket{route=\"/\",le=\"+Inf\"} 3\n", "c_seconds_sum{route=\"/\"} 1000.3005\n",
        "c_seconds_count{route=\"/\"} 3\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "in\n" << text;
  }
}

TEST(Events, have_a_line_for_each_line_of_data) {
  EXPECT_EQ(server::event_text("{}"), "data: {}\n\n");
  EXPECT_EQ(server::event_text("a\nb", "step"), "event: step\ndata: a\ndata: b\n\n");
}

TEST(AcceptEncoding, may_say_no_to_gzip) {
  for (const char* yes : {"gzip", "br, gzip", "gzip;q=0.5", "deflate, x-gzip", "*", "gzip; q=1"}) {
    EXPECT_TRUE(server::takes_gzip(yes)) << yes;
  }
  for (const char* no : {"", "br", "gzip;q=0", "gzip; q=0.000", "notgzip", "identity"}) {
    EXPECT_FALSE(server::takes_gzip(no)) << no;
  }
}

TEST(AWorkerPool, drops_what_waits_when_it_stops) {
  server::Gauge waiting;
  server::Gauge busy;
  std::atomic<int> ran = 0;
  std::atomic<bool> ends = false;
  server::WorkerPool pool(1, 2, waiting, busy);
  EXPECT_TRUE(pool.try_add([&] {
    ++ran;
    while (!ends) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }));
  EXPECT_TRUE(comes_true([&] { return busy.value() == 1; }));
  EXPECT_TRUE(pool.try_add([&] { ++ran; }));
  EXPECT_TRUE(pool.try_add([&] { ++ran; }));
  EXPECT_FALSE(pool.try_add([&] { ++ran; }));
  EXPECT_FALSE(pool.stop(0.01));
  EXPECT_FALSE(pool.try_add([&] { ++ran; }));
  ends = true;
  EXPECT_TRUE(pool.stop(10));
  EXPECT_EQ(ran, 1);
}

TEST(AnExchange, gives_the_first_answer_alone) {
  const auto exchange = std::make_shared<server::Exchange>(server::ExchangeOptions{});
  exchange->send({.status = 201, .body = "one"});
  exchange->send({.status = 202, .body = "two"});
  exchange->begin(203, "text/plain");
  EXPECT_FALSE(exchange->write("three"));
  const server::Exchange::Output output = exchange->take();
  std::string text;
  for (const std::string& piece : output.pieces) text += piece;
  EXPECT_TRUE(text.starts_with("HTTP/1.1 201 Created\r\n")) << text;
  EXPECT_TRUE(text.ends_with("\r\n\r\none")) << text;
  EXPECT_TRUE(output.is_last);
}

}  // namespace
}  // namespace headlight::test
