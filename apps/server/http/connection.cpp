// One client's requests and answers, in callbacks.
#include "apps/server/http/connection.h"

#include <poll.h>

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <utility>

namespace headlight::server {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;

constexpr size_t kPipelinedBytes = 65536;      // of further requests while one is answered
constexpr uint64_t kDiscardedBytes = 4 << 20;  // of a body that is not wanted, before closing
constexpr double kLingerSeconds = 1;
constexpr auto kHangUpInterval = std::chrono::milliseconds(100);
constexpr int kFullIntervals = 10;  // with more requests than are read ahead, and no answer yet

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// "10 seconds", "0.25 seconds".
std::string seconds_text(double seconds) { return io::json_text(io::Json(seconds)) + " seconds"; }

}  // namespace

Connection::Connection(asio::ip::tcp::socket socket, ConnectionHouse& house)
    : socket_(std::move(socket)), timer_(house.io), hang_up_timer_(house.io), house_(house) {}

// What is wrong with one connection (no memory for it) ends it and nothing else.
template <class Call>
void Connection::guarded(const Call& call) {
  try {
    call();
  } catch (const std::exception&) {
    close();
  }
}

void Connection::start() {
  house_.connections.insert(shared_from_this());
  house_.open_connections.set(static_cast<int64_t>(house_.connections.size()));
  error_code problem;
  const auto peer = socket_.remote_endpoint(problem);
  address_ = problem ? "-" : peer.address().to_string();
  // Answers are written whole; nothing is gained by waiting for more.
  socket_.set_option(asio::ip::tcp::no_delay(true), problem);
  // A client whose cable was pulled never says that it goes.
  socket_.set_option(asio::socket_base::keep_alive(true), problem);
  parser_.emplace(house_.limits);
  waits_since_ = Clock::now();
  phase_ = Phase::idle;
  set_deadline(house_.limits.header_seconds, &Connection::close);
  read_more();
}

void Connection::close() {
  if (phase_ == Phase::closed) return;
  const auto self = shared_from_this();
  phase_ = Phase::closed;
  clear_deadline();
  hang_up_timer_.cancel();
  error_code ignored;
  socket_.close(ignored);
  house_.connections.erase(self);
  house_.open_connections.set(static_cast<int64_t>(house_.connections.size()));
  give_back_body();
  if (exchange_) end_exchange();
}

// Without the orderly end that waits for the client to take what it does not take.
void Connection::drop() {
  error_code ignored;
  socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  close();
}

void Connection::set_deadline(double seconds, void (Connection::*action)()) {
  const uint64_t number = ++deadline_number_;
  timer_.expires_after(
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds)));
  timer_.async_wait([self = shared_from_this(), number, action](const error_code& problem) {
    if (problem || number != self->deadline_number_ || self->phase_ == Phase::closed) return;
    self->guarded([&] { ((*self).*action)(); });
  });
}

void Connection::clear_deadline() {
  ++deadline_number_;
  timer_.cancel();
}

void Connection::await_request() {
  phase_ = Phase::idle;
  waits_since_ = Clock::now();
  parser_.emplace(house_.limits);
  dispatched_.reset();
  set_deadline(house_.limits.idle_seconds, &Connection::close);
  read_input();
}

// One read is always under way, unless a client sends more than it is served: so its leaving is
// noticed in any state.
void Connection::read_more() {
  if (is_reading_ || phase_ == Phase::closed) return;
  if (phase_ == Phase::answering && input_.size() >= kPipelinedBytes) {
    watch_for_hang_up();
    return;
  }
  is_reading_ = true;
  socket_.async_read_some(asio::buffer(chunk_),
                          [self = shared_from_this()](const error_code& problem, size_t count) {
                            self->is_reading_ = false;
                            self->guarded([&] { self->on_read(problem, count); });
                          });
}

void Connection::on_read(const error_code& problem, size_t count) {
  if (phase_ == Phase::closed) return;
  if (problem) {
    on_client_gone();
    return;
  }
  if (phase_ == Phase::lingering) {
    discarded_ += count;
    discarded_ > kDiscardedBytes ? close() : read_more();
    return;
  }
  input_.append(chunk_.data(), count);
  phase_ == Phase::answering ? read_more() : read_input();
}

