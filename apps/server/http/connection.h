// Connection: one client. Reads requests one after the other, writes their answers, and keeps to
// the deadlines. All of it on the server's thread; only Exchange is shared with others.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>

#include "apps/server/http/dispatch.h"
#include "apps/server/http/exchange.h"
#include "apps/server/http/request_log.h"
#include "apps/server/http/worker_pool.h"

namespace headlight::server {

class Connection;

// What all connections share.
struct ConnectionHouse {
  boost::asio::io_context& io;
  const HttpLimits& limits;
  const Dispatcher& dispatcher;
  WorkerPool& workers;
  RequestLog& log;
  Gauge& open_connections;
  std::unordered_set<std::shared_ptr<Connection>> connections = {};
  int answering = 0;        // connections whose request is being answered
  uint64_t requests = 0;    // so far
  uint64_t body_bytes = 0;  // of bodies that are being received or worked on
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::ip::tcp::socket socket, ConnectionHouse& house);

  void start();
  // At once, whatever it does; its client gets nothing more.
  void close();
  // Whether it only waits for bytes of a client, or for it to close, and since when.
  bool waits_for_client() const {
    return phase_ == Phase::idle || phase_ == Phase::reading || phase_ == Phase::lingering;
  }
  std::chrono::steady_clock::time_point waits_since() const { return waits_since_; }

 private:
  enum class Phase { idle, reading, answering, lingering, closed };

  void await_request();
  void read_more();
  void on_read(const boost::system::error_code& problem, size_t count);
  void read_input();
  void on_head();
  void on_body_bytes();
  void on_request();
  void run_route();
  void ask_for_body();
  void on_client_gone();
  void watch_for_hang_up();
  void open_exchange();
  void refuse(const HttpErrorFields& fields);
  void write_more();
  void on_written(const boost::system::error_code& problem, bool is_last, bool closes);
  void end_exchange();
  void linger();
  void set_deadline(double seconds, void (Connection::*action)());
  void clear_deadline();
  void on_slow_head();
  void on_slow_body();
  void drop();
  void give_back_body();
  template <class Call>
  void guarded(const Call& call);

  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer timer_;
  boost::asio::steady_timer hang_up_timer_;
  ConnectionHouse& house_;
  std::string address_;
  Phase phase_ = Phase::idle;
  std::chrono::steady_clock::time_point waits_since_ = {};
  std::chrono::steady_clock::time_point begun_ = {};  // the request that is read or answered
  uint64_t deadline_number_ = 0;                      // of the last one that was set
  std::array<char, 16384> chunk_;
  std::string input_;
  bool is_reading_ = false;
  bool is_writing_ = false;
  bool is_watching_ = false;
  int full_intervals_ = 0;  // that the client has waited with more than is read ahead
  int served_ = 0;          // requests
  std::optional<RequestParser> parser_;
  std::optional<Dispatched> dispatched_;
  std::shared_ptr<Exchange> exchange_;
  std::vector<std::string> output_;  // what is being written
  uint64_t counted_body_ = 0;        // in house_.body_bytes
  uint64_t discarded_ = 0;           // while lingering
};

}  // namespace headlight::server
