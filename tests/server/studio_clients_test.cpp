// Clients of the studio that go away: what they asked for ends where it is asked next, and leaves
// nothing behind.
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "apps/server/server.h"
#include "tests/server/raw_client.h"
#include "tests/server/studio_room.h"
#include "tests/server/test_server.h"

extern "C" void __asan_init() __attribute__((weak));  // NOLINT(bugprone-reserved-identifier)
extern "C" void __tsan_init() __attribute__((weak));  // NOLINT(bugprone-reserved-identifier)

namespace headlight::test {
namespace {

using io::Json;
using namespace std::chrono_literals;

// Counts how often it is asked whether its client is there, who goes at one of these.
class CountingReply : public MemoryReply {
 public:
  explicit CountingReply(int64_t gone_at = INT64_MAX) : gone_at_(gone_at) {}
  bool is_gone() const override { return ++asked_ >= gone_at_ || MemoryReply::is_gone(); }
  int64_t asked() const { return asked_; }

 private:
  mutable std::atomic<int64_t> asked_ = 0;
  int64_t gone_at_;
};

struct LongRequest {
  const char* name;
  const char* method;
  const char* target;  // TRACE stands for the id of a trace
  const char* body;
  int64_t least;  // how often it asks at least
};

constexpr LongRequest kLongRequests[] = {
    {"trace", "POST", "/api/trace",
     R"({"model":"stories","text":"Anna has three apples.","continue":20})", 40},
    {"trace_of_the_worked_model", "POST", "/api/trace",
     R"({"text":"When you play the game of thrones","train":true})", 300},
    {"tensors", "GET", "/api/trace/TRACE/tensors?names=decoder.sum,decoder.output,logits", "", 3},
    {"compare", "POST", "/api/compare", R"({"a":"TRACE","b":"TRACE"})", 30},
    {"export_as_safetensors", "GET", "/api/export/TRACE.safetensors", "", 30},
    {"export_as_page", "GET", "/api/export/TRACE.html", "", 4},
    {"words", "POST", "/api/predict",
     R"({"model":"stories","prompt":"Anna has","max_new_tokens":40})", 30},
};

std::string with_trace(std::string text, const std::string& id) {
  for (size_t at; (at = text.find("TRACE")) != std::string::npos;) text.replace(at, 5, id);
  return text;
}

class GoneClients : public testing::TestWithParam<LongRequest> {
 protected:
  std::shared_ptr<CountingReply> begun(int64_t gone_at) {
    const LongRequest& asked = GetParam();
    auto reply = std::make_shared<CountingReply>(gone_at);
    room_.begin(asked.method, with_trace(asked.target, trace_), with_trace(asked.body, trace_),
                reply);
    return reply;
  }

