// /api/jobs: work that takes longer, what it tells, and that it outlives the server.
#include <algorithm>
#include <filesystem>
#include <thread>

#include "tests/base/temporary_folder.h"
#include "tests/server/studio_room.h"

namespace headlight::test {
namespace {

using io::Json;

class StudioJobs : public testing::Test {
 protected:
  static Json copy_training(int64_t steps, const std::string& name = "copier") {
    return Json::Object{{"kind", "train"},
                        {"name", name},
                        {"task", "copy"},
                        {"probe", "1 2 3"},
                        {"keys", Json::Object{{"max_iters", steps},
                                              {"eval_interval", 10},
                                              {"n_layer", 1},
                                              {"n_head", 2},
                                              {"n_embd", 16},
                                              {"batch_size", 4},
                                              {"seed", 3}}}};
  }
  static std::string begun(StudioRoom& room, const Json& body) {
    const Answer answer = room.post("/api/jobs", body);
    EXPECT_EQ(answer.status, 201) << answer.body.substr(0, 400);
    return *answer.json().find("id")->text();
  }
  static std::string state_of(StudioRoom& room, const std::string& id) {
    return *room.get("/api/jobs/" + id).json().find("state")->text();
  }
  static bool comes(const std::function<bool()>& condition) {
    for (int i = 0; i < 6000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  // Follows it to its end.
  static std::vector<Event> followed(StudioRoom& room, const std::string& id) {
    return events_in(room.get("/api/jobs/" + id + "/events").body);
  }
  static std::string bytes_of(const std::string& path) {
    return base::read_all(*base::open_input(base::real_files(), path), 1 << 30);
  }

  TemporaryFolder folder_;
};

TEST_F(StudioJobs, train_a_model_that_is_served_then) {
  StudioRoom room(folder_ / "work");
  const std::string id = begun(room, copy_training(30));
  const std::vector<Event> events = followed(room, id);
  std::map<std::string, int> counts;
  for (const Event& event : events) {
    ++counts[event.name == "train" ? *event.data.find("event")->text() : event.name];
  }
  EXPECT_EQ(counts["start"], 1);
  EXPECT_EQ(counts["done"], 1);
  EXPECT_EQ(counts["result"], 1);
  EXPECT_GE(counts["eval"], 3);
  EXPECT_EQ(counts["heads"], counts["eval"] + 1)
      << "a film strip has a picture of the beginning and one for each evaluation";
  const Json job = room.get("/api/jobs/" + id).json();
  EXPECT_EQ(*job.find("state")->text(), "done");
  EXPECT_EQ(*job.find("written")->text(), "copier");
  EXPECT_TRUE(job.find("result")->find("exact_match")->number().has_value());
  EXPECT_EQ(job.find("progress")->number(), 1);
  const Answer trace = room.post("/api/trace", Json::Object{{"model", "copier"}, {"text", "1 2"}});
  EXPECT_EQ(trace.status, 200) << trace.body.substr(0, 300);
  const Json models = room.get("/api/models").json();
  for (const Json& model : *models.find("models")->array()) {
    if (*model.find("id")->text() != "copier") continue;
    EXPECT_EQ(*model.find("source")->text(), "job");
    EXPECT_EQ(*model.find("job")->text(), id);
  }
}

TEST_F(StudioJobs, go_on_after_the_server_has_ended_to_the_same_bits) {
  {
    StudioRoom whole(folder_ / "whole");
    followed(whole, begun(whole, copy_training(60)));
  }
  std::string id;
  {
    StudioRoom first(folder_ / "parts");
    id = begun(first, copy_training(60));
    EXPECT_TRUE(comes([&] {
      const std::string events = first.get("/api/jobs/" + id).body;
      return first.get("/api/jobs").body.find("running") != std::string::npos &&
             std::filesystem::exists(std::string(folder_ / "parts") + "/jobs/" + id +
                                     "/events.jsonl");
    }));
  }
  StudioRoom second(folder_ / "parts");
  const Json job = second.get("/api/jobs/" + id).json();
  if (*job.find("state")->text() != "done") {
    EXPECT_EQ(*job.find("state")->text(), "paused");
    EXPECT_EQ(second.ask("POST", "/api/jobs/" + id + "/resume").status, 200);
  }
  const std::vector<Event> events = followed(second, id);
  EXPECT_EQ(state_of(second, id), "done");
  // All events since the beginning, once each and in order.
  int64_t last = 0;
  for (const Event& event : events) {
    if (event.id.empty()) continue;
    EXPECT_EQ(std::stoll(event.id), last + 1);
    last = std::stoll(event.id);
  }
  EXPECT_EQ(bytes_of(std::string(folder_ / "parts") + "/jobs/" + id + "/model/model.safetensors"),
            bytes_of(std::string(folder_ / "whole") + "/jobs/j1/model/model.safetensors"));
}

TEST_F(StudioJobs, are_paused_and_resumed) {
  StudioRoom room(folder_ / "work");
  const std::string id = begun(room, copy_training(100'000));
  EXPECT_TRUE(comes([&] { return state_of(room, id) == "running"; }));
  EXPECT_EQ(room.ask("POST", "/api/jobs/" + id + "/resume").status, 409);
  EXPECT_EQ(room.ask("POST", "/api/jobs/" + id + "/pause").status, 200);
  EXPECT_TRUE(comes([&] { return state_of(room, id) == "paused"; }));
  EXPECT_EQ(room.ask("POST", "/api/jobs/" + id + "/pause").status, 409);
  EXPECT_EQ(room.ask("POST", "/api/jobs/" + id + "/resume").status, 200);
  EXPECT_TRUE(comes([&] { return state_of(room, id) == "running"; }));
  EXPECT_EQ(room.ask("DELETE", "/api/jobs/" + id).status, 204);
  EXPECT_EQ(room.get("/api/jobs/" + id).status, 404);
  EXPECT_FALSE(std::filesystem::exists(std::string(folder_ / "work") + "/jobs/" + id));
}

TEST_F(StudioJobs, wait_for_each_other) {
  StudioRoom room(folder_ / "work");
  const std::string first = begun(room, copy_training(100'000, "one"));
  const std::string second = begun(room, copy_training(10, "two"));
  EXPECT_TRUE(comes([&] { return state_of(room, first) == "running"; }));
  EXPECT_EQ(state_of(room, second), "queued");
  EXPECT_EQ(room.ask("DELETE", "/api/jobs/" + first).status, 204);
  followed(room, second);
  EXPECT_EQ(state_of(room, second), "done");
}

TEST_F(StudioJobs, tell_what_a_listener_has_missed) {
  StudioRoom room(folder_ / "work");
  const std::string id = begun(room, copy_training(20));
  const std::vector<Event> all = followed(room, id);
  const std::vector<Event> rest = events_in(room.get("/api/jobs/" + id + "/events?after=3").body);
  ASSERT_FALSE(rest.empty());
  EXPECT_EQ(rest.front().id, "4");
  EXPECT_EQ(rest.back().id, all.back().id);
}

TEST_F(StudioJobs, give_what_the_commands_of_heads_give) {
  StudioRoom room(folder_ / "work");
  const recipes::LoadedModel numbers = recipes::load_named_model(room.files(), "numbers");
  const recipes::ExamplesRequest examples{.examples = 4, .seed = 2};
  const std::string scored = begun(
      room, Json::Object{{"kind", "score"}, {"model", "numbers"}, {"examples", 4}, {"seed", 2}});
  followed(room, scored);
  EXPECT_EQ(io::json_text(*room.get("/api/jobs/" + scored).json().find("result")),
            io::json_text(heads::head_scores_json(
                recipes::score_model_heads(room.threads(), room.files(), numbers, examples))));
  const std::string attributed = begun(room, Json::Object{{"kind", "attribute"},
                                                          {"model", "stories"},
                                                          {"prompt", "Tom has lost a red coin."},
                                                          {"word", " He"},
                                                          {"against", " She"},
                                                          {"lens", true}});
  followed(room, attributed);
  const auto stories = room.models().open("stories");
  const recipes::AttributeAnswer answer =
      recipes::attribute(room.threads(), stories->model(), &*stories->tokenizer,
                         {.text = {.prompt = "Tom has lost a red coin."},
                          .word = " He",
                          .against = " She",
                          .lens = true});
  EXPECT_EQ(io::json_text(*room.get("/api/jobs/" + attributed).json().find("result")),
            io::json_text(recipes::attribute_json(answer, &*stories->tokenizer)));
}

TEST_F(StudioJobs, measure_on_ids_that_are_given) {
  StudioRoom room(folder_ / "work");
  const std::string ids = "5,9,20,5,9,20\n7,31,7,31,7,31\n";
  const std::string targets = "-1,-1,5,9,20,5\n-1,-1,31,7,31,7\n";
  base::write_file(room.files(), folder_ / "ids.csv", ids);
  base::write_file(room.files(), folder_ / "targets.csv", targets);
  const recipes::LoadedModel repeats = recipes::load_named_model(room.files(), "repeats");
  Json::Object body = {{"kind", "score"}, {"model", "repeats"}, {"ids_text", ids}};
  recipes::ExamplesRequest examples{.ids = folder_ / "ids.csv"};
  for (const bool has_targets : {false, true}) {
    if (has_targets) {
      body.emplace_back("targets_text", targets);
      examples.targets = folder_ / "targets.csv";
    }
    const std::string id = begun(room, body);
    followed(room, id);
    const Json job = room.get("/api/jobs/" + id).json();
    EXPECT_EQ(job.find("request")->find("ids_text")->text()->find("20"), std::string::npos);
    EXPECT_EQ(io::json_text(*job.find("result")),
              io::json_text(heads::head_scores_json(
                  recipes::score_model_heads(room.threads(), room.files(), repeats, examples))));
  }
}

TEST_F(StudioJobs, make_a_pruned_model_real) {
  StudioRoom room(folder_ / "work");
  const std::string id = begun(room, Json::Object{{"kind", "prune"},
                                                  {"model", "thrones"},
                                                  {"name", "fewer"},
                                                  {"heads_off", Json::Array{"encoder.0.self.0"}}});
  followed(room, id);
  const Json job = room.get("/api/jobs/" + id).json();
  ASSERT_EQ(*job.find("state")->text(), "done") << io::json_text(job);
  EXPECT_EQ(*job.find("written")->text(), "fewer");
  const Json trace =
      room.post("/api/trace",
                Json::Object{{"model", "fewer"}, {"text", "When you play the game of thrones"}})
          .json();
  ASSERT_NE(trace.find("runs"), nullptr) << io::json_text(trace).substr(0, 300);
  // Another of the same name has a name of its own.
  const std::string again =
      begun(room, Json::Object{{"kind", "prune"},
                               {"model", "thrones"},
                               {"name", "fewer"},
                               {"heads_off", Json::Array{"encoder.0.self.1"}}});
  followed(room, again);
  EXPECT_EQ(*room.get("/api/jobs/" + again).json().find("written")->text(), "fewer-2");
  EXPECT_EQ(room.ask("DELETE", "/api/jobs/" + again).status, 204);
  EXPECT_FALSE(room.models().has("fewer-2"));
}

TEST_F(StudioJobs, that_fail_say_why) {
  StudioRoom room(folder_ / "work");
  const std::string id = begun(room, Json::Object{{"kind", "score"}, {"model", "stories"}});
  followed(room, id);
  const Json job = room.get("/api/jobs/" + id).json();
  EXPECT_EQ(*job.find("state")->text(), "failed");
  EXPECT_NE(job.find("error")->text()->find("data"), std::string::npos);
}

TEST_F(StudioJobs, are_listed_the_newest_first_after_a_new_start_too) {
  const auto listed = [](StudioRoom& room) {
    std::vector<std::string> ids;
    const Json all = room.get("/api/jobs").json();
    for (const Json& job : *all.find("jobs")->array()) ids.push_back(*job.find("id")->text());
    return ids;
  };
  std::vector<std::string> begun_ids;
  {
    StudioRoom first(folder_ / "work");
    for (int i = 0; i < 11; ++i) {
      begun_ids.push_back(begun(first, Json::Object{{"kind", "score"}, {"model", "stories"}}));
      followed(first, begun_ids.back());
    }
    std::ranges::reverse(begun_ids);
    EXPECT_EQ(begun_ids.front(), "j11");
    EXPECT_EQ(listed(first), begun_ids);
  }
  StudioRoom second(folder_ / "work");
  EXPECT_EQ(listed(second), begun_ids);
}

TEST_F(StudioJobs, need_a_folder) {
  StudioRoom room;
  const Answer answer = room.post("/api/jobs", copy_training(10));
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.code(), "no_work_folder");
  EXPECT_EQ(room.get("/api/jobs").json().find("jobs")->array()->size(), 0u);
}

struct BadJob {
  std::string body;
  std::string param;
};

TEST_F(StudioJobs, refuse_each_field_of_the_wrong_type_and_range) {
  StudioRoom room(folder_ / "work");
  const BadJob kBodies[] = {
      {R"({})", "kind"},
      {R"({"kind":"dance"})", "kind"},
      {R"({"kind":5})", "kind"},
      {R"({"kind":"train"})", "task"},
      {R"({"kind":"train","task":"sing"})", "task"},
      {R"({"kind":"train","task":"lm"})", "data_text"},
      {R"({"kind":"train","task":"copy","data_text":"a"})", "data_text"},
      {R"({"kind":"train","task":"copy","keys":[]})", "keys"},
      {R"({"kind":"train","task":"copy","keys":{"n_layers":2}})", "keys.n_layers"},
      {R"({"kind":"train","task":"copy","keys":{"n_layer":[]}})", "keys.n_layer"},
      {R"({"kind":"train","task":"copy","keys":{"n_layer":-1}})", "keys.n_layer"},
      {R"({"kind":"train","task":"copy","keys":{"n_head":3}})", "keys.n_embd"},
      {R"({"kind":"train","task":"copy","keys":{"learning_rate":"x"}})", "keys.learning_rate"},
      {R"({"kind":"train","task":"copy","keys":{"seed":-1}})", "keys.seed"},
      {R"({"kind":"train","task":"copy","probe_target":"1 2"})", "probe_target"},
      {R"({"kind":"train","task":"copy","keys":{"data":"/etc/passwd"}})", "keys.data"},
      {R"({"kind":"train","task":"copy","keys":{"init":"/etc"}})", "keys.init"},
      {R"({"kind":"train","task":"copy","keys":{"tokenizer":"/etc"}})", "keys.tokenizer"},
      {R"({"kind":"train","task":"copy","name":"../x"})", "name"},
      {R"({"kind":"train","task":"copy","name":""})", "name"},
      {R"({"kind":"score"})", "model"},
      {R"({"kind":"score","model":"numbers","examples":0})", "examples"},
      {R"({"kind":"score","model":"numbers","task":"x"})", "task"},
      {R"({"kind":"score","model":"repeats","ids_text":"1,2","data_text":"ka lo"})", "ids_text"},
      {R"({"kind":"score","model":"repeats","ids_text":"1,2","task":"lm"})", "ids_text"},
      {R"({"kind":"score","model":"repeats","targets_text":"1,2"})", "targets_text"},
      {R"({"kind":"score","model":"numbers","data":"/etc/passwd"})", "data"},
      {R"({"kind":"ablate","model":"numbers","by":"x"})", "by"},
      {R"({"kind":"ablate","model":"numbers","greedy":1})", "greedy"},
      {R"({"kind":"attribute","model":"stories","prompt":"a"})", "word"},
      {R"({"kind":"attribute","model":"stories","prompt":"a","word":"b","top":0})", "top"},
      {R"({"kind":"patch","model":"stories","clean":"a","corrupt":"b"})", "word"},
      {R"({"kind":"patch","model":"stories","clean":"a","corrupt":"b","word":"c","direction":"x"})",
       "direction"},
      {R"({"kind":"gates","model":"numbers"})", "penalty"},
      {R"({"kind":"gates","model":"numbers","penalty":0})", "penalty"},
      {R"({"kind":"gates","model":"numbers","penalty":1,"steps":0})", "steps"},
      {R"({"kind":"curve","model":"numbers","methods":["x"]})", "methods[0]"},
      {R"({"kind":"curve","model":"numbers","methods":["gates","gates"]})", "methods[0]"},
      {R"({"kind":"curve","model":"numbers","types":["x"]})", "types[0]"},
      {R"({"kind":"curve","model":"numbers","shares":[2]})", "shares[0]"},
      {R"({"kind":"curve","model":"numbers","shares":[]})", "shares"},
      {R"({"kind":"curve","model":"numbers","random_orders":0})", "random_orders"},
      {R"({"kind":"prune","model":"numbers"})", "keep"},
      {R"({"kind":"prune","model":"numbers","keep":0})", "keep"},
      {R"({"kind":"prune","model":"numbers","keep":1.5})", "keep"},
      {R"({"kind":"prune","model":"numbers","keep":0.5,"heads_off":["encoder.0.self.0"]})", "keep"},
      {R"({"kind":"prune","model":"numbers","heads_off":["x"]})", "heads_off[0]"},
      {R"({"kind":"prune","model":"numbers","heads_off":[]})", "heads_off"},
      {R"({"kind":"prune","model":"numbers","keep":0.5,"out":"x"})", "out"},
      {R"({"kind":"bench","model":"numbers"})", "pruned"},
      {R"({"kind":"bench","model":"numbers","pruned":"numbers","batches":[0]})", "batches[0]"},
      {R"({"kind":"bench","model":"numbers","pruned":"numbers","seconds":0})", "seconds"},
      {R"({"kind":"find","model":"numbers","from":"a"})", "to"},
      {R"({"kind":"find","model":"numbers","pairs":["a"]})", "pairs[0]"},
      {R"({"kind":"find","model":"numbers","pairs":[["a","b","c\n"]]})", "pairs[0]"},
  };
  for (const BadJob& one : kBodies) {
    const Answer answer = room.ask("POST", "/api/jobs", one.body);
    EXPECT_EQ(answer.status, 400) << one.body << " " << answer.body.substr(0, 200);
    EXPECT_EQ(answer.param(), one.param) << one.body << " " << answer.body.substr(0, 300);
  }
  EXPECT_EQ(room.get("/api/jobs").json().find("jobs")->array()->size(), 0u);
  EXPECT_EQ(room.get("/api/jobs/j1").status, 404);
  EXPECT_EQ(room.get("/api/jobs/j1/events").status, 404);
  EXPECT_EQ(room.ask("DELETE", "/api/jobs/..").status, 404);
}

}  // namespace
}  // namespace headlight::test
