// Requests to the studio that nobody should send, to every route of it: each gets a 4xx with the
// form of an error, and the server goes on.
#include <atomic>
#include <fstream>
#include <thread>

#include "apps/server/server.h"
#include "headlight/io/io.h"
#include "tests/base/temporary_folder.h"
#include "tests/server/raw_client.h"
#include "tests/server/studio_room.h"

extern "C" void __asan_init() __attribute__((weak));  // NOLINT(bugprone-reserved-identifier)
extern "C" void __tsan_init() __attribute__((weak));  // NOLINT(bugprone-reserved-identifier)

namespace headlight::test {
namespace {

using io::Json;

struct HostileOrder {
  std::string method;
  std::string target;  // TRACE stands for the id of a trace
  std::string body = {};
  std::string type = "application/json";
};

std::string repeated(const std::string& text, size_t times) {
  std::string all;
  for (size_t i = 0; i < times; ++i) all += text;
  return all;
}

std::string field(const std::string& name, const std::string& value) {
  return "{\"" + name + "\":" + value + "}";
}

// Values that no field of an order takes, whatever it is called.
const std::vector<std::string>& strange_values() {
  static const std::vector<std::string> all = {
      "1e999",       "-1e308", "NaN",    "-Infinity", "9223372036854775808", "18446744073709551616",
      "\"\\ud800\"", "[[]]",   "[null]", "{}",        "{\"a\":{}}"};
  return all;
}

// A safetensors file of this header and so many bytes.
std::string safetensors_of(const std::string& header, size_t bytes) {
  std::string text;
  for (int i = 0; i < 8; ++i) text += static_cast<char>((header.size() >> (8 * i)) & 255);
  return text + header + std::string(bytes, '\0');
}

std::vector<std::string> bad_safetensors() {
  const std::string whole = R"({"logits":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}})";
  return {
      "",
      "abc",
      std::string(8, '\xff'),
      std::string(8, '\0'),
      safetensors_of("{", 0),
      safetensors_of("[]", 0),
      safetensors_of(whole, 7),
      safetensors_of(whole, 9),
      safetensors_of(repeated("[", 1000), 0),
      safetensors_of(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4),
      safetensors_of(R"({"a":{"dtype":"F99","shape":[1],"data_offsets":[0,4]}})", 4),
      safetensors_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4),
      safetensors_of(
          R"({"a":{"dtype":"F32","shape":[4194305,4194305,211106198978564],"data_offsets":[0,4]}})",
          4),
      safetensors_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                     R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                     4),
      safetensors_of(R"({"__metadata__":{"a":1}})", 0),
      std::string("PK\x03\x04") + std::string(60, '\0')};
}

std::string in_letters(const std::string& bytes) {
  static constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) {
      group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (size_t j = 0; j < 4; ++j) {
      text += i + j > bytes.size() ? '=' : kLetters[group >> (18 - 6 * j) & 63];
    }
  }
  return text;
}

