// The listener, and the two routes that every server has.
#include "apps/server/http/server.h"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <future>
#include <thread>

#include "apps/server/http/connection.h"
#include "apps/server/http/static_files.h"

namespace headlight::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using base::Error;
using base::ErrorKind;
using boost::system::error_code;

// Beyond the limit, so that /health answers when all others are taken: enough for a request to come
// in before the next clients push its connection out.
constexpr size_t kSpareConnections = 64;
constexpr size_t kAcceptedAtOnce = 32;
// How long a connection beyond the limit may wait for its client before others push it out.
constexpr auto kGrace = std::chrono::milliseconds(200);

std::string host_and_port(const std::string& host, uint16_t port) {
  const bool is_long = host.find(':') != std::string::npos;
  return (is_long ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

asio::ip::address address_of(asio::io_context& io, const std::string& host) {
  error_code problem;
  const asio::ip::address literal = asio::ip::make_address(host, problem);
  if (!problem) return literal;
  tcp::resolver resolver(io);
  const auto found = resolver.resolve(host, "", problem);
  if (problem || found.empty()) {
    throw Error(ErrorKind::failed, "host", host, "is not known: " + problem.message());
  }
  for (const auto& entry : found) {
    if (entry.endpoint().address().is_v4()) return entry.endpoint().address();
  }
  return found.begin()->endpoint().address();
}

void check_has_key(const ServerOptions& options, const asio::ip::address& address) {
  if (!options.api_key.empty()) return;
  if (is_loopback_host(options.host) && address.is_loopback()) return;
  throw Error(ErrorKind::usage, "host", options.host,
              "others can reach it there, so an API key is needed: --api-key-file FILE");
}

void add_own_routes(Router& router, Metrics& metrics) {
  router.add("GET", "/health",
             [](const Request&, const std::shared_ptr<Reply>& reply) {
               reply->send_json(io::Json::Object{{"status", "ok"}});
             },
             {.needs_key = false, .answers_at_once = true});
  router.add("GET", "/metrics",
             [&metrics](const Request&, const std::shared_ptr<Reply>& reply) {
               reply->send({.content_type = "text/plain; version=0.0.4; charset=utf-8",
                            .body = metrics.text()});
             },
             {.answers_at_once = true});
}

}  // namespace

struct HttpServer::Parts {
  Parts(ServerOptions chosen, Router routes, Metrics& counts)
      : options(std::move(chosen)), router(std::move(routes)), metrics(counts) {}

  void listen();
  void accept_next();
  void on_accepted(const error_code& problem, tcp::socket socket);
  void add_connection(tcp::socket socket);
  // The one that has waited longest for its client; none: all are being answered.
  std::shared_ptr<Connection> longest_waiting() const;
  void make_room();
  size_t limit() const { return static_cast<size_t>(std::max(1, options.limits.connections)); }
  void run();
  void close_all();

  ServerOptions options;
  Router router;
  Metrics& metrics;
  asio::io_context io{1};
  tcp::acceptor acceptor{io};
  asio::steady_timer pause{io};
  uint16_t port = 0;
  std::vector<StopCall> stop_calls = {};
  std::unique_ptr<Dispatcher> dispatcher = {};
  std::unique_ptr<RequestLog> log = {};
  std::unique_ptr<WorkerPool> workers = {};
  std::unique_ptr<ConnectionHouse> house = {};
  std::thread thread = {};
  bool is_stopping = false;  // known to the thread that stops
};

void HttpServer::Parts::listen() {
  const asio::ip::address address = address_of(io, options.host);
  check_has_key(options, address);
  const tcp::endpoint endpoint(address, options.port);
  error_code problem;
  acceptor.open(endpoint.protocol(), problem);
  if (!problem) acceptor.set_option(asio::socket_base::reuse_address(true), problem);
  if (!problem) acceptor.bind(endpoint, problem);
  if (!problem) acceptor.non_blocking(true, problem);
  if (!problem) acceptor.listen(asio::socket_base::max_listen_connections, problem);
  if (problem) {
    const bool is_busy = problem == asio::error::address_in_use;
    throw Error(ErrorKind::failed, "port", host_and_port(options.host, options.port),
                is_busy ? "is busy, another program listens there; --port 0 takes a free one"
                        : problem.message());
  }
  port = acceptor.local_endpoint().port();
}

std::shared_ptr<Connection> HttpServer::Parts::longest_waiting() const {
  std::shared_ptr<Connection> longest;
  for (const auto& connection : house->connections) {
    if (!connection->waits_for_client()) continue;
    if (!longest || connection->waits_since() < longest->waits_since()) longest = connection;
  }
  return longest;
}

void HttpServer::Parts::make_room() {
  const size_t count = house->connections.size();
  if (count < limit()) return;
  const auto connection = longest_waiting();
  if (!connection) return;
  const bool is_full = count >= limit() + kSpareConnections;
  const auto waited = std::chrono::steady_clock::now() - connection->waits_since();
  if (is_full || waited > kGrace) connection->close();
}

void HttpServer::Parts::accept_next() {
  acceptor.async_accept([this](const error_code& problem, tcp::socket socket) {
    on_accepted(problem, std::move(socket));
  });
}

void HttpServer::Parts::add_connection(tcp::socket socket) {
  try {
    make_room();
    if (house->connections.size() < limit() + kSpareConnections) {
      std::make_shared<Connection>(std::move(socket), *house)->start();
    }
  } catch (const std::exception&) {
    // Not enough memory for one more; those that are there go on.
  }
}

void HttpServer::Parts::on_accepted(const error_code& problem, tcp::socket socket) {
  if (!acceptor.is_open()) return;
  if (problem) {
    // Mostly there are no descriptors left: some are given back, and a moment passes.
    if (const auto connection = longest_waiting()) connection->close();
    pause.expires_after(std::chrono::milliseconds(20));
    pause.async_wait([this](const error_code& stopped) {
      if (!stopped && acceptor.is_open()) accept_next();
    });
    return;
  }
  add_connection(std::move(socket));
  // Those that wait behind it as well: under a flood they are better pushed out here than queued by
  // the system, where whoever comes last waits for all before.
  for (size_t i = 1; i < kAcceptedAtOnce; ++i) {
    error_code none;
    tcp::socket next(io);
    acceptor.accept(next, none);
    if (none) break;
    add_connection(std::move(next));
  }
  accept_next();
}

void HttpServer::Parts::run() {
  for (;;) {
    try {
      io.run();
      return;
    } catch (const std::exception&) {
      // One callback had not enough memory.
    }
  }
}

void HttpServer::Parts::close_all() {
  error_code ignored;
  acceptor.close(ignored);
  pause.cancel();
  while (!house->connections.empty()) {
    try {
      std::shared_ptr(*house->connections.begin())->close();
    } catch (const std::exception&) {
      // No memory for the log's line; it is closed all the same.
    }
  }
}

HttpServer::HttpServer(ServerOptions options, Router router, Metrics& metrics)
    : parts_(std::make_unique<Parts>(std::move(options), std::move(router), metrics)) {
  add_own_routes(parts_->router, metrics);
  add_static_files(parts_->router, parts_->options.files);
  parts_->listen();
}

HttpServer::~HttpServer() { stop(); }

uint16_t HttpServer::port() const { return parts_->port; }

std::string HttpServer::url() const {
  return "http://" + host_and_port(parts_->options.host, parts_->port) + "/";
}

void HttpServer::on_stop(StopCall call) { parts_->stop_calls.push_back(std::move(call)); }

void HttpServer::start() {
  Parts& parts = *parts_;
  const HttpLimits& limits = parts.options.limits;
  parts.dispatcher = std::make_unique<Dispatcher>(parts.options, parts.router, parts.port);
  parts.log = std::make_unique<RequestLog>(parts.metrics, parts.options.log);
  parts.workers = std::make_unique<WorkerPool>(
      limits.workers, static_cast<size_t>(std::max(0, limits.queued_requests)),
      parts.metrics.gauge("headlight_http_queue", "Requests that wait for a worker."),
      parts.metrics.gauge("headlight_http_busy_workers", "Requests that a worker answers now."));
  parts.house = std::make_unique<ConnectionHouse>(ConnectionHouse{
      .io = parts.io,
      .limits = limits,
      .dispatcher = *parts.dispatcher,
      .workers = *parts.workers,
      .log = *parts.log,
      .open_connections =
          parts.metrics.gauge("headlight_http_connections", "Connections that are open now.")});
  parts.accept_next();
  parts.thread = std::thread([&parts] { parts.run(); });
}

bool HttpServer::stop(double seconds) {
  Parts& parts = *parts_;
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                        std::chrono::duration<double>(seconds));
  if (!parts.house) {
    error_code ignored;
    parts.acceptor.close(ignored);
    return true;
  }
  if (!parts.is_stopping) {
    parts.is_stopping = true;
    std::promise<void> closed;
    asio::post(parts.io, [&] {
      parts.close_all();
      closed.set_value();
    });
    closed.get_future().wait();
  }
  bool has_ended = true;
  for (const StopCall& call : parts.stop_calls) has_ended = call(until) && has_ended;
  const std::chrono::duration<double> left = until - Clock::now();
  if (!parts.workers->stop(std::max(0.0, left.count())) || !has_ended) return false;
  if (parts.thread.joinable()) parts.thread.join();
  return true;
}

}  // namespace headlight::server
