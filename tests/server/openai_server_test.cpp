// /v1 over sockets: many connections at once, clients that go, and what is left behind.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "apps/server/server.h"
#include "tests/server/openai_support.h"
#include "tests/server/raw_client.h"
#include "tests/server/test_server.h"

extern "C" {
__attribute__((weak)) void __asan_init();  // NOLINT(bugprone-reserved-identifier)
__attribute__((weak)) void __tsan_init();  // NOLINT(bugprone-reserved-identifier)
}

namespace headlight::server::openai {
namespace {

using io::Json;
using test::comes_true;
using test::RawClient;
using test::RawResponse;

size_t entries_of(const std::string& folder) {
  const std::filesystem::directory_iterator begin(folder);
  return static_cast<size_t>(std::distance(begin, {}));
}

// Bytes that the process has in memory.
uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t size = 0;
  uint64_t resident = 0;
  file >> size >> resident;
  constexpr uint64_t kPage = 4096;
  return resident * kPage;
}

bool is_sanitized() { return __asan_init != nullptr || __tsan_init != nullptr; }

class OpenAiServer : public testing::Test {
 protected:
  OpenAiServer() {
    application_.start();
    served_ = models_.open("stories");
  }

  // What is asked with a number, and the answer computed alone.
  struct Asked {
    std::string body;
    bool is_stream = false;
    std::vector<infer::Continuation> expected;  // one for each text that is asked for
  };
  Asked asked(uint64_t number) {
    const base::Random random(base::mix(77, number));
    const auto below = [&](uint64_t index, uint64_t bound) { return random.below(index, bound); };
    constexpr std::string_view kWords[] = {"Once",  " upon", " Tom",  " had", " a",   " red",
                                           " ball", " and",  " Lily", ".",    " The", " é"};
    std::string prompt = "A";
    for (uint64_t i = 0; i < below(0, 12); ++i) prompt += kWords[below(10 + i, std::size(kWords))];
    const auto tokens = static_cast<int64_t>(1 + below(1, 40));
    const bool is_greedy = below(2, 2) == 0;
    Asked one;
    one.is_stream = below(3, 2) == 0;
    Json::Object body{{"model", "stories"},
                      {"prompt", prompt},
                      {"max_tokens", tokens},
                      {"logprobs", 0},
                      {"stream", one.is_stream}};
    body.emplace_back("temperature", is_greedy ? 0.0 : 1.25);
    body.emplace_back("seed", number);
    const uint64_t texts = 1 + (below(4, 3) == 0 ? below(5, 5) : 0);
    body.emplace_back("n", texts);
    one.body = io::json_text(body);
    tensor::Arena arena;
    autograd::Context context{.threads = threads_, .arena = arena};
    infer::GenerateOptions options{
        .sampling = {.temperature = is_greedy ? 0 : 1.25f, .seed = number},
        .ending = {.max_new_tokens = tokens}};
    options.ending.tokenizer = &*served_->tokenizer;
    const std::vector<int64_t> ids = served_->tokenizer->encode(prompt);
    for (options.first_sequence = 0; options.first_sequence < texts; ++options.first_sequence) {
      one.expected.push_back(
          infer::generate(context, served_->model(), {{.ids = ids}}, options).front());
    }
    return one;
  }

  static void expect_answer(const Asked& one, const RawResponse& response) {
    ASSERT_EQ(response.status, 200) << response.body;
    ASSERT_TRUE(response.is_complete);
    std::vector<std::string> texts(one.expected.size());
    std::vector<std::vector<float>> scores(one.expected.size());
    const auto add = [&](const std::string& document) {
      const Json json = io::parse_json(document, "answer");
      for (const Json& choice : *json.find("choices")->array()) {
        const auto index = static_cast<size_t>(choice.find("index")->integer().value());
        ASSERT_LT(index, texts.size());
        texts[index] += text_at(choice, "text");
        const Json* list = member(choice, "logprobs").find("token_logprobs");
        for (const Json& score : list == nullptr ? Json::Array() : *list->array()) {
          scores[index].push_back(static_cast<float>(*score.number()));
        }
      }
    };
    if (one.is_stream) {
      std::vector<std::string> events = events_of(response.body);
      ASSERT_EQ(events.back(), "[DONE]");
      events.pop_back();
      for (const std::string& event : events) add(event);
    } else {
      add(response.body);
    }
    for (size_t i = 0; i < texts.size(); ++i) {
      std::vector<float> expected = one.expected[i].log_probabilities;
      expected.resize(one.expected[i].ids.size());  // without that of the end
      EXPECT_EQ(texts[i], one.expected[i].text) << i << " of " << one.body;
      EXPECT_EQ(scores[i], expected) << i << " of " << one.body;
    }
  }