// Of each body route: what is no JSON, too deep, twice, of the wrong kind.
void add_bad_bodies(std::vector<HostileOrder>& all) {
  constexpr const char* kRoutes[][2] = {{"/api/trace", "text"},    {"/api/predict", "prompt"},
                                        {"/api/tokenize", "text"}, {"/api/check", "answer"},
                                        {"/api/compare", "a"},     {"/api/jobs", "kind"}};
  for (const auto& [route, name] : kRoutes) {
    const auto add = [&, route = std::string(route)](std::string body) {
      all.push_back({"POST", route, std::move(body)});
    };
    for (const std::string& value : strange_values()) add(field(name, value));
    add("{");
    add("[]");
    add("\xff\xfe");
    add("{\"a\":1} x");
    add(field(name, repeated("[", 100'000)));
    add(field(name, repeated("{\"a\":", 200) + "1" + repeated("}", 200)));
    add("{\"" + std::string(name) + "\":\"a\",\"" + std::string(name) + "\":\"b\"}");
    add(field("nothing_like_it", "1"));
    add(field(name, "\"" + std::string(1 << 20, 'x') + "\"") + std::string(33 << 20, ' '));
    all.push_back({"POST", route, "a", "text/plain"});
    all.push_back({"PUT", route, "{}"});
  }
}

void add_bad_orders(std::vector<HostileOrder>& all) {
  const std::string text = R"("text":"When you play the game of thrones")";
  for (const char* fields :
       {R"("heads":1024,"head_width":1024,"width":1024,"layer_count":12)", R"("heads":1e9)",
        R"("continue":1e18)", R"("layers":[99999999999])", R"("weight":"x[999999999999999999999]")",
        R"("model":"../../etc/passwd")", R"("model":"stories","layers":[7])",
        R"("sentences":[{"source":"","target":"a"}])", R"("seed":-9223372036854775808)"}) {
    all.push_back({"POST", "/api/trace", "{" + text + "," + fields + "}"});
  }
  for (const std::string& bytes : bad_safetensors()) {
    all.push_back({"POST", "/api/compare?a=TRACE", bytes, "application/octet-stream"});
    all.push_back(
        {"POST", "/api/trace", "{" + text + ",\"weights\":\"" + in_letters(bytes + "x") + "\"}"});
  }
  for (const char* body :
       {R"({"model":"stories","ids":[999999999]})", R"({"model":"stories","ids":[-1]})",
        R"({"model":"stories","prompt":"a","max_new_tokens":4097})",
        R"({"model":"stories","prompt":"a","append_ids":[2147483647]})",
        R"({"model":"stories","prompt":"a","heads_off":["decoder.99.self.0"]})",
        R"({"model":"stories","prompt":"a","attention":["x"]})",
        R"({"model":"stories","prompt":"a","best":101})",
        R"({"model":"stories","prompt":"a","temperature":-1})",
        R"({"model":"nobody","prompt":"a"})", R"({"trace":"0000000000000000","prompt":"a"})",
        R"({"trace":"../x","prompt":"a"})"}) {
    all.push_back({"POST", "/api/predict", body});
  }
  for (const char* name : {"../x", "a/b", "..", ".", "", "a\\u0000b", "\\u001b[31m"}) {
    all.push_back({"POST", "/api/jobs",
                   R"({"kind":"train","task":"copy","name":")" + std::string(name) + "\"}"});
  }
  for (const char* body : {R"({"kind":"train","task":"lm","data_text":""})",
                           R"({"kind":"train","task":"copy","keys":{"n_layer":1e12}})",
                           R"({"kind":"train","task":"copy","keys":{"n_embd":1000000000}})",
                           R"({"kind":"train","task":"copy","keys":{"out":"/x"}})",
                           R"({"kind":"train","task":"copy","keys":{"resume":"/x"}})",
                           R"({"kind":"score","model":"stories","data":"/etc/passwd"})",
                           R"({"kind":"find","model":"stories","pairs":[["a"]]})",
                           R"({"kind":"bench","model":"stories","pruned":"../x"})"}) {
    all.push_back({"POST", "/api/jobs", body});
  }
  all.push_back(
      {"POST", "/api/jobs",
       R"({"kind":"train","task":"copy","data_text":")" + std::string(32 << 20, 'a') + "\"}"});
}

void add_bad_targets(std::vector<HostileOrder>& all) {
  for (const char* target : {"/api/nothing",
                             "/api/models/x",
                             "/api/models?a=1",
                             "/api/texts?lang=xx",
                             "/api/texts?lang=",
                             "/api/lessons/none",
                             "/api/lessons/..%2f..%2fetc",
                             "/api/lessons?lang=xx",
                             "/api/lessons/attention?seed=-1",
                             "/api/trace/0",
                             "/api/trace/..",
                             "/api/trace/%00",
                             "/api/trace/%2e%2e%2fx",
                             "/api/trace/TRACE/nothing",
                             "/api/trace/TRACE/tensors",
                             "/api/trace/TRACE/tensors?names=",
                             "/api/trace/TRACE/tensors?names=nobody",
                             "/api/trace/TRACE/tensors?names=logits,logits",
                             "/api/trace/TRACE/tensors?names=logits&pool=0x0",
                             "/api/trace/TRACE/tensors?names=logits&pool=513x1",
                             "/api/trace/TRACE/tensors?names=logits&pool=99999999999999999999x1",
                             "/api/trace/TRACE/tensors?names=logits&rows=5:1",
                             "/api/trace/TRACE/tensors?names=logits&rows=0:99999999999999999999",
                             "/api/trace/TRACE/tensors?names=logits&cols=-1:2",
                             "/api/trace/TRACE/tensors?names=logits&run=99",
                             "/api/trace/TRACE/cell?cell=logits[9,9,9,9,9]",
                             "/api/trace/TRACE/cell?name=logits&i=99999999999999999999",
                             "/api/trace/TRACE/cell?cell=logits[0,0]&from=-1",
                             "/api/trace/TRACE/edges?name=logits",
                             "/api/trace/TRACE/edges?name=decoder.0.self.head.0.weights&mass=nan",
                             "/api/trace/TRACE/edges?name=decoder.0.self.head.0.weights&limit=1e9",
                             "/api/trace/TRACE/heads?size=100000",
                             "/api/trace/TRACE/heads?pool=min",
                             "/api/trace/TRACE/pushes?head=../x",
                             "/api/trace/TRACE/pushes?head=decoder.0.self.0&at=1e9",
                             "/api/trace/TRACE/pushes?head=decoder.99999999999999999999.self.0",
                             "/api/trace/TRACE?names=a&names=b",
                             "/api/jobs/j99",
                             "/api/jobs/..%2f..",
                             "/api/jobs/j1%00",
                             "/api/jobs/j99/events",
                             "/api/jobs/j99/events?after=-1",
                             "/api/jobs?state=x",
                             "/api/export/TRACE.exe",
                             "/api/export/TRACE.html?lang=xx",
                             "/api/export/TRACE.csv",
                             "/api/export/TRACE.csv?name=nobody",
                             "/api/export/TRACE.svg?name=../../etc/passwd",
                             "/api/export/..%2f..%2fetc%2fpasswd.html",
                             "/api/export/TRACE",
                             "/api/export/.html",
                             "/api/export/TRACE.safetensors?names=a,b"}) {
    all.push_back({"GET", target});
  }
  for (const char* target : {"/api/trace/0", "/api/jobs/j99", "/api/jobs/..", "/api/models"}) {
    all.push_back({"DELETE", target});
  }
  for (const char* target :
       {"/api/jobs/j99/pause", "/api/jobs/j99/resume", "/api/jobs/%2e%2e/resume"}) {
    all.push_back({"POST", target, "{}"});
  }
}

class HostileOrders : public testing::Test {
 protected:
  void SetUp() override {
    application_.start();
    const RawResponse made =
        ask(port(),
            post(port(), "/api/trace", R"({"model":"stories","text":"Anna has","continue":0})"));
    ASSERT_EQ(made.status, 200) << made.body.substr(0, 300);
    trace_ = *io::parse_json(made.body, "").find("id")->text();
    add_bad_bodies(orders_);
    add_bad_orders(orders_);
    add_bad_targets(orders_);
    for (HostileOrder& order : orders_) {
      for (std::string* text : {&order.target, &order.body}) {
        const size_t at = text->find("TRACE");
        if (at != std::string::npos) text->replace(at, 5, trace_);
      }
    }
  }
  uint16_t port() const { return application_.port(); }
  std::string bytes_of(const HostileOrder& order) const {
    return order.method + " " + order.target +
           " HTTP/1.1\r\nhost: 127.0.0.1:" + std::to_string(port()) +
           (order.method == "GET" || order.method == "DELETE"
                ? "\r\n\r\n"
                : "\r\ncontent-type: " + order.type + "\r\ncontent-length: " +
                      std::to_string(order.body.size()) + "\r\n\r\n" + order.body);
  }
  static std::string name_of(const HostileOrder& order) {
    return order.method + " " + order.target + " " + order.body.substr(0, 80);
  }
  static int64_t resident() {
    std::ifstream file("/proc/self/statm");
    int64_t total = 0;
    int64_t pages = 0;
    file >> total >> pages;
    return pages * 4096;
  }

  TemporaryFolder folder_;
  recipes::FilesWithEmbedded files_;
  base::ThreadPool threads_{2};
  server::Application application_{
      files_,
      threads_,
      {.models = {"stories"}, .work_folder = folder_ / "work", .http = {.port = 0}}};
  std::string trace_;
  std::vector<HostileOrder> orders_;
};

TEST_F(HostileOrders, are_answered_with_an_error_of_the_client) {
  EXPECT_GE(orders_.size(), 120u);
  for (const HostileOrder& order : orders_) {
    SCOPED_TRACE(name_of(order));
    RawClient client(port());
    client.send(bytes_of(order), Patience(20'000));
    const RawResponse response = client.read_response(true, Patience(60'000));
    EXPECT_GE(response.status, 400);
    EXPECT_LT(response.status, 500) << response.body;
    EXPECT_TRUE(response.is_complete);
    Json document;
    EXPECT_NO_THROW(document = io::parse_json(response.body, "error")) << response.body;
    const Json* error = document.find("error");
    ASSERT_NE(error, nullptr) << response.body.substr(0, 300);
    EXPECT_EQ(error->object()->size(), 4u);
    EXPECT_LT(error->find("message")->text()->size(), 2000u);
    EXPECT_EQ(error->find("message")->text()->find('\n'), std::string::npos);
  }
  EXPECT_EQ(ask(port(), get(port(), "/health")).status, 200);
  const RawResponse jobs = ask(port(), get(port(), "/api/jobs"));
  EXPECT_EQ(jobs.body, R"({"jobs":[]})");
}

// Again and again, with somebody who asks how the server is.
TEST_F(HostileOrders, leave_memory_bounded_and_the_server_well) {
  std::atomic<bool> ends = false;
  std::vector<double> times;
  std::thread asker([&] {
    while (!ends) {
      const auto begin = std::chrono::steady_clock::now();
      EXPECT_EQ(ask(port(), get(port(), "/health")).status, 200);
      times.push_back(
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  });
  const auto send_all = [&] {
    for (const HostileOrder& order : orders_) {
      RawClient client(port());
      client.send(bytes_of(order), Patience(20'000));
      client.read_response(true, Patience(60'000));
    }
  };
  send_all();
  const int64_t before = resident();
  for (int i = 0; i < 3; ++i) send_all();
  // Sanitizers keep what was freed.
  if (__asan_init == nullptr && __tsan_init == nullptr) {
    EXPECT_LT(resident() - before, 128 << 20);
  }
  ends = true;
  asker.join();
  std::ranges::sort(times);
  RecordProperty("health_median_microseconds", static_cast<int>(1e6 * times[times.size() / 2]));
  RecordProperty("health_p99_microseconds", static_cast<int>(1e6 * times[times.size() * 99 / 100]));
}

}  // namespace
}  // namespace headlight::test
