// The generating thread: many requests at once, fair turns, a bounded queue, clients that go.
#include <map>
#include <thread>

#include "apps/server/openai/generating_thread.h"
#include "tests/models/support.h"
#include "tests/server/openai_support.h"

namespace headlight::server::openai {
namespace {

using io::Json;

// Keeps events of all continuations.
class KeptWork : public GenerationWork {
 public:
  void event(size_t part, size_t continuation, const infer::RequestEvent& event) override {
    const std::lock_guard lock(mutex_);
    order_.push_back(part);
    auto& kept = texts_[{part, continuation}];
    kept.text += event.text;
    if (event.token && !event.is_stop) kept.ids.push_back(event.token->id);
    if (event.token) kept.log_probabilities.push_back(event.token->log_probability);
    if (event.reason) kept.reason = *event.reason;
    if (order_.size() == 1 && on_first_) on_first_();
  }
  void finished() override { close(nullptr); }
  void failed(std::exception_ptr problem) override { close(std::move(problem)); }

  void wait() {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return has_ended_; });
  }
  bool has_ended() {
    const std::lock_guard lock(mutex_);
    return has_ended_;
  }
  std::string problem() {
    wait();
    if (!problem_) return "";
    try {
      std::rethrow_exception(problem_);
    } catch (const std::exception& error) {
      return error.what();
    }
  }
  infer::Continuation text(size_t part, size_t continuation) {
    wait();
    return texts_[{part, continuation}];
  }
  size_t events() {
    const std::lock_guard lock(mutex_);
    return order_.size();
  }
  void on_first(std::function<void()> call) { on_first_ = std::move(call); }

 private:
  void close(std::exception_ptr problem) {
    const std::lock_guard lock(mutex_);
    EXPECT_FALSE(has_ended_) << "it ends once";
    problem_ = std::move(problem);
    has_ended_ = true;
    ended_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable ended_;
  std::vector<size_t> order_;
  std::map<std::pair<size_t, size_t>, infer::Continuation> texts_;
  std::exception_ptr problem_;
  bool has_ended_ = false;
  std::function<void()> on_first_;
};

class OpenAiThread : public testing::Test {
 protected:
  OpenAiThread() { models::fill(gpt_, 8); }