// A client that closes before its answer is complete does not want it; one that has all of it, or
// will in a moment, may close when it likes.
void Connection::on_client_gone() {
  const bool has_answer = phase_ == Phase::answering && exchange_->has_answer();
  if (!has_answer) close();
}

void Connection::watch_for_hang_up() {
  if (is_watching_) return;
  is_watching_ = true;
  hang_up_timer_.expires_after(kHangUpInterval);
  hang_up_timer_.async_wait([self = shared_from_this()](const error_code& problem) {
    self->is_watching_ = false;
    if (problem || self->phase_ != Phase::answering) return;
    pollfd file{.fd = self->socket_.native_handle(), .events = POLLRDHUP, .revents = 0};
    const bool is_patient = ++self->full_intervals_ < kFullIntervals;
    if (poll(&file, 1, 0) > 0) {
      self->guarded([&] { self->on_client_gone(); });
    } else if (is_patient || self->exchange_->has_answer()) {
      self->read_more();
    } else {
      // Behind what it has sent we would not see it go.
      self->guarded([&] { self->drop(); });
    }
  });
}

void Connection::read_input() {
  if (phase_ != Phase::idle && phase_ != Phase::reading) return;
  size_t used = 0;
  try {
    while (used < input_.size()) {
      const RequestParser::State before = parser_->state();
      const size_t more = parser_->put(std::string_view(input_).substr(used));
      used += more;
      if (parser_->has_begun() && phase_ == Phase::idle) {
        phase_ = Phase::reading;
        begun_ = waits_since_ = Clock::now();
        set_deadline(house_.limits.header_seconds, &Connection::on_slow_head);
      }
      if (before == RequestParser::State::head && parser_->state() != before) on_head();
      if (phase_ != Phase::reading && phase_ != Phase::idle) break;
      if (parser_->state() == RequestParser::State::complete) break;
      if (more == 0) break;
    }
    input_.erase(0, std::exchange(used, 0));
    if (phase_ == Phase::reading) on_body_bytes();
    if (phase_ == Phase::reading && parser_->state() == RequestParser::State::complete) {
      on_request();
    }
  } catch (const HttpError& error) {
    input_.erase(0, std::min(used, input_.size()));
    refuse(error.fields());
  }
  read_more();
}

void Connection::on_head() {
  dispatched_ = house_.dispatcher.dispatch(parser_->head());
  parser_->set_body_limit(dispatched_->body_limit);
  const bool is_full = house_.answering >= std::max(1, house_.limits.connections);
  if (is_full && dispatched_->route != nullptr && !dispatched_->route->options.answers_at_once) {
    refuse_busy("connections: " + std::to_string(house_.limits.connections) +
                " are being answered already, which is all that are at once");
  }
  if (parser_->state() == RequestParser::State::complete) return;
  set_deadline(house_.limits.body_seconds, &Connection::on_slow_body);
  if (dispatched_->expects_continue) ask_for_body();
}

void Connection::ask_for_body() {
  output_ = {"HTTP/1.1 100 Continue\r\n\r\n"};
  is_writing_ = true;
  asio::async_write(socket_, asio::buffer(output_.front()),
                    [self = shared_from_this()](const error_code& problem, size_t) {
                      self->is_writing_ = false;
                      if (problem) return self->close();
                      self->guarded([&] { self->write_more(); });
                    });
}

void Connection::on_body_bytes() {
  const uint64_t size = parser_->body_size();
  house_.body_bytes += size - counted_body_;
  counted_body_ = size;
  if (house_.body_bytes > house_.limits.body_memory) {
    refuse_busy("body: " + std::to_string(house_.body_bytes) +
                " bytes are being received, at most " + std::to_string(house_.limits.body_memory) +
                " are held at once");
  }
}

void Connection::give_back_body() {
  house_.body_bytes -= counted_body_;
  counted_body_ = 0;
}

