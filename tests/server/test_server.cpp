// Routes for tests.
#include "tests/server/test_server.h"

#include "headlight/io/io.h"

namespace headlight::test {

using server::HttpError;
using server::Reply;
using server::Request;

TestServer::TestServer(server::ServerOptions options) {
  options.port = 0;
  options.log = [this](std::string_view line) {
    const std::lock_guard lock(mutex_);
    log_lines_.emplace_back(line);
  };
  http_ = std::make_unique<server::HttpServer>(std::move(options), routes(), metrics_);
  http_->on_stop([this](auto) {
    release();
    return true;
  });
  http_->start();
}

TestServer::~TestServer() { http_->stop(); }

void TestServer::release() {
  const std::lock_guard lock(mutex_);
  is_released_ = true;
  released_.notify_all();
}

std::vector<std::string> TestServer::log_lines() const {
  const std::lock_guard lock(mutex_);
  return log_lines_;
}

server::Router TestServer::routes() {
  server::Router router;
  add_answers(router);
  add_streams(router);
  add_failures(router);
  return router;
}

void TestServer::add_answers(server::Router& router) {
  router.add("GET", "/echo/{id}", [](const Request& request, const std::shared_ptr<Reply>& reply) {
    io::Json::Object query;
    for (const auto& [name, value] : request.query) query.emplace_back(name, value);
    reply->send_json(io::Json::Object{{"id", request.parameters.at("id")}, {"query", query}});
  });
  router.add("POST", "/echo",
             [](const Request& request, const std::shared_ptr<Reply>& reply) {
               reply->send_json(io::parse_json(request.body, "body"));
             },
             {.body_limit = 1000});
  router.add("POST", "/bytes",
             [](const Request& request, const std::shared_ptr<Reply>& reply) {
               reply->send_json(io::Json::Object{{"size", request.body.size()}});
             },
             {.body_limit = 100'000, .content_types = {"application/octet-stream"}});
  router.add(
      "GET", "/export/{name}.{kind}",
      [](const Request& request, const std::shared_ptr<Reply>& reply) {
        reply->send({.content_type = "text/plain",
                     .body = request.parameters.at("name") + "|" + request.parameters.at("kind")});
      });
}

void TestServer::add_streams(server::Router& router) {
  router.add("GET", "/stream", [this](const Request& request, const std::shared_ptr<Reply>& reply) {
    const int64_t count = std::stoll(request.query.at("count"));
    const std::string piece(std::stoul(request.query.at("size")), 'x');
    reply->begin(200, "text/plain");
    for (int64_t i = 0; i < count; ++i) {
      if (!reply->write(piece)) break;
      written += static_cast<int64_t>(piece.size());
    }
    reply->end();
    ++ended_streams;
  });
  router.add("GET", "/flood", [this](const Request&, const std::shared_ptr<Reply>& reply) {
    reply->on_gone([this] { ++gone; });
    reply->begin(200, "text/plain");
    const std::string piece(10'000, 'y');
    while (reply->write_or_drop(piece)) {
      written += static_cast<int64_t>(piece.size());
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ++ended_streams;
  });
  router.add("GET", "/wait", [this](const Request&, const std::shared_ptr<Reply>& reply) {
    ++waiting;
    // Holds itself until it is called: who waits for a client keeps its reply somewhere.
    reply->on_gone([this, reply] {
      ++gone;
      --waiting;
    });
  });
}

void TestServer::add_failures(server::Router& router) {
  router.add("GET", "/block", [this](const Request&, const std::shared_ptr<Reply>& reply) {
    ++blocked;
    std::unique_lock lock(mutex_);
    released_.wait(lock, [&] { return is_released_; });
    --blocked;
    reply->send_json(io::Json::Object{{"blocked", true}});
  });
  router.add("GET", "/fail", [](const Request& request, const std::shared_ptr<Reply>& reply) {
    const std::string how = request.query.at("how");  // std::out_of_range without
    if (how == "usage") throw base::Error(base::ErrorKind::usage, "fail", "how", "usage");
    if (how == "input") base::refuse("fail", "how", "input");
    if (how == "memory") throw base::Error(base::ErrorKind::out_of_memory, "fail", "", "12 GiB");
    if (how == "failed") throw base::Error(base::ErrorKind::failed, "fail", "", "failed");
    if (how == "field") server::refuse_field("how", "is wrong");
    if (how == "unknown") server::refuse_unknown("trace", "7", "trace_not_found");
    if (how == "busy") server::refuse_busy("the queue is full");
    if (how == "alloc") throw std::bad_alloc();
    if (how == "number") throw 7;
    if (how == "stream") {
      reply->begin(200, "text/plain");
      reply->write("begun");
      base::refuse("fail", "how", "within a stream");
    }
  });
  router.add("GET", "/forget", [](const Request& request, const std::shared_ptr<Reply>& reply) {
    if (!request.query.contains("begun")) return;
    reply->begin(200, "text/plain");
    reply->write("begun");
  });
}

}  // namespace headlight::test