  void expect_nothing_left_by(uint64_t clients);

  void expect_idle() {
    EXPECT_TRUE(comes_true([&] {
      const std::string text =
          test::ask(application_.port(), test::get(application_.port(), "/metrics")).body;
      return text.find("headlight_running_sequences{model=\"stories\"} 0\n") != std::string::npos &&
             text.find("headlight_waiting_requests{model=\"stories\"} 0\n") != std::string::npos;
    })) << "places are taken though nobody waits";
  }

  recipes::FilesWithEmbedded files_;
  base::ThreadPool threads_{2};
  Application application_{files_, threads_, {.models = {"stories"}, .http = {.port = 0}}};
  Models models_{files_, {"stories"}};
  std::shared_ptr<const ServedModel> served_;
};

TEST_F(OpenAiServer, a_thousand_requests_over_64_connections_get_what_each_gets_alone) {
  // Sanitizers take many times as long.
  const uint64_t requests = is_sanitized() ? 200 : 1000;
  constexpr size_t kConnections = 64;
  std::vector<Asked> all;
  for (uint64_t number = 0; number < requests; ++number) all.push_back(asked(number));
  std::atomic<uint64_t> next = 0;
  std::atomic<uint64_t> compared = 0;
  std::vector<std::thread> clients;
  for (size_t client = 0; client < kConnections; ++client) {
    clients.emplace_back([&] {
      const uint16_t port = application_.port();
      auto connection = std::make_unique<RawClient>(port);
      for (uint64_t number = next++; number < requests; number = next++) {
        const base::Random random(base::mix(3, number));
        connection->send(test::post(port, "/v1/completions", all[number].body));
        if (random.below(0, 5) == 0) {
          // Goes before, at or after the first bytes.
          if (random.below(1, 3) > 0) connection->read_some(1 + random.below(2, 2000));
          connection->close(random.below(3, 2) == 0);
          connection = std::make_unique<RawClient>(port);
          continue;
        }
        expect_answer(all[number],
                      connection->read_response(true, std::chrono::milliseconds(120'000)));
        ++compared;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_GT(compared, requests * 7 / 10);
  expect_idle();
}

// Clients that go in the middle of the request, at once, and in the middle of the answer.
void OpenAiServer::expect_nothing_left_by(uint64_t clients) {
  const uint16_t port = application_.port();
  const std::string body = io::json_text(Json::Object{{"model", "stories"},
                                                      {"prompt", "Once upon a time"},
                                                      {"max_tokens", 80},
                                                      {"n", 2},
                                                      {"stream", true}});
  const auto leave = [&](uint64_t number) {
    RawClient client(port);
    const std::string request = test::post(port, "/v1/completions", body);
    const uint64_t how = number % 10;
    client.send(how == 0 ? std::string_view(request).substr(0, request.size() / 2)
                         : std::string_view(request));
    if (how == 1) client.read_some(300);
    client.close(number % 2 == 0);
  };
  const auto left = [&] {
    expect_idle();
    return std::pair(entries_of("/proc/self/fd"), entries_of("/proc/self/task"));
  };
  for (uint64_t number = 0; number < 500; ++number) leave(number);
  const auto before = left();
  const uint64_t memory = resident_bytes();
  for (uint64_t number = 0; number < clients; ++number) leave(number);
  EXPECT_TRUE(comes_true([&] { return left().first <= before.first + 2; }))
      << left().first << " open files, there were " << before.first;
  EXPECT_EQ(left().second, before.second) << "threads";
  // Sanitizers keep what was freed.
  if (!is_sanitized()) {
    EXPECT_LT(resident_bytes(), memory + (uint64_t{32} << 20));
  }
  const Asked one = asked(5);
  expect_answer(one, test::ask(port, test::post(port, "/v1/completions", one.body)));
}

TEST_F(OpenAiServer, ten_thousand_clients_that_go_leave_nothing_behind) {
  expect_nothing_left_by(is_sanitized() ? 1000 : 10'000);
}

TEST_F(OpenAiServer, a_wrong_request_is_answered_and_the_connection_goes_on) {
  const uint16_t port = application_.port();
  RawClient client(port);
  client.send(test::post(port, "/v1/chat/completions", R"({"model":"stories","tools":[1]})"));
  const RawResponse refused = client.read_response();
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(text_at(io::parse_json(refused.body, "answer"), "error.param"), "tools");
  client.send(test::get(port, "/v1/models/none"));
  EXPECT_EQ(client.read_response().status, 404);
  const Asked one = asked(9);
  client.send(test::post(port, "/v1/completions", one.body));
  expect_answer(one, client.read_response());
}

}  // namespace
}  // namespace headlight::server::openai
