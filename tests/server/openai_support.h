// What the tests of /v1 share: the routes without sockets, and replies that are looked at.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "apps/server/openai/requests.h"
#include "apps/server/service.h"
#include "tests/base/temporary_folder.h"

namespace headlight::server::openai {

// Keeps what is sent. Its client may go at any time.
class KeptReply : public Reply {
 public:
  void send(Response response) override {
    const std::lock_guard lock(mutex_);
    if (is_begun_ || is_done_) return;
    response_ = std::move(response);
    is_done_ = true;
    changed_.notify_all();
  }
  void begin(int status, std::string content_type) override {
    const std::lock_guard lock(mutex_);
    if (is_begun_ || is_done_) return;
    response_.status = status;
    response_.content_type = std::move(content_type);
    is_begun_ = true;
    changed_.notify_all();
  }
  bool write(std::string bytes) override { return write_or_drop(std::move(bytes)); }
  bool write_or_drop(std::string bytes) override {
    const std::lock_guard lock(mutex_);
    if (is_gone_) return false;
    response_.body += bytes;
    changed_.notify_all();
    return true;
  }
  void end() override {
    const std::lock_guard lock(mutex_);
    is_done_ = true;
    changed_.notify_all();
  }
  bool is_gone() const override {
    const std::lock_guard lock(mutex_);
    return is_gone_;
  }
  void on_gone(std::function<void()> call) override {
    {
      const std::lock_guard lock(mutex_);
      if (!is_gone_) {
        calls_.push_back(std::move(call));
        return;
      }
    }
    call();
  }

  void go() {
    std::vector<std::function<void()>> calls;
    {
      const std::lock_guard lock(mutex_);
      is_gone_ = true;
      calls.swap(calls_);
    }
    for (const auto& call : calls) call();
  }
  // The answer, once it is complete.
  Response wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_done_; });
    return response_;
  }
  // Until that many bytes of a stream have come, or its end.
  void wait_for_bytes(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_done_ || response_.body.size() >= count; });
  }

 private:
  void cut_off() override { end(); }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Response response_;
  bool is_begun_ = false;
  bool is_done_ = false;
  bool is_gone_ = false;
  std::vector<std::function<void()>> calls_;
};

inline std::vector<std::string> segments_of(const std::string& path) {
  std::vector<std::string> segments;
  for (size_t begin = 1; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    segments.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return segments;
}

// The data of the events of a stream.
inline std::vector<std::string> events_of(const std::string& body) {
  std::vector<std::string> events;
  for (size_t begin = 0; begin < body.size();) {
    const size_t end = body.find("\n\n", begin);
    EXPECT_NE(end, std::string::npos) << "an event is cut off";
    if (end == std::string::npos) break;
    EXPECT_TRUE(body.substr(begin, 6) == "data: ") << body.substr(begin, 20);
    events.push_back(body.substr(begin + 6, end - begin - 6));
    begin = end + 2;
  }
  return events;
}

inline const io::Json& member(const io::Json& json, std::string_view path) {
  const io::Json* at = &json;
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    const std::string name(path.substr(begin, end - begin));
    const auto index = io::parse_number<size_t>(name);
    if (index && at->array() != nullptr) {
      if (*index >= at->array()->size()) throw std::runtime_error("no " + std::string(path));
      at = &(*at->array())[*index];
    } else {
      at = at->find(name);
    }
    if (at == nullptr) throw std::runtime_error("no " + std::string(path));
    begin = end + 1;
  }
  return *at;
}

inline std::string text_at(const io::Json& json, std::string_view path) {
  const std::string* text = member(json, path).text();
  return text == nullptr ? "(no text)" : *text;
}

// Routes of models that come along, or of others.
class OpenAiTest : public testing::Test {
 protected:
  ~OpenAiTest() override {
    if (!service_) return;
    for (const auto& call : service_->on_stop) call(std::chrono::steady_clock::time_point::max());
  }

  void serve(const std::vector<std::string>& names = {}) {
    models_ = std::make_unique<Models>(files_, names);
    service_ = std::make_unique<Service>(Service{.files = files_,
                                                 .threads = threads_,
                                                 .models = *models_,
                                                 .metrics = metrics_,
                                                 .work_folder = {},
                                                 .on_stop = {}});
    router_ = std::make_unique<Router>();
    state_ = add_openai_routes(*router_, *service_);
  }

  std::shared_ptr<KeptReply> ask(const std::string& method, const std::string& path,
                                 const std::string& body = {}) {
    if (!service_) serve();
    auto reply = std::make_shared<KeptReply>();
    const Router::Match match = router_->find(method, segments_of(path));
    EXPECT_NE(match.route, nullptr) << path;
    Request request{.method = method, .path = path, .parameters = match.parameters, .body = body};
    try {
      match.route->handler(request, reply);
    } catch (...) {
      reply->send_exception(std::current_exception());
    }
    return reply;
  }
  std::shared_ptr<KeptReply> post(const std::string& path, const std::string& body) {
    return ask("POST", path, body);
  }
  io::Json answer(const std::string& path, const std::string& body, int status = 200) {
    const Response response = post(path, body)->wait();
    EXPECT_EQ(response.status, status) << response.body;
    return io::parse_json(response.body, "answer");
  }
  std::vector<io::Json> chunks(const std::string& path, const std::string& body) {
    const Response response = post(path, body)->wait();
    EXPECT_EQ(response.status, 200) << response.body;
    EXPECT_EQ(response.content_type, "text/event-stream");
    std::vector<std::string> events = events_of(response.body);
    EXPECT_FALSE(events.empty());
    EXPECT_EQ(events.back(), "[DONE]");
    std::vector<io::Json> list;
    for (size_t i = 0; i + 1 < events.size(); ++i) {
      list.push_back(io::parse_json(events[i], "chunk"));
    }
    return list;
  }

  recipes::FilesWithEmbedded files_;
  base::ThreadPool threads_{2};
  Metrics metrics_;
  std::unique_ptr<Models> models_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<Router> router_;
  RoomState state_;
  test::TemporaryFolder folder_;
};

}  // namespace headlight::server::openai
