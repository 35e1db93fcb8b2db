// Exchange: one request's answer between the thread that computes it and the one that writes it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "apps/server/http/reply.h"

namespace headlight::server {

struct ExchangeOptions {
  uint64_t number = 0;       // of the request
  bool has_no_body = false;  // HEAD: the answer's head alone
  bool has_chunks = true;    // the client knows them
  bool keeps_alive = true;
  uint64_t output_buffer = 1 << 20;
  double write_seconds = 60;
  // There is something to write, or to close; from any thread, until the exchange is over.
  std::function<void()> wake = {};
};

// Thread-safe. The connection holds it until it is over, and replies until they go.
class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  explicit Exchange(ExchangeOptions options) : options_(std::move(options)) {}

  // A reply for the handler; when it goes without an answer, the client gets an error.
  std::shared_ptr<Reply> reply();

  // As Reply has them.
  void send(Response response);
  void begin(int status, std::string content_type);
  bool write(std::string bytes);
  bool write_or_drop(std::string bytes);
  void end();
  void cut_off();
  bool is_gone() const;
  void on_gone(std::function<void()> call);

  // For the connection. What is to be written now, and whether it ends the answer.
  struct Output {
    std::vector<std::string> pieces = {};
    bool is_last = false;
    bool closes = false;  // the connection, after the last
  };
  Output take();
  // What take() gave is with the client.
  void wrote();
  // The client went, or nobody will write to it any more: whoever waits stops waiting.
  void go();
  // The answer is with the client.
  void finish();
  bool is_dropped() const;  // too slow: to be closed at once, without the rest
  bool has_answer() const;  // all of it is there, if not yet with the client
  uint64_t number() const { return options_.number; }
  int status() const;      // 0: none yet
  uint64_t bytes() const;  // of the answer so far, without its head

 private:
  class Handle;
  bool add_chunk(std::string bytes);
  void add_piece(std::string bytes);
  void wake() const;
  uint64_t waiting_bytes() const { return pending_bytes_ + written_bytes_; }

  ExchangeOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable room_;
  std::deque<std::string> pending_;
  uint64_t pending_bytes_ = 0;
  uint64_t written_bytes_ = 0;  // taken and not yet with the client
  uint64_t body_bytes_ = 0;
  int status_ = 0;
  bool is_stream_ = false;
  bool is_ended_ = false;    // nothing will be added
  bool is_cut_off_ = false;  // ended before its end
  bool is_dropped_ = false;
  bool is_over_ = false;  // gone, or finished
  bool is_gone_ = false;
  std::vector<std::function<void()>> gone_calls_;
};

}  // namespace headlight::server