void Connection::open_exchange() {
  const RequestHead& head = parser_->head();
  const bool is_complete = parser_->state() == RequestParser::State::complete;
  const bool keeps_alive =
      is_complete && head.keeps_alive && ++served_ < house_.limits.requests_per_connection;
  const std::weak_ptr<Connection> weak = weak_from_this();
  exchange_ =
      std::make_shared<Exchange>(ExchangeOptions{.number = ++house_.requests,
                                                 .has_no_body = head.method == "HEAD",
                                                 .has_chunks = !head.is_http_1_0,
                                                 .keeps_alive = keeps_alive,
                                                 .output_buffer = house_.limits.output_buffer,
                                                 .write_seconds = house_.limits.write_seconds,
                                                 .wake = [weak, &io = house_.io] {
                                                   asio::post(io, [weak] {
                                                     if (const auto self = weak.lock())
                                                       self->guarded([&] { self->write_more(); });
                                                   });
                                                 }});
  ++house_.answering;
  phase_ = Phase::answering;
  full_intervals_ = 0;
  clear_deadline();
}

void Connection::refuse(const HttpErrorFields& fields) {
  if (!exchange_) open_exchange();
  exchange_->reply()->send_error(fields);
}

void Connection::on_request() {
  add_body(*dispatched_, parser_->take_body());
  open_exchange();
  dispatched_->request.number = house_.requests;
  if (dispatched_->answer) {
    exchange_->reply()->send(*dispatched_->answer);
    return;
  }
  run_route();
}

void Connection::run_route() {
  const Router::Route& route = *dispatched_->route;
  const std::shared_ptr<Reply> reply = exchange_->reply();
  const auto run = [exchange = exchange_, reply, &route,
                    request = std::make_shared<const Request>(std::move(dispatched_->request))] {
    if (exchange->is_gone()) return;
    try {
      route.handler(*request, reply);
    } catch (...) {
      reply->send_exception(std::current_exception());
    }
  };
  if (route.options.answers_at_once) return run();
  if (house_.workers.try_add(run)) return;
  reply->send_error(busy_fields("requests: " + std::to_string(house_.limits.queued_requests) +
                                " are waiting already, which is all that may"));
}

void Connection::write_more() {
  if (!exchange_ || phase_ == Phase::closed) return;
  if (exchange_->is_dropped()) return drop();
  if (is_writing_) return;
  Exchange::Output output = exchange_->take();
  if (output.pieces.empty()) {
    if (output.is_last) on_written({}, true, output.closes);
    return;
  }
  output_ = std::move(output.pieces);
  std::vector<asio::const_buffer> buffers;
  for (const std::string& piece : output_) buffers.emplace_back(asio::buffer(piece));
  is_writing_ = true;
  set_deadline(house_.limits.write_seconds, &Connection::drop);
  asio::async_write(socket_, buffers,
                    [self = shared_from_this(), is_last = output.is_last, closes = output.closes](
                        const error_code& problem, size_t) {
                      self->is_writing_ = false;
                      self->guarded([&] { self->on_written(problem, is_last, closes); });
                    });
}

void Connection::on_written(const error_code& problem, bool is_last, bool closes) {
  if (phase_ == Phase::closed) return;
  if (problem) return close();
  clear_deadline();
  output_.clear();
  exchange_->wrote();
  if (!is_last) return write_more();
  end_exchange();
  give_back_body();
  closes ? linger() : await_request();
}

// Once the answer is with the client, or never will be.
void Connection::end_exchange() {
  --house_.answering;
  const bool is_complete = phase_ != Phase::closed;
  const RequestHead& head = parser_->head();
  house_.log.add({.address = address_,
                  .method = head.method,
                  .target = head.target,
                  .route = dispatched_ && dispatched_->route ? dispatched_->route->pattern : "",
                  .status = exchange_->status(),
                  .is_cut = !is_complete,
                  .bytes = exchange_->bytes(),
                  .seconds = seconds_since(begun_),
                  .number = exchange_->number()});
  is_complete ? exchange_->finish() : exchange_->go();
  exchange_.reset();
}

// Closing while the client still sends would take back the answer that it has not read yet.
void Connection::linger() {
  phase_ = Phase::lingering;
  error_code problem;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, problem);
  if (problem) return close();
  input_.clear();
  set_deadline(kLingerSeconds, &Connection::close);
  read_more();
}

void Connection::on_slow_head() {
  refuse({.status = 408,
          .message = "headers: did not come within " + seconds_text(house_.limits.header_seconds),
          .code = "request_timeout"});
}

void Connection::on_slow_body() {
  refuse({.status = 408,
          .message = "body: did not come within " + seconds_text(house_.limits.body_seconds),
          .code = "request_timeout"});
}

}  // namespace headlight::server
