// Requests to handlers, answers to memory.
#include "tests/server/studio_room.h"

#include <sstream>

namespace headlight::test {
namespace {

std::string error_member(const Answer& answer, const char* name) {
  const io::Json document = answer.json();
  const io::Json* error = document.find("error");
  const io::Json* member = error == nullptr ? nullptr : error->find(name);
  return member == nullptr || member->text() == nullptr ? "" : *member->text();
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

std::string decoded(const std::string& text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      plain += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

}  // namespace

std::string Answer::param() const { return error_member(*this, "param"); }
std::string Answer::message() const { return error_member(*this, "message"); }
std::string Answer::code() const { return error_member(*this, "code"); }

std::vector<Event> events_in(const std::string& stream) {
  std::vector<Event> events;
  size_t begin = 0;
  for (size_t end; (end = stream.find("\n\n", begin)) != std::string::npos; begin = end + 2) {
    Event event;
    std::string data;
    for (const std::string& line : split(stream.substr(begin, end - begin), '\n')) {
      if (line.starts_with("id: ")) event.id = line.substr(4);
      if (line.starts_with("event: ")) event.name = line.substr(7);
      if (line.starts_with("data: ")) data += line.substr(6);
    }
    if (!data.empty()) event.data = io::parse_json(data, "event");
    events.push_back(std::move(event));
  }
  return events;
}

void MemoryReply::send(server::Response response) {
  const std::lock_guard lock(mutex_);
  if (is_answered_) return;
  is_answered_ = is_complete_ = true;
  answer_ = {response.status, response.content_type, response.body, response.headers};
  changed_.notify_all();
}

void MemoryReply::begin(int status, std::string content_type) {
  const std::lock_guard lock(mutex_);
  if (is_answered_) return;
  is_answered_ = true;
  answer_.status = status;
  answer_.type = std::move(content_type);
}

bool MemoryReply::write(std::string bytes) {
  std::vector<std::function<void()>> calls;
  {
    const std::lock_guard lock(mutex_);
    if (is_gone_) return false;
    answer_.body += bytes;
    changed_.notify_all();
    if (--left_ > 0) return true;
    is_gone_ = true;
    calls.swap(calls_);
  }
  for (const auto& call : calls) call();
  return false;
}

void MemoryReply::end() {
  const std::lock_guard lock(mutex_);
  is_complete_ = true;
  changed_.notify_all();
}

bool MemoryReply::is_gone() const {
  const std::lock_guard lock(mutex_);
  return is_gone_;
}

void MemoryReply::on_gone(std::function<void()> call) {
  {
    const std::lock_guard lock(mutex_);
    if (!is_gone_) {
      calls_.push_back(std::move(call));
      return;
    }
  }
  call();
}

Answer MemoryReply::wait() {
  std::unique_lock lock(mutex_);
  const bool came =
      changed_.wait_for(lock, std::chrono::minutes(2), [&] { return is_complete_ || is_gone_; });
  EXPECT_TRUE(came) << "no answer";
  return answer_;
}

std::string MemoryReply::written() const {
  const std::lock_guard lock(mutex_);
  return answer_.body;
}

void MemoryReply::go() {
  std::vector<std::function<void()>> calls;
  {
    const std::lock_guard lock(mutex_);
    is_gone_ = true;
    calls.swap(calls_);
    changed_.notify_all();
  }
  for (const auto& call : calls) call();
}

StudioRoom::StudioRoom(std::string work_folder, const std::vector<std::string>& models)
    : models_(files_, models),
      service_{.files = files_,
               .threads = threads_,
               .models = models_,
               .metrics = metrics_,
               .work_folder = std::move(work_folder)},
      state_(server::add_studio_routes(router_, service_)) {}

StudioRoom::~StudioRoom() { stop(); }

void StudioRoom::stop() {
  if (is_stopped_) return;
  is_stopped_ = true;
  for (const auto& call : service_.on_stop) call(std::chrono::steady_clock::time_point::max());
  service_.on_stop.clear();
  state_.reset();
}

std::shared_ptr<MemoryReply> StudioRoom::begin(const std::string& method, const std::string& target,
                                               const std::string& body,
                                               std::shared_ptr<MemoryReply> reply,
                                               const std::string& type) {
  if (reply == nullptr) {
    constexpr size_t kKept = 1000;
    reply = std::make_shared<MemoryReply>();
    const std::lock_guard lock(replies_mutex_);
    replies_.push_back(reply);
    if (replies_.size() > kKept) replies_.pop_front();
  }
  server::Request request{.method = method, .path = target.substr(0, target.find('?'))};
  if (const size_t mark = target.find('?'); mark != std::string::npos) {
    for (const std::string& pair : split(target.substr(mark + 1), '&')) {
      const size_t equals = pair.find('=');
      request.query[decoded(pair.substr(0, equals))] =
          equals == std::string::npos ? "" : decoded(pair.substr(equals + 1));
    }
  }
  request.body = body;
  request.content_type = body.empty() ? "" : type;
  const server::Router::Match match = router_.find(method, split(request.path.substr(1), '/'));
  if (match.route == nullptr) {
    reply->send({.status = match.allowed.empty() ? 404 : 405});
    return reply;
  }
  request.parameters = match.parameters;
  try {
    match.route->handler(request, reply);
  } catch (...) {
    reply->send_exception(std::current_exception());
  }
  return reply;
}

}  // namespace headlight::test