  std::shared_ptr<KeptWork> work(std::vector<int64_t> prompt, int64_t tokens,
                                 int64_t continuations = 1, size_t parts = 1) {
    auto made = std::make_shared<KeptWork>();
    for (size_t i = 0; i < parts; ++i) {
      made->parts.push_back({.prompt = {.ids = prompt},
                             .sampling = {.temperature = 1, .seed = 5},
                             .ending = {.max_new_tokens = tokens},
                             .continuations = continuations,
                             .first_sequence = i * static_cast<uint64_t>(continuations)});
    }
    return made;
  }
  void expect_alone(KeptWork& made, size_t part, size_t continuation) {
    const infer::GenerationRequest& asked = made.parts[part];
    tensor::Arena arena;
    autograd::Context context{.threads = threads_, .arena = arena};
    const auto alone = infer::generate(context, gpt_, {asked.prompt},
                                       {.sampling = asked.sampling,
                                        .ending = asked.ending,
                                        .first_sequence = asked.first_sequence + continuation})
                           .front();
    const infer::Continuation got = made.text(part, continuation);
    EXPECT_EQ(got.ids, alone.ids);
    EXPECT_EQ(got.log_probabilities, alone.log_probabilities);
    EXPECT_EQ(got.reason, alone.reason);
  }
  int64_t gauge(const std::string& name) {
    return metrics_.gauge(name, "", {{"model", "m"}}).value();
  }
  // Everything has been let go of, and /metrics says so.
  void expect_empty(GeneratingThread& thread) {
    const auto is_empty = [&] {
      return thread.size() == 0 && gauge("headlight_running_sequences") == 0 &&
             gauge("headlight_waiting_requests") == 0;
    };
    for (int i = 0; i < 2000 && !is_empty(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_TRUE(is_empty());
  }

  models::Gpt gpt_{{.block_size = 400, .vocab_size = 23, .n_layer = 2, .n_head = 2, .n_embd = 16}};
  base::ThreadPool threads_{2};
  Metrics metrics_;
};

TEST_F(OpenAiThread, many_requests_at_once_get_what_each_gets_alone) {
  GeneratingThread thread(gpt_, threads_, metrics_, "m", {.batch = {.sequences = 5}, .group = 2});
  std::vector<std::shared_ptr<KeptWork>> works;
  for (int64_t i = 0; i < 12; ++i) {
    works.push_back(work({i, 1, 2 + i}, 5 + 7 * i, 1 + i % 4, 1 + static_cast<size_t>(i) % 2));
    thread.submit(works.back());
  }
  for (const auto& one : works) {
    EXPECT_EQ(one->problem(), "");
    for (size_t part = 0; part < one->parts.size(); ++part) {
      for (int64_t i = 0; i < one->parts[part].continuations; ++i) {
        expect_alone(*one, part, static_cast<size_t>(i));
      }
    }
  }
  expect_empty(thread);
}

TEST_F(OpenAiThread, a_request_for_many_texts_does_not_keep_others_waiting) {
  GeneratingThread thread(gpt_, threads_, metrics_, "m", {.batch = {.sequences = 2}, .group = 1});
  const auto many = work({1, 2}, 40, 1, 60);
  const auto one = work({3}, 5);
  thread.submit(many);
  thread.submit(one);
  one->wait();
  EXPECT_FALSE(many->has_ended());
  EXPECT_LT(many->events(), 60u * 40u / 4) << "the other had its turn early";
  many->wait();
  expect_alone(*many, 59, 0);
}

TEST_F(OpenAiThread, a_full_queue_refuses_with_503) {
  GeneratingThread thread(gpt_, threads_, metrics_, "m",
                          {.batch = {.sequences = 1}, .requests = 3, .group = 1});
  std::vector<std::shared_ptr<KeptWork>> works;
  int refused = 0;
  for (int i = 0; i < 6; ++i) {
    works.push_back(work({1}, 390));
    try {
      thread.submit(works.back());
    } catch (const HttpError& error) {
      EXPECT_EQ(error.fields().status, 503);
      EXPECT_TRUE(error.fields().headers.contains("retry-after"));
      works.pop_back();
      ++refused;
    }
  }
  EXPECT_EQ(refused, 3);
  for (const auto& one : works) EXPECT_EQ(one->problem(), "");
  expect_empty(thread);
  const auto later = work({2}, 3);
  thread.submit(later);
  expect_alone(*later, 0, 0);
}

TEST_F(OpenAiThread, a_queue_of_long_prompts_is_bounded_by_their_ids) {
  GeneratingThread thread(gpt_, threads_, metrics_, "m",
                          {.batch = {.sequences = 1}, .prompt_ids = 500, .group = 1});
  const auto first = work(std::vector<int64_t>(300, 1), 90, 1, 2);
  thread.submit(first);  // one is always taken
  EXPECT_THROW(thread.submit(work(std::vector<int64_t>(300, 1), 1)), HttpError);
  first->cancel();
  expect_empty(thread);
  const auto again = work(std::vector<int64_t>(300, 1), 1);
  thread.submit(again);
  again->wait();
}

TEST_F(OpenAiThread, what_is_cancelled_is_forgotten_in_any_state) {
  GeneratingThread thread(gpt_, threads_, metrics_, "m", {.batch = {.sequences = 2}, .group = 2});
  const auto running = work({1}, 390, 2);
  running->on_first([&] { running->cancel(); });
  const auto waiting = work({2}, 390);
  waiting->cancel();
  const auto reading = work(std::vector<int64_t>(390, 3), 5);
  thread.submit(running);
  thread.submit(waiting);
  thread.submit(reading);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  reading->cancel();
  const auto last = work({4, 4}, 20);
  thread.submit(last);
  expect_alone(*last, 0, 0);
  expect_empty(thread);
  EXPECT_FALSE(running->has_ended() || waiting->has_ended());
  EXPECT_LE(running->events(), 3u) << "it ended within a step";
  EXPECT_EQ(waiting->events(), 0u);
  const auto& written = metrics_.counter("headlight_generated_tokens_total", "", {{"model", "m"}});
  EXPECT_LE(written.value(), 20u + 2u + 5u + 2u) << "nothing is written for nobody";
}

TEST_F(OpenAiThread, a_request_that_the_engine_refuses_fails_alone) {
  GeneratingThread thread(gpt_, threads_, metrics_, "m");
  const auto good = work({1}, 30);
  const auto bad = work({99}, 3);
  thread.submit(good);
  thread.submit(bad);
  EXPECT_NE(bad->problem().find("99"), std::string::npos) << bad->problem();
  expect_alone(*good, 0, 0);
  expect_empty(thread);
}

TEST_F(OpenAiThread, stopping_fails_what_waits_and_ends_within_a_step) {
  auto thread = std::make_unique<GeneratingThread>(gpt_, threads_, metrics_, "m");
  const auto endless = work({1}, 390, 4, 20);
  thread->submit(endless);
  thread->stop();
  EXPECT_NE(endless->problem().find("stop"), std::string::npos);
  EXPECT_THROW(thread->submit(work({1}, 3)), HttpError);
  thread.reset();
}

TEST_F(OpenAiThread, tokens_and_times_are_counted) {
  GeneratingThread thread(gpt_, threads_, metrics_, "m", {.group = 2});
  const auto one = work({1, 2, 3}, 10, 3, 2);
  thread.submit(one);
  one->wait();
  expect_empty(thread);
  const std::string text = metrics_.text();
  EXPECT_NE(text.find("headlight_prompt_tokens_total{model=\"m\"} 6"), std::string::npos) << text;
  EXPECT_NE(text.find("headlight_generated_tokens_total{model=\"m\"} 60"), std::string::npos)
      << text;
  EXPECT_NE(text.find("headlight_model_request_seconds_count{model=\"m\"} 1"), std::string::npos)
      << text;
  EXPECT_NE(text.find("headlight_first_token_seconds_count{model=\"m\"} 1"), std::string::npos);
}

// Random requests through the routes; clients go in any state.
class OpenAiClients : public OpenAiTest {};

TEST_F(OpenAiClients, clients_that_go_leave_no_trace_and_change_no_answer) {
  serve({"stories"});
  const std::string body =
      R"({"model":"stories","prompt":"Once upon a time","max_tokens":30,"seed":7,"stream":true})";
  const std::string expected = post("/v1/completions", body)->wait().body;
  const auto text_of = [](const std::string& stream) {
    std::string text;
    for (const std::string& event : events_of(stream)) {
      if (event != "[DONE]") text += text_at(io::parse_json(event, "chunk"), "choices.0.text");
    }
    return text;
  };
  const base::Random random(9);
  for (uint64_t round = 0; round < 40; ++round) {
    std::vector<std::shared_ptr<KeptReply>> gone;
    const auto kept = post("/v1/completions", body);
    for (uint64_t i = 0; i < 6; ++i) {
      gone.push_back(post("/v1/completions", body));
      if (random.below(round * 10 + i, 2) == 0) gone.back()->wait_for_bytes(100);
      gone.back()->go();
    }
    EXPECT_EQ(text_of(kept->wait().body), text_of(expected));
  }
  for (int i = 0; i < 2000; ++i) {
    if (metrics_.gauge("headlight_running_sequences", "", {{"model", "stories"}}).value() == 0)
      break;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(metrics_.gauge("headlight_running_sequences", "", {{"model", "stories"}}).value(), 0);
}

TEST_F(OpenAiClients, a_client_that_goes_before_its_answer_stops_the_work) {
  serve({"stories"});
  const MetricLabels labels{{"model", "stories"}};
  const Gauge& running = metrics_.gauge("headlight_running_sequences", "", labels);
  const Counter& written = metrics_.counter("headlight_generated_tokens_total", "", labels);
  const auto reply = post(
      "/v1/completions", R"({"model":"stories","prompt":"Once","max_tokens":90,"n":128,"seed":3})");
  while (written.value() < 10) std::this_thread::yield();
  reply->go();
  for (int i = 0; i < 2000 && running.value() > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(running.value(), 0);
  const uint64_t count = written.value();
  EXPECT_LT(count, 128u * 90u / 2);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(written.value(), count) << "and goes on for nobody";
}

}  // namespace
}  // namespace headlight::server::openai
