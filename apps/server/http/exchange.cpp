// Buffers between two threads, with a limit.
#include "apps/server/http/exchange.h"

#include <array>
#include <charconv>
#include <chrono>

#include "apps/server/http/response_head.h"

namespace headlight::server {
namespace {

// Pieces of a stream below this are joined, so that many small ones are written at once.
constexpr size_t kJoinedBytes = 16384;

std::string chunk_of(const std::string& bytes) {
  std::array<char, 16> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), bytes.size(), 16);
  std::string chunk(digits.data(), end.ptr);
  chunk.reserve(chunk.size() + bytes.size() + 4);
  return chunk.append("\r\n").append(bytes).append("\r\n");
}

}  // namespace

// What a handler holds.
class Exchange::Handle : public Reply {
 public:
  explicit Handle(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
  ~Handle() override {
    // Nothing where there was an answer.
    exchange_->send({.status = 500,
                     .body = error_json({.message = "internal error: no answer was given",
                                         .type = "server_error"})});
    exchange_->cut_off();
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  void send(Response response) override { exchange_->send(std::move(response)); }
  void begin(int status, std::string type) override { exchange_->begin(status, std::move(type)); }
  bool write(std::string bytes) override { return exchange_->write(std::move(bytes)); }
  bool write_or_drop(std::string bytes) override {
    return exchange_->write_or_drop(std::move(bytes));
  }
  void end() override { exchange_->end(); }
  bool is_gone() const override { return exchange_->is_gone(); }
  void on_gone(std::function<void()> call) override { exchange_->on_gone(std::move(call)); }

 private:
  void cut_off() override { exchange_->cut_off(); }

  std::shared_ptr<Exchange> exchange_;
};

std::shared_ptr<Reply> Exchange::reply() { return std::make_shared<Handle>(shared_from_this()); }

// Under the lock: who ends the exchange takes `wake` away under it too.
void Exchange::wake() const {
  if (options_.wake) options_.wake();
}

void Exchange::add_piece(std::string bytes) {
  pending_bytes_ += bytes.size();
  if (!pending_.empty() && pending_.back().size() + bytes.size() < kJoinedBytes) {
    pending_.back() += bytes;
  } else {
    pending_.push_back(std::move(bytes));
  }
}

void Exchange::send(Response response) {
  const std::lock_guard lock(mutex_);
  if (status_ != 0 || is_over_) return;
  status_ = response.status;
  const bool has_body = status_ != 204 && status_ != 304;
  add_piece(head_text({.status = status_,
                       .content_type = response.content_type,
                       .headers = response.headers,
                       .number = options_.number,
                       .length = static_cast<int64_t>(response.body.size()),
                       .keeps_alive = options_.keeps_alive}));
  if (has_body && !options_.has_no_body && !response.body.empty()) {
    body_bytes_ = response.body.size();
    add_piece(std::move(response.body));
  }
  is_ended_ = true;
  wake();
}

void Exchange::begin(int status, std::string content_type) {
  const std::lock_guard lock(mutex_);
  if (status_ != 0 || is_over_) return;
  status_ = status;
  is_stream_ = true;
  if (!options_.has_chunks) options_.keeps_alive = false;
  add_piece(head_text({.status = status,
                       .content_type = content_type,
                       .headers = {},
                       .number = options_.number,
                       .length = -1,
                       .has_chunks = options_.has_chunks,
                       .keeps_alive = options_.keeps_alive}));
  wake();
}

bool Exchange::add_chunk(std::string bytes) {
  if (is_over_ || !is_stream_ || is_ended_) return false;
  if (options_.has_no_body || bytes.empty()) return true;
  body_bytes_ += bytes.size();
  add_piece(options_.has_chunks ? chunk_of(bytes) : std::move(bytes));
  wake();
  return true;
}

bool Exchange::write(std::string bytes) {
  std::unique_lock lock(mutex_);
  const auto has_room = [&] {
    return is_over_ || is_ended_ || waiting_bytes() == 0 ||
           waiting_bytes() + bytes.size() <= options_.output_buffer;
  };
  const auto patience = std::chrono::duration<double>(options_.write_seconds);
  if (!room_.wait_for(lock, patience, has_room)) {
    is_dropped_ = true;
    wake();
    return false;
  }
  return add_chunk(std::move(bytes));
}

bool Exchange::write_or_drop(std::string bytes) {
  const std::lock_guard lock(mutex_);
  if (waiting_bytes() != 0 && waiting_bytes() + bytes.size() > options_.output_buffer &&
      is_stream_ && !is_ended_ && !is_over_) {
    is_dropped_ = true;
    wake();
  }
  if (is_dropped_) return false;
  return add_chunk(std::move(bytes));
}

void Exchange::end() {
  const std::lock_guard lock(mutex_);
  if (is_over_ || !is_stream_ || is_ended_) return;
  is_ended_ = true;
  if (options_.has_chunks && !options_.has_no_body) add_piece("0\r\n\r\n");
  wake();
}

void Exchange::cut_off() {
  const std::lock_guard lock(mutex_);
  if (is_over_ || !is_stream_ || is_ended_) return;
  is_ended_ = true;
  is_cut_off_ = true;
  wake();
}

bool Exchange::is_gone() const {
  const std::lock_guard lock(mutex_);
  return is_gone_ || is_dropped_;
}

void Exchange::on_gone(std::function<void()> call) {
  {
    const std::lock_guard lock(mutex_);
    if (!is_gone_) {
      if (!is_over_) gone_calls_.push_back(std::move(call));
      return;
    }
  }
  call();
}

Exchange::Output Exchange::take() {
  const std::lock_guard lock(mutex_);
  Output output{.pieces = {std::make_move_iterator(pending_.begin()),
                           std::make_move_iterator(pending_.end())},
                .is_last = is_ended_,
                .closes = !options_.keeps_alive || is_cut_off_};
  pending_.clear();
  written_bytes_ += pending_bytes_;
  pending_bytes_ = 0;
  return output;
}

void Exchange::wrote() {
  const std::lock_guard lock(mutex_);
  written_bytes_ = 0;
  room_.notify_all();
}

void Exchange::go() {
  std::vector<std::function<void()>> calls;
  {
    const std::lock_guard lock(mutex_);
    if (is_over_) return;
    is_over_ = true;
    // An answer that is complete but for its way through the network was not given in vain.
    is_gone_ = !is_ended_ || is_cut_off_;
    if (is_gone_) calls.swap(gone_calls_);
    gone_calls_.clear();
    options_.wake = nullptr;
    pending_.clear();
    pending_bytes_ = 0;
    room_.notify_all();
  }
  for (const auto& call : calls) call();
}

void Exchange::finish() {
  std::vector<std::function<void()>> calls;  // what they hold is let go outside the lock
  const std::lock_guard lock(mutex_);
  is_over_ = true;
  options_.wake = nullptr;
  calls.swap(gone_calls_);
  room_.notify_all();
}

bool Exchange::is_dropped() const {
  const std::lock_guard lock(mutex_);
  return is_dropped_;
}

bool Exchange::has_answer() const {
  const std::lock_guard lock(mutex_);
  return is_ended_;
}

int Exchange::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

uint64_t Exchange::bytes() const {
  const std::lock_guard lock(mutex_);
  return body_bytes_;
}

}  // namespace headlight::server