  StudioRoom room_;
  std::string trace_ =
      *room_.post("/api/trace", Json::Object{{"model", "stories"}, {"text", "Anna has"}})
           .json()
           .find("id")
           ->text();
};

// Whenever it asks whether somebody waits: where nobody does, it asks nothing more.
TEST_P(GoneClients, end_what_they_asked_for_at_once) {
  const auto whole = begun(INT64_MAX);
  EXPECT_EQ(whole->wait().status, 200) << whole->wait().body.substr(0, 300);
  EXPECT_GE(whole->asked(), GetParam().least);
  for (const int64_t gone_at : {whole->asked() / 4 + 1, whole->asked() / 2 + 1}) {
    const auto reply = begun(gone_at);
    EXPECT_TRUE(comes_true([&] { return reply->asked() >= gone_at; }));
    // All that holds it is gone when its work has ended.
    EXPECT_TRUE(comes_true([&] { return reply.use_count() == 1; }));
    EXPECT_LE(reply->asked(), gone_at + 2);
  }
}

INSTANTIATE_TEST_SUITE_P(Studio, GoneClients, testing::ValuesIn(kLongRequests),
                         [](const auto& info) { return std::string(info.param.name); });

bool is_sanitized_build() { return __asan_init != nullptr || __tsan_init != nullptr; }

size_t entries_in(const char* folder) {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

int64_t resident_memory() {
  std::ifstream file("/proc/self/statm");
  int64_t total = 0;
  int64_t resident = 0;
  file >> total >> resident;
  return resident * 4096;
}

// The whole server on a port.
class StudioServer : public testing::Test {
 protected:
  void SetUp() override { application_.start(); }

  // One of the kinds of requests that change nothing.
  std::string random_request(uint64_t number) const {
    const base::Random random(base::mix(17, number));
    constexpr std::string_view kWords[] = {"Anna",  " has", " three", " apples", ".", " Tom",
                                           " lost", " a",   " red",   " coin",   ",", " She"};
    std::string prompt = "A";
    for (uint64_t i = 0; i < 1 + random.below(0, 10); ++i) {
      prompt += kWords[random.below(10 + i, std::size(kWords))];
    }
    if (random.below(1, 4) == 0) {
      return post(port(), "/api/tokenize",
                  io::json_text(Json::Object{{"model", "stories"}, {"text", prompt}}));
    }
    Json::Object body = {{"model", "stories"},
                         {"prompt", prompt},
                         {"max_new_tokens", 1 + random.below(2, 12)},
                         {"temperature", random.below(3, 2) == 0 ? 0.0 : 1.25},
                         {"seed", number},
                         {"stream", random.below(4, 2) == 0}};
    if (random.below(5, 3) == 0) body.emplace_back("heads_off", Json::Array{"decoder.0.self.1"});
    if (random.below(6, 3) == 0) body.emplace_back("attention", "all");
    if (random.below(7, 3) == 0) body.emplace_back("lens", true);
    return post(port(), "/api/predict", io::json_text(body));
  }
  uint16_t port() const { return application_.port(); }

  recipes::FilesWithEmbedded files_;
  base::ThreadPool threads_{2};
  server::Application application_{files_, threads_, {.models = {"stories"}, .http = {.port = 0}}};
};

TEST_F(StudioServer, answers_many_at_once_as_each_alone) {
  const uint64_t requests = is_sanitized_build() ? 100 : 400;
  std::vector<std::string> alone;
  for (uint64_t number = 0; number < requests; ++number) {
    const RawResponse response = ask(port(), random_request(number), Patience(60'000));
    ASSERT_EQ(response.status, 200) << response.body.substr(0, 300);
    alone.push_back(response.body);
  }
  std::atomic<uint64_t> next = 0;
  std::atomic<uint64_t> compared = 0;
  std::vector<std::thread> clients;
  for (int client = 0; client < 64; ++client) {
    clients.emplace_back([&] {
      auto connection = std::make_unique<RawClient>(port());
      for (uint64_t number = next++; number < requests; number = next++) {
        const base::Random random(base::mix(5, number));
        connection->send(random_request(number));
        if (random.below(0, 5) == 0) {
          if (random.below(1, 3) > 0)
            connection->read_some(1 + random.below(2, 2000), Patience(500));
          connection->close(random.below(3, 2) == 0);
          connection = std::make_unique<RawClient>(port());
          continue;
        }
        const RawResponse response = connection->read_response(true, Patience(120'000));
        if (response.status == 503) continue;  // more wait than may
        EXPECT_EQ(response.status, 200);
        EXPECT_TRUE(response.body == alone[number]) << random_request(number);
        ++compared;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_GT(compared, requests / 2);
}

TEST_F(StudioServer, has_nothing_left_of_ten_thousand_clients_that_went) {
  const RawResponse made =
      ask(port(),
          post(port(), "/api/trace",
               R"({"model":"stories","text":"Anna has three apples. She gives","continue":0})"));
  ASSERT_EQ(made.status, 200) << made.body.substr(0, 300);
  const std::string trace = "/api/trace/" + *io::parse_json(made.body, "").find("id")->text();
  const auto leave = [&](uint64_t number) {
    RawClient client(port());
    const std::string request = number % 3 == 0   ? get(port(), trace + "/heads")
                                : number % 3 == 1 ? get(port(), trace + "/tensors?names=logits")
                                                  : random_request(number);
    client.send(number % 10 == 0 ? std::string_view(request).substr(0, request.size() / 2)
                                 : std::string_view(request));
    if (number % 10 == 1) client.read_some(100, Patience(500));
    client.close(number % 2 == 0);
  };
  const auto is_idle = [&] {
    const std::string text = ask(port(), get(port(), "/metrics")).body;
    return text.find("headlight_http_busy_workers 0\n") != std::string::npos &&
           text.find("headlight_http_queue 0\n") != std::string::npos;
  };
  for (uint64_t number = 0; number < 500; ++number) leave(number);
  ASSERT_TRUE(comes_true(is_idle, 60s));
  ask(port(), get(port(), trace + "/heads"));  // in line behind all that waits
  const size_t open_files = entries_in("/proc/self/fd");
  const size_t threads = entries_in("/proc/self/task");
  const int64_t memory = resident_memory();
  for (uint64_t number = 0; number < (is_sanitized_build() ? 1000U : 10'000U); ++number) {
    leave(number);
  }
  ASSERT_TRUE(comes_true(is_idle, 60s));
  EXPECT_TRUE(comes_true([&] { return entries_in("/proc/self/fd") <= open_files + 2; }, 60s));
  EXPECT_EQ(entries_in("/proc/self/task"), threads);
  if (!is_sanitized_build()) {
    EXPECT_LT(resident_memory() - memory, 48 << 20);
  }
  EXPECT_EQ(ask(port(), get(port(), trace + "/heads"), Patience(60'000)).status, 200);
}

}  // namespace
}  // namespace headlight::test
