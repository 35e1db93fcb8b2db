// A server that is killed at any moment while a job trains, or told to end in any state.
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "headlight/base/base.h"
#include "tests/cli/served_program.h"

namespace headlight::test {
namespace {

using io::Json;
using std::chrono::steady_clock;

constexpr const char* kTraining =
    R"({"kind":"train","name":"copier","task":"copy","probe":"1 2 3","keys":{"max_iters":60,)"
    R"("eval_interval":10,"log_interval":5,"n_layer":1,"n_head":2,"n_embd":16,"batch_size":4,"seed":3}})";

void pause_for(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

double seconds_since(steady_clock::time_point begin) {
  return std::chrono::duration<double>(steady_clock::now() - begin).count();
}

std::string text_in(const Json& json, const char* name) {
  const Json* found = json.find(name);
  return found == nullptr || found->text() == nullptr ? "" : *found->text();
}

class KilledServer : public ServedProgram {
 protected:
  std::unique_ptr<Program> serving(const std::string& work) {
    return started(
        {"thrones", "--port", "0", "--quiet", "--threads", "2", "--work", folder_ / work});
  }
  std::string job_path(const std::string& work) const { return folder_ / work + "/jobs/j1/"; }
  Json job() { return json_in(http_answer(port(), "/api/jobs/j1")); }
  bool ask_job(const std::string& what) {
    return http_exchange(port(), http_request(port(), "POST", what, "{}"))
        .starts_with("HTTP/1.1 20");
  }
  // Until it is done; false: it failed.
  bool finish_job() {
    for (int i = 0; i < 6000; ++i) {
      const std::string state = text_in(job(), "state");
      if (state == "done" || state == "failed") return state == "done";
      pause_for(0.01);
    }
    return false;
  }
  // The step of the last checkpoint; -1: there is none.
  int64_t saved_step(const std::string& work) const {
    const std::string path = job_path(work) + "model/checkpoint/manifest.json";
    if (!std::filesystem::exists(path)) return -1;
    return io::read_json(base::real_files(), path).find("step")->integer().value_or(-1);
  }
  std::string model_bytes(const std::string& work) {
    return folder_.get(work + "/jobs/j1/model/model.safetensors");
  }

  // Trains in one go.
  void train_whole() {
    const auto program = serving("whole");
    const auto begin = steady_clock::now();
    EXPECT_TRUE(http_exchange(port(), http_request(port(), "POST", "/api/jobs", kTraining))
                    .starts_with("HTTP/1.1 201"));
    EXPECT_TRUE(finish_job());
    seconds_ = seconds_since(begin);
  }

  void check_files(const std::string& work) {
    // Whole at any moment: they are read as they lie there.
    const std::string path = job_path(work) + "job.json";
    if (!std::filesystem::exists(path)) return;
    const Json stored = io::read_json(base::real_files(), path);
    EXPECT_EQ(text_in(stored, "id"), "j1");
    EXPECT_EQ(text_in(stored, "kind"), "train");
  }

  // Kills it at `kills` random moments of the training, goes on each time, and lets it end.
  void kill_often(const std::string& work, int kills, uint64_t seed) {
    const base::Random random(seed);
    int64_t saved = -1;
    for (int i = 0; i < kills; ++i) {
      const auto program = serving(work);
      if (text_in(job(), "id").empty()) {
        http_exchange(port(), http_request(port(), "POST", "/api/jobs", kTraining));
      } else {
        const std::string state = text_in(job(), "state");
        EXPECT_TRUE(state == "paused" || state == "done") << state;
        if (state == "paused") {
          EXPECT_TRUE(ask_job("/api/jobs/j1/resume"));
        }
      }
      pause_for(seconds_ / 4 * random.uniform64(static_cast<uint64_t>(i)));
      program->kill();
      EXPECT_EQ(program->finish().code, -SIGKILL);
      check_files(work);
      const int64_t now = saved_step(work);
      EXPECT_GE(now, saved) << "a checkpoint was lost";
      saved = now;
    }
    const auto program = serving(work);
    const std::string state = text_in(job(), "state");
    if (state.empty()) {
      http_exchange(port(), http_request(port(), "POST", "/api/jobs", kTraining));
    } else if (state != "done") {
      EXPECT_TRUE(ask_job("/api/jobs/j1/resume")) << io::json_text(job());
    }
    EXPECT_TRUE(finish_job()) << io::json_text(job());
    expect_events();
    EXPECT_EQ(text_in(job(), "written"), "copier");
    EXPECT_NE(http_answer(port(), "/api/models").find("\"copier\""), std::string::npos);
  }
  // Numbers of events grow, and the last says that it is done.
  void expect_events() {
    const std::string events = http_answer(port(), "/api/jobs/j1/events");
    int64_t last = 0;
    for (size_t at = 0; (at = events.find("\nid: ", at)) != std::string::npos; ++at) {
      const int64_t number = std::atoll(events.c_str() + at + 5);
      EXPECT_GT(number, last);
      last = number;
    }
    EXPECT_NE(events.rfind("\"state\":\"done\""), std::string::npos);
    EXPECT_NE(events.find("event: result"), std::string::npos);
  }

  double seconds_ = 0;
};

TEST_F(KilledServer, trains_on_to_the_same_bits) {
  train_whole();
  kill_often("parts", 12, 1);
  EXPECT_TRUE(model_bytes("parts") == model_bytes("whole"));
}

TEST_F(KilledServer, has_its_jobs_when_a_line_was_cut_in_the_middle) {
  train_whole();
  const std::string path = job_path("whole") + "events.jsonl";
  const std::string events = folder_.get("whole/jobs/j1/events.jsonl");
  folder_.put("whole/jobs/j1/events.jsonl", events.substr(0, events.size() - 20));
  int64_t count = 0;
  for (int i = 0; i < 2; ++i) {
    const auto program = serving("whole");
    const int64_t now = job().find("events")->integer().value_or(0);
    EXPECT_GE(now, count);
    count = now;
    EXPECT_EQ(text_in(job(), "state"), "done");
    program->kill();
  }
  EXPECT_TRUE(folder_.get("whole/jobs/j1/events.jsonl").ends_with('\n'));
}

class LongKilledServer : public KilledServer {};

TEST_F(LongKilledServer, trains_on_to_the_same_bits_however_often) {
  train_whole();
  for (uint64_t seed = 2; seed < 10; ++seed) {
    const std::string work = "parts" + std::to_string(seed);
    kill_often(work, 25, seed);
    EXPECT_TRUE(model_bytes(work) == model_bytes("whole")) << seed;
  }
}

// What a server may be doing when it is told to end.
struct ServerState {
  const char* name;
  const char* method;
  const char* path;
  std::string body;
};

std::vector<ServerState> server_states() {
  return {
      {"idle", "GET", "/health", ""},
      {"streaming_words", "POST", "/api/predict",
       R"({"model":"stories","prompt":"Anna","max_new_tokens":4096,"stream":true})"},
      {"writing_words", "POST", "/api/predict",
       R"({"model":"stories","prompt":"Anna","max_new_tokens":4096,"lens":true})"},
      {"streaming_completions", "POST", "/v1/completions",
       R"({"model":"stories","prompt":"Anna","max_tokens":200,"n":8,"stream":true})"},
      {"tracing", "POST", "/api/trace",
       R"({"text":"When you play the game of thrones","heads":8,"head_width":64,"width":512,"layer_count":6})"},
      {"training_the_worked_model", "POST", "/api/trace",
       R"({"text":"When you play the game of thrones","train":true,"width":256,"layer_count":2})"},
      {"training", "POST", "/api/jobs",
       R"({"kind":"train","task":"copy","keys":{"max_iters":1000000,"eval_interval":20,"n_layer":2,"n_head":2,"n_embd":64}})"},
      {"scoring", "POST", "/api/jobs",
       R"({"kind":"ablate","model":"numbers","examples":4096,"greedy":true})"},
  };
}

class EndedServer : public ServedProgram, public testing::WithParamInterface<ServerState> {};

// How long it takes is for those who look; machines that test are busy with more than this.
TEST_P(EndedServer, ends_soon_with_its_signal) {
  const ServerState& state = GetParam();
  for (const int signal : {SIGTERM, SIGINT}) {
    const std::string work = folder_ / std::to_string(signal);
    const auto program =
        started({"stories", "numbers", "--port", "0", "--quiet", "--threads", "2", "--work", work});
    std::vector<int> clients;
    for (int i = 0; i < 8; ++i) clients.push_back(connected_to(port()));
    const std::string keeps_alive =
        "GET /health HTTP/1.1\r\nhost: 127.0.0.1:" + std::to_string(port()) + "\r\n\r\n";
    send(clients[0], keeps_alive.data(), keeps_alive.size(), MSG_NOSIGNAL);
    send(clients[1], "GET /he", 7, MSG_NOSIGNAL);
    for (int i = 2; i < 5; ++i) {
      const std::string request = http_request(port(), state.method, state.path, state.body);
      send(clients[static_cast<size_t>(i)], request.data(), request.size(), MSG_NOSIGNAL);
    }
    const bool trains = std::string_view(state.name) == "training";
    const std::string saved = work + "/jobs/j1/model/checkpoint/manifest.json";
    for (int i = 0; trains && i < 300 && !std::filesystem::exists(saved); ++i) pause_for(0.1);
    pause_for(0.3);
    const auto begin = steady_clock::now();
    ASSERT_TRUE(program->send(signal));
    const ProgramRun run = program->finish();
    const double seconds = seconds_since(begin);
    EXPECT_EQ(run.code, 128 + signal) << run.errors;
    EXPECT_EQ(run.errors, "");
    EXPECT_LT(seconds, 30);
    RecordProperty(signal == SIGTERM ? "SIGTERM_milliseconds" : "SIGINT_milliseconds",
                   static_cast<int>(1000 * seconds));
    for (const int client : clients) close(client);
    if (!trains) continue;
    EXPECT_TRUE(std::filesystem::exists(saved));
    // Its last step is saved, where the machine gave it the time that a server takes to end.
    constexpr double kTimeToEnd = 1.5;
    if (seconds > kTimeToEnd) continue;
    EXPECT_EQ(text_in(io::read_json(base::real_files(), work + "/jobs/j1/job.json"), "state"),
              "paused");
  }
}

INSTANTIATE_TEST_SUITE_P(States, EndedServer, testing::ValuesIn(server_states()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace headlight::test
