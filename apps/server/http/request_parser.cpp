// Beast's parser, with limits of our own before it and checks of the framing behind it.
#include "apps/server/http/request_parser.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

namespace headlight::server {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using boost::beast::string_view;

// What a chunk's size line or the trailers may take.
constexpr size_t kFramingLimit = 16384;
constexpr size_t kExtensionLimit = 4096;  // of one chunk

[[noreturn]] void refuse_request(int status, std::string message, std::string code) {
  throw HttpError({.status = status, .message = std::move(message), .code = std::move(code)});
}

[[noreturn]] void refuse_syntax(const std::string& why) {
  refuse_request(400, "request: " + why, "bad_request");
}

std::string small_letters(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  const size_t end = text.find_last_not_of(" \t");
  return text.substr(begin, end == std::string_view::npos ? 0 : end + 1 - begin);
}

bool names_token(std::string_view list, std::string_view token) {
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    if (small_letters(trimmed(list.substr(begin, end - begin))) == token) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace

size_t RequestHead::count(std::string_view name) const {
  return static_cast<size_t>(
      std::ranges::count_if(headers, [&](const auto& header) { return header.first == name; }));
}

std::string_view RequestHead::header(std::string_view name) const {
  const auto found =
      std::ranges::find_if(headers, [&](const auto& header) { return header.first == name; });
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

// What Beast calls for each part of a request.
class RequestParser::Reader : public http::basic_parser<true> {
 public:
  explicit Reader(RequestHead& head) : head_(head) {}
  ~Reader() override = default;

  std::string body;
  uint64_t most_bytes = 0;  // of the body

 private:
  static std::string text_of(string_view view) { return {view.data(), view.size()}; }

  void on_request_impl(http::verb /*known*/, string_view method, string_view target, int version,
                       error_code& problem) override {
    problem = {};
    head_.method = text_of(method);
    head_.target = text_of(target);
    head_.is_http_1_0 = version == 10;
  }
  void on_response_impl(int /*code*/, string_view /*reason*/, int /*version*/,
                        error_code& problem) override {
    problem = http::error::bad_version;
  }
  void on_field_impl(http::field /*known*/, string_view name, string_view value,
                     error_code& problem) override {
    problem = {};
    if (is_header_done()) return;  // trailers say nothing that is needed
    head_.headers.emplace_back(small_letters({name.data(), name.size()}), text_of(value));
  }
  void on_header_impl(error_code& problem) override { problem = {}; }
  void on_body_init_impl(boost::optional<std::uint64_t> const& /*length*/,
                         error_code& problem) override {
    problem = {};
  }
  std::size_t on_body_impl(string_view bytes, error_code& problem) override {
    problem = {};
    if (bytes.size() > most_bytes - body.size()) {
      problem = http::error::body_limit;
      return 0;
    }
    body.append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_chunk_header_impl(std::uint64_t size, string_view extensions,
                            error_code& problem) override {
    problem = {};
    if (extensions.size() > kExtensionLimit) problem = http::error::bad_chunk_extension;
    if (size > most_bytes - body.size()) problem = http::error::body_limit;
  }
  std::size_t on_chunk_body_impl(std::uint64_t /*remain*/, string_view bytes,
                                 error_code& problem) override {
    return on_body_impl(bytes, problem);
  }
  void on_finish_impl(error_code& problem) override { problem = {}; }

  RequestHead& head_;
};

RequestParser::RequestParser(const HttpLimits& limits)
    : limits_(limits), reader_(std::make_unique<Reader>(head_)) {
  reader_->body_limit(boost::none);  // ours knows the route
  reader_->header_limit(static_cast<std::uint32_t>(
      std::min<uint64_t>(limits.request_line + limits.headers + kFramingLimit, UINT32_MAX)));
}

RequestParser::~RequestParser() = default;

RequestParser::State RequestParser::state() const { return state_; }
bool RequestParser::has_begun() const { return has_begun_; }
const RequestHead& RequestParser::head() const { return head_; }
uint64_t RequestParser::body_size() const { return reader_->body.size(); }
std::string RequestParser::take_body() { return std::move(reader_->body); }

void RequestParser::set_body_limit(uint64_t bytes) {
  body_limit_ = bytes;
  reader_->most_bytes = bytes;
  if (head_.content_length.value_or(0) <= bytes) return;
  refuse_request(413,
                 "body: has " + std::to_string(*head_.content_length) + " bytes, at most " +
                     std::to_string(bytes) + " are read here",
                 "body_too_large");
}

// Looks at each byte once, however few come at a time. Beast waits for the end of the head before
// it looks at all.
void RequestParser::check_head_so_far(std::string_view bytes) {
  for (; scanned_ < bytes.size(); ++scanned_) {
    const char c = bytes[scanned_];
    if (line_count_ == 0 && scanned_ > limits_.request_line) {
      refuse_request(
          414, "request line: is longer than " + std::to_string(limits_.request_line) + " bytes",
          "uri_too_long");
    }
    if (line_count_ > 0 && scanned_ - headers_begin_ > limits_.headers) {
      refuse_request(431, "headers: are longer than " + std::to_string(limits_.headers) + " bytes",
                     "headers_too_large");
    }
    if (c == '\0') refuse_syntax("has a NUL in its head");
    if (c != '\n') {
      if (scanned_ > 0 && bytes[scanned_ - 1] == '\r') refuse_syntax("has a CR without LF");
      const bool folds = scanned_ == line_begin_ && line_count_ > 0 && (c == ' ' || c == '\t');
      if (folds) refuse_syntax("has a header that goes on in the next line");
      continue;
    }
    if (scanned_ == 0 || bytes[scanned_ - 1] != '\r') refuse_syntax("has a LF without CR");
    const bool is_empty = scanned_ - line_begin_ == 1;
    line_begin_ = scanned_ + 1;
    if (is_empty) {  // the end of the head
      ++scanned_;
      state_ = State::body;
      return;
    }
    if (line_count_ == 0) headers_begin_ = line_begin_;
    if (++line_count_ > limits_.header_count + 1) {
      refuse_request(431, "headers: are more than " + std::to_string(limits_.header_count),
                     "headers_too_large");
    }
  }
}

void RequestParser::read_head(std::string_view bytes) {
  error_code problem;
  const size_t used = reader_->put(boost::asio::const_buffer(bytes.data(), bytes.size()), problem);
  if (problem || used != bytes.size() || !reader_->is_header_done()) {
    refuse_syntax(problem ? problem.message() : "cannot be read");
  }
  const size_t lengths = head_.count("content-length");
  const size_t encodings = head_.count("transfer-encoding");
  if (lengths > 0 && encodings > 0) refuse_syntax("has both Content-Length and Transfer-Encoding");
  if (lengths > 1 || encodings > 1) refuse_syntax("says twice how long its body is");
  if (encodings == 1) {
    if (small_letters(head_.header("transfer-encoding")) != "chunked") {
      refuse_syntax("has a Transfer-Encoding other than chunked");
    }
    if (head_.is_http_1_0) refuse_syntax("of HTTP/1.0 has no chunks");
    head_.is_chunked = true;
  }
  if (lengths == 1) {
    const auto length = reader_->content_length();
    const bool is_number =
        head_.header("content-length").find_first_not_of("0123456789") == std::string_view::npos;
    if (!length || !is_number) refuse_syntax("has a Content-Length that is no number");
    head_.content_length = *length;
  }
  head_.keeps_alive = !head_.is_http_1_0 && !names_token(head_.header("connection"), "close");
  if (reader_->is_done()) state_ = State::complete;
}

size_t RequestParser::put(std::string_view bytes) {
  if (state_ == State::complete) return 0;
  if (state_ == State::head) {
    // An empty line or two before a request, as some clients leave after a body.
    if (!has_begun_ && bytes.starts_with("\r\n")) return 2;
    if (!has_begun_ && bytes == "\r") return 0;
    has_begun_ = has_begun_ || !bytes.empty();
    check_head_so_far(bytes);
    if (state_ == State::head) return 0;
    read_head(bytes.substr(0, scanned_));
    return scanned_;
  }
  size_t used = 0;
  // What is left of a request in chunks ends with an empty one, of five bytes; with fewer Beast
  // would have to guess.
  const size_t least = head_.is_chunked ? 5 : 1;
  while (bytes.size() - used >= least && !reader_->is_done()) {
    error_code problem;
    const size_t more =
        reader_->put(boost::asio::const_buffer(bytes.data() + used, bytes.size() - used), problem);
    used += more;
    framed_bytes_ += more;
    // Chunks of one byte take six; what is far beyond is no way to send a body.
    if (problem == http::error::body_limit || framed_bytes_ / 8 > body_limit_ + kFramingLimit) {
      refuse_request(413,
                     "body: has more than " + std::to_string(body_limit_) +
                         " bytes, which is all "
                         "that is read here",
                     "body_too_large");
    }
    if (problem && problem != http::error::need_more) refuse_syntax(problem.message());
    if (more == 0) break;
  }
  if (reader_->is_done()) {
    state_ = State::complete;
  } else if (head_.is_chunked && bytes.size() - used > kFramingLimit) {
    refuse_syntax("has a chunk without a size");
  }
  return used;
}

}  // namespace headlight::server
