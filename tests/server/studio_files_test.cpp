// /api/lessons, /api/check, /api/export and /api/compare.
#include <algorithm>

#include "tests/server/studio_room.h"

namespace headlight::test {
namespace {

using io::Json;

constexpr const char* kGame = "When you play the game of thrones";

class StudioFiles : public testing::Test {
 protected:
  std::string traced(Json::Object body) {
    const Answer answer = room_.post("/api/trace", std::move(body));
    EXPECT_EQ(answer.status, 200) << answer.body.substr(0, 300);
    return *answer.json().find("id")->text();
  }
  Json checked(Json::Object body) {
    const Answer answer = room_.post("/api/check", std::move(body));
    EXPECT_EQ(answer.status, 200) << answer.body.substr(0, 300);
    return answer.json();
  }

  StudioRoom room_;
};

TEST_F(StudioFiles, list_the_five_lessons_and_tell_each) {
  const Json list = room_.get("/api/lessons?lang=tr").json();
  ASSERT_EQ(list.find("lessons")->array()->size(), 5u);
  EXPECT_EQ(io::json_text(list),
            io::json_text(narrate::lesson_list_json(narrate::Catalogue::of("tr"), "headlight")));
  const Answer lesson = room_.get("/api/lessons/steps");
  const Json document = lesson.json();
  EXPECT_EQ(*document.find("lesson")->find("name")->text(), "steps");
  EXPECT_EQ(document.find("lesson")->find("words")->object()->size(), narrate::languages().size());
  EXPECT_NE(document.find("runs")->array()->front().find("values"), nullptr);
  EXPECT_EQ(document.find("texts"), nullptr);
  EXPECT_EQ(room_.get("/api/lessons/steps").body, lesson.body);
  EXPECT_EQ(*document.find("language")->text(), "en");
  EXPECT_EQ(*room_.get("/api/lessons/steps?lang=az").json().find("language")->text(), "az");
  EXPECT_EQ(room_.get("/api/lessons/dance").code(), "lesson_not_found");
}

TEST_F(StudioFiles, judge_answers_to_the_exercises_of_a_lesson) {
  const Json document = room_.get("/api/lessons/steps?seed=3").json();
  const Json::Array& exercises = *document.find("lesson")->find("exercises")->array();
  ASSERT_FALSE(exercises.empty());
  for (size_t i = 0; i < exercises.size(); ++i) {
    const auto said = [&](const std::string& answer) {
      return checked({{"lesson", "steps"}, {"seed", 3}, {"exercise", i}, {"answer", answer}});
    };
    const double right = *exercises[i].find("answer")->number();
    std::string comma = io::number_text(right);
    std::ranges::replace(comma, '.', ',');
    EXPECT_EQ(*said(comma).find("verdict")->text(), "right") << comma;
    EXPECT_EQ(said(comma).find("value")->number(), right);
    for (const Json& mistake : *exercises[i].find("mistakes")->array()) {
      const Json found = said(io::number_text(*mistake.find("value")->number()));
      EXPECT_EQ(*found.find("verdict")->text(), "mistake");
      EXPECT_EQ(*found.find("mistake")->find("key")->text(), *mistake.find("key")->text());
      EXPECT_TRUE(found.find("value")->is_null());
    }
    EXPECT_EQ(*said("?").find("kind")->text(), "question");
    EXPECT_EQ(said("?").find("value")->number(), right);
    EXPECT_EQ(*said("what").find("kind")->text(), "no_number");
    EXPECT_TRUE(said("what").find("verdict")->is_null());
  }
}

TEST_F(StudioFiles, judge_answers_about_any_cell_of_a_trace) {
  const std::string id = traced({{"text", kGame}});
  const std::string cell = "encoder.0.self.head.1.scaled_scores[3,5]";
  const Json why = room_.get("/api/trace/" + id + "/cell?cell=" + cell).json();
  const double right = *why.find("value")->number();
  const auto said = [&](double answer) {
    return checked({{"trace", id}, {"cell", cell}, {"answer", io::number_text(answer)}});
  };
  EXPECT_EQ(*said(right).find("verdict")->text(), "right");
  const Json unscaled = said(right * 2);  // heads are 4 wide
  EXPECT_EQ(*unscaled.find("mistake")->find("key")->text(), "not_scaled");
  EXPECT_EQ(*said(right + 1000).find("verdict")->text(), "unknown");
}

TEST_F(StudioFiles, refuse_answers_that_are_about_nothing) {
  const std::string id = traced({{"text", kGame}});
  const std::pair<std::string, std::string> kBodies[] = {
      {R"({"lesson":"steps","exercise":0})", "answer"},
      {R"({"lesson":"steps","exercise":0,"answer":5})", "answer"},
      {R"({"lesson":"steps","answer":"5"})", "exercise"},
      {R"({"lesson":"steps","exercise":-1,"answer":"5"})", "exercise"},
      {R"({"lesson":"steps","exercise":999,"answer":"5"})", "exercise"},
      {R"({"answer":"5"})", "lesson"},
      {R"({"lesson":"steps","trace":"x","answer":"5"})", "lesson"},
      {R"({"trace":")" + id + R"(","answer":"5"})", "cell"},
      {R"({"trace":")" + id + R"(","cell":"encoder.sum","answer":"5"})", "cell"},
      {R"({"trace":")" + id + R"(","cell":"encoder.sum[0,0]","run":7,"answer":"5"})", "run"},
      {R"({"lesson":"steps","exercise":0,"answer":"5","reveal":true})", "reveal"},
  };
  for (const auto& [body, param] : kBodies) {
    const Answer answer = room_.ask("POST", "/api/check", body);
    EXPECT_EQ(answer.status, 400) << body << " " << answer.body;
    EXPECT_EQ(answer.param(), param) << body << " " << answer.body;
  }
  EXPECT_EQ(room_.ask("POST", "/api/check", R"({"trace":"x","cell":"a[0]","answer":"5"})").status,
            404);
}

TEST_F(StudioFiles, export_a_trace_in_each_form) {
  const std::string id = traced({{"text", kGame}, {"heads", 2}});
  const std::string base = "/api/export/" + id + ".";
  const Answer page = room_.get(base + "html?lang=ko");
  EXPECT_EQ(page.type, "text/html; charset=utf-8");
  EXPECT_NE(page.body.find("\"language\":\"ko\""), std::string::npos);
  EXPECT_NE(page.headers.at("content-disposition").find("trace-" + id + ".html"),
            std::string::npos);
  const Answer csv = room_.get(base + "csv?name=encoder.0.self.head.1.weights");
  EXPECT_TRUE(csv.body.starts_with("encoder.0.self.head.1.weights,When,you,play")) << csv.body;
  const Answer svg = room_.get(base + "svg?name=encoder.0.self.head.1.weights");
  EXPECT_EQ(svg.type, "image/svg+xml");
  EXPECT_NE(svg.body.find("<svg"), std::string::npos);
  const Answer all = room_.get(base + "safetensors");
  const io::Safetensors file(
      std::make_shared<base::MemoryInput>("export", std::as_bytes(std::span(all.body))));
  EXPECT_TRUE(file.metadata().contains("trace"));
  EXPECT_NE(file.find("encoder.0.self.weights"), nullptr);
  const Answer some = room_.get(base + "safetensors?names=encoder.sum");
  EXPECT_LT(some.body.size(), all.body.size());
  EXPECT_EQ(room_.get(base + "pdf").status, 404);
  EXPECT_EQ(room_.get("/api/export/x.html").status, 404);
  EXPECT_EQ(room_.get(base + "csv").param(), "name");
  EXPECT_EQ(room_.get(base + "csv?name=encoder.0.self.weights").param(), "name");
  EXPECT_EQ(room_.get(base + "html?lang=xx").param(), "lang");
  EXPECT_EQ(room_.get(base + "safetensors?names=nothing").param(), "names");
}

TEST_F(StudioFiles, compare_two_traces_and_say_where_they_part) {
  const std::string a = traced({{"text", kGame}, {"train", true}});
  const auto compared = [&](Json::Object body) {
    const Answer answer = room_.post("/api/compare", std::move(body));
    EXPECT_EQ(answer.status, 200) << answer.body.substr(0, 300);
    return answer.json();
  };
  const Json same = compared({{"a", a}, {"b", a}});
  EXPECT_TRUE(same.find("first")->is_null());
  EXPECT_EQ(same.find("equal")->integer(), same.find("compared")->integer());
  const Json trained = compared({{"a", a}, {"a_run", 0}, {"b", a}, {"b_run", 1}});
  EXPECT_EQ(*trained.find("first")->find("name")->text(), "encoder.embedding");
  EXPECT_EQ(trained.find("first")->find("step")->integer(), 4);
  const std::string other = traced({{"text", kGame}, {"heads", 3}});
  EXPECT_FALSE(
      compared({{"a", a}, {"b", other}, {"a_run", 0}}).find("other_shapes")->array()->empty());
}

TEST_F(StudioFiles, compare_a_trace_with_a_dump_of_another_engine) {
  const std::string id = traced({{"text", kGame}});
  std::string dump = room_.get("/api/export/" + id + ".safetensors").body;
  const std::string target = "/api/compare?a=" + id;
  const Answer same = room_.ask("POST", target, dump, "application/octet-stream");
  ASSERT_EQ(same.status, 200) << same.body.substr(0, 300);
  EXPECT_TRUE(same.json().find("first")->is_null());
  dump.resize(dump.size() / 2);
  const Answer cut = room_.ask("POST", target, dump, "application/octet-stream");
  EXPECT_EQ(cut.status, 400);
  EXPECT_EQ(cut.param(), "body");
  EXPECT_EQ(room_.ask("POST", "/api/compare", "x", "application/octet-stream").param(), "a");
}

TEST_F(StudioFiles, refuse_comparisons_with_nothing) {
  const std::string id = traced({{"text", kGame}});
  const std::pair<std::string, std::string> kBodies[] = {
      {R"({"a":")" + id + R"("})", "b"},
      {R"({"a":5,"b":"x"})", "a"},
      {R"({"a":")" + id + R"(","b":")" + id + R"(","a_run":3})", "run"},
      {R"({"a":")" + id + R"(","b":")" + id + R"(","tolerance":-1})", "tolerance"},
      {R"({"a":")" + id + R"(","b":")" + id + R"(","c":1})", "c"},
  };
  for (const auto& [body, param] : kBodies) {
    const Answer answer = room_.ask("POST", "/api/compare", body);
    EXPECT_EQ(answer.status, 400) << body << " " << answer.body;
    EXPECT_EQ(answer.param(), param) << body << " " << answer.body;
  }
}

TEST_F(StudioFiles, say_which_words_a_model_does_not_know) {
  const Json found =
      room_.post("/api/tokenize", Json::Object{{"text", "When you fly high"}}).json();
  EXPECT_EQ(io::json_text(*found.find("unknown")), R"(["fly","high"])");
  EXPECT_EQ(found.find("tokens")->array()->size(), 4u);
  EXPECT_EQ(room_
                .ask("POST", "/api/tokenize",
                     R"({"model":"numbers","sentences":[{"source":"a","target":"b"}],"text":"a"})")
                .param(),
            "sentences");
  EXPECT_EQ(room_.ask("POST", "/api/tokenize", R"({"text":5})").param(), "text");
  EXPECT_EQ(room_.ask("POST", "/api/tokenize", R"({"text":"a","x":1})").param(), "x");
}

}  // namespace
}  // namespace headlight::test
