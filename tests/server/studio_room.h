// StudioRoom: the studio's routes without a network: requests are handed to the router, answers are
// kept in memory.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "apps/server/service.h"
#include "headlight/narrate/narrate.h"

namespace headlight::test {

// What was answered.
struct Answer {
  int status = 0;
  std::string type = {};
  std::string body = {};
  std::map<std::string, std::string> headers = {};

  io::Json json() const { return io::parse_json(body, "answer"); }
  // Of an error.
  std::string param() const;
  std::string message() const;
  std::string code() const;
};

// One event of a stream.
struct Event {
  std::string id = {};
  std::string name = {};
  io::Json data = {};
};
std::vector<Event> events_in(const std::string& stream);

// A reply in memory; a client that goes away after so many writes.
class MemoryReply : public server::Reply {
 public:
  explicit MemoryReply(int64_t writes_until_gone = INT64_MAX) : left_(writes_until_gone) {}

  void send(server::Response response) override;
  void begin(int status, std::string content_type) override;
  bool write(std::string bytes) override;
  bool write_or_drop(std::string bytes) override { return write(std::move(bytes)); }
  void end() override;
  bool is_gone() const override;
  void on_gone(std::function<void()> call) override;

  // Waits until there is a whole answer; of a stream until it ends or its client is gone.
  Answer wait();
  // What a stream has written so far.
  std::string written() const;
  void go();

 private:
  void cut_off() override { go(); }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Answer answer_;
  int64_t left_;
  bool is_gone_ = false;
  bool is_answered_ = false;
  bool is_complete_ = false;
  std::vector<std::function<void()>> calls_;
};

class StudioRoom {
 public:
  explicit StudioRoom(std::string work_folder = "", const std::vector<std::string>& models = {});
  ~StudioRoom();

  std::shared_ptr<MemoryReply> begin(const std::string& method, const std::string& target,
                                     const std::string& body = "",
                                     std::shared_ptr<MemoryReply> reply = nullptr,
                                     const std::string& type = "application/json");
  Answer ask(const std::string& method, const std::string& target, const std::string& body = "",
             const std::string& type = "application/json") {
    return begin(method, target, body, nullptr, type)->wait();
  }
  Answer get(const std::string& target) { return ask("GET", target); }
  Answer post(const std::string& target, const io::Json& body) {
    return ask("POST", target, io::json_text(body));
  }
  // As when a server ends.
  void stop();

  server::Models& models() { return models_; }
  base::ThreadPool& threads() { return threads_; }
  recipes::FilesWithEmbedded& files() { return files_; }

 private:
  // Answers are let go after the threads that wrote them, or by and by: the thread sanitizer does
  // not see the counting of references in tests, which are compiled without it.
  std::mutex replies_mutex_;
  std::deque<std::shared_ptr<MemoryReply>> replies_;
  recipes::FilesWithEmbedded files_;
  base::ThreadPool threads_{2};
  server::Models models_;
  server::Metrics metrics_;
  server::Service service_;
  server::Router router_;
  server::RoomState state_;
  bool is_stopped_ = false;
};

}  // namespace headlight::test
