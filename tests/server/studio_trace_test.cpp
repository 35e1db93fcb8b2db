// /api/models, /api/texts, /api/trace and what is asked of a trace: the engine's own numbers, in
// the forms that docs/api.md says.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "tests/server/studio_room.h"

namespace headlight::test {
namespace {

using io::Json;

constexpr const char* kText = "When you play the game of thrones";

class StudioTrace : public testing::Test {
 protected:
  Json made(Json::Object body) {
    const Answer answer = room_.post("/api/trace", std::move(body));
    EXPECT_EQ(answer.status, 200) << answer.body.substr(0, 400);
    return answer.json();
  }
  static std::string id_of(const Json& trace) { return *trace.find("id")->text(); }
  static const Json& run_of(const Json& trace, size_t run = SIZE_MAX) {
    const Json::Array& runs = *trace.find("runs")->array();
    return run == SIZE_MAX ? runs.back() : runs[run];
  }
  io::Safetensors tensors(const std::string& id, const std::string& query) {
    const Answer answer = room_.get("/api/trace/" + id + "/tensors?" + query);
    EXPECT_EQ(answer.status, 200) << answer.body.substr(0, 400);
    bodies_.push_back(std::make_unique<std::string>(answer.body));
    return io::Safetensors(
        std::make_shared<base::MemoryInput>("answer", std::as_bytes(std::span(*bodies_.back()))));
  }
  // The same run by the library alone.
  narrate::TraceDocument alone(narrate::ExplainRequest request) {
    return narrate::TraceDocument(room_.threads(), room_.files(), std::move(request),
                                  [&](const narrate::ExplainRequest& asked) {
                                    return narrate::make_subject(room_.files(), asked);
                                  });
  }
  static bool same(const tensor::Tensor& a, const tensor::Tensor& b) {
    const tensor::Tensor x = a.contiguous();
    const tensor::Tensor y = b.contiguous();
    return x.shape() == y.shape() && x.dtype() == y.dtype() &&
           std::memcmp(x.raw(), y.raw(), x.bytes()) == 0;
  }

  StudioRoom room_;
  std::vector<std::unique_ptr<std::string>> bodies_;
};

TEST_F(StudioTrace, models_say_what_they_can_do) {
  const Json document = room_.get("/api/models").json();
  std::set<std::string> ids;
  for (const Json& model : *document.find("models")->array()) {
    ids.insert(*model.find("id")->text());
    EXPECT_NE(model.find("can")->find("predicts"), nullptr);
    if (*model.find("id")->text() != "numbers") continue;
    EXPECT_EQ(*model.find("source")->text(), "embedded");
    EXPECT_EQ(model.find("can")->find("translates")->boolean(), true);
    EXPECT_EQ(*model.find("example")->text(), "one hundred forty-two");
    EXPECT_GT(*model.find("layers")->find("encoder")->integer(), 0);
    EXPECT_GT(model.find("attentions")->array()->size(), 2u);
    EXPECT_GT(*model.find("tokenizer")->find("size")->integer(), 10);
  }
  EXPECT_EQ(ids, (std::set<std::string>{"worked", "numbers", "repeats", "stories", "thrones"}));
  EXPECT_EQ(document.find("worked")->find("sentences")->array()->size(), 3u);
}

TEST_F(StudioTrace, texts_are_the_whole_catalogue_of_a_language) {
  for (const std::string_view language : narrate::languages()) {
    const Json document = room_.get("/api/texts?lang=" + std::string(language)).json();
    const narrate::Catalogue& catalogue = narrate::Catalogue::of(language);
    EXPECT_EQ(document.find("texts")->object()->size(), catalogue.texts().size());
    EXPECT_EQ(*document.find("texts")->find("step.sum.title")->text(),
              catalogue.text("step.sum.title"));
    EXPECT_EQ(document.find("languages")->array()->size(), narrate::languages().size());
  }
  EXPECT_EQ(*room_.get("/api/texts").json().find("language")->text(), "en");
  EXPECT_EQ(room_.get("/api/texts?lang=fr").param(), "lang");
}

TEST_F(StudioTrace, of_the_worked_model_is_the_document_of_an_offline_page) {
  const Json trace = made({{"text", kText}});
  const Json page = alone({.text = kText}).document();
  // All but what the server adds.
  for (const auto& [name, value] : *page.object()) {
    ASSERT_NE(trace.find(name), nullptr) << name;
    EXPECT_EQ(io::json_text(*trace.find(name)), io::json_text(value)) << name;
  }
  EXPECT_EQ(*trace.find("model")->text(), "worked");
  EXPECT_EQ(room_.get("/api/trace/" + id_of(trace)).body, io::json_text(trace));
}

TEST_F(StudioTrace, gives_every_number_of_the_run_to_the_bit) {
  const Json trace = made({{"text", kText}, {"heads", 3}, {"seed", 5}});
  narrate::ExplainRequest request{.text = kText};
  request.worked.heads = 3;
  request.worked.seed = 5;
  const narrate::TraceDocument expected = alone(request);
  std::string names;
  size_t count = 0;
  const auto flush = [&] {
    const io::Safetensors file = tensors(id_of(trace), "names=" + names);
    for (const io::Safetensors::Entry& entry : file.entries()) {
      EXPECT_TRUE(same(file.load(entry), expected.trace(0).values(entry.name))) << entry.name;
      ++count;
    }
    names.clear();
  };
  for (const char* list : {"tensors", "parameters"}) {
    for (const Json& tensor : *run_of(trace).find(list)->array()) {
      names += (names.empty() ? "" : ",") + *tensor.find("name")->text();
      if (std::ranges::count(names, ',') == 99) flush();
    }
  }
  flush();
  EXPECT_EQ(count, expected.trace(0).tensors().size() + expected.trace(0).parameters().size());
}

TEST_F(StudioTrace, has_two_runs_when_the_worked_model_is_trained) {
  const Json trace = made({{"text", kText}, {"train", true}});
  ASSERT_EQ(trace.find("runs")->array()->size(), 2u);
  EXPECT_EQ(*run_of(trace, 1).find("continuation")->text(), "you win or you die");
  EXPECT_NE(*run_of(trace, 0).find("continuation")->text(), "you win or you die");
  EXPECT_GT(*run_of(trace, 0).find("loss")->number(), *run_of(trace, 1).find("loss")->number());
  EXPECT_EQ(trace.find("training")->find("steps")->integer(), 400);
  // Numbers before training are those of a run that was never trained.
  const Json untrained = made({{"text", kText}});
  const std::string query = "names=encoder.layers.0.fc1.weight,encoder.output";
  const io::Safetensors before = tensors(id_of(trace), query + "&run=0");
  const io::Safetensors after = tensors(id_of(trace), query);
  const io::Safetensors fresh = tensors(id_of(untrained), query);
  for (const char* name : {"encoder.layers.0.fc1.weight", "encoder.output"}) {
    EXPECT_TRUE(same(before.load(name), fresh.load(name))) << name;
    EXPECT_FALSE(same(before.load(name), after.load(name))) << name;
  }
}

TEST_F(StudioTrace, is_built_from_the_users_own_sentences) {
  const Json sentences =
      Json::Array{Json::Object{{"source", "cats like"}, {"target", "warm milk"}},
                  Json::Object{{"source", "dogs like"}, {"target", "long walks"}}};
  const Json trace = made({{"text", "dogs like"}, {"sentences", sentences}, {"train", true}});
  EXPECT_EQ(*run_of(trace).find("continuation")->text(), "long walks");
  EXPECT_EQ(trace.find("sentences")->array()->size(), 2u);
  EXPECT_EQ(*trace.find("command")->text(), "");  // nobody could type them
  const Answer unknown =
      room_.post("/api/trace", Json::Object{{"text", "birds like"}, {"sentences", sentences}});
  EXPECT_EQ(unknown.status, 400);
  EXPECT_EQ(unknown.param(), "text");
  EXPECT_NE(unknown.message().find("\"birds\""), std::string::npos);
  EXPECT_EQ(unknown.message().find("--"), std::string::npos) << unknown.message();
}

TEST_F(StudioTrace, of_a_served_model_reads_ids_and_texts_alike) {
  const Json by_text = made({{"model", "numbers"}, {"text", "on iki"}});
  EXPECT_EQ(*run_of(by_text).find("continuation")->text(), "12");
  const Json tokenized =
      room_.post("/api/tokenize", Json::Object{{"model", "numbers"}, {"text", "on iki"}}).json();
  const Json ids = *tokenized.find("ids");
  const Json by_ids = made({{"model", "numbers"}, {"ids", ids}});
  EXPECT_EQ(io::json_text(*run_of(by_text).find("tensors")),
            io::json_text(*run_of(by_ids).find("tensors")));
  EXPECT_NE(run_of(by_text).find("heads")->array()->size(), 0u);
}

TEST_F(StudioTrace, tells_why_a_cell_is_what_it_is_as_the_command_does) {
  const Json trace = made({{"text", kText}, {"heads", 2}});
  const narrate::TraceDocument expected = alone({.text = kText});
  const explain::Trace& run = expected.trace(0);
  const std::string base = "/api/trace/" + id_of(trace) + "/cell?";
  for (const std::string& cell :
       {std::string("encoder.0.self.head.1.scores[3,5]"), std::string("encoder.0.norm_1.mean[2]"),
        std::string("logits[0,4]"), std::string("encoder.0.self.head.0.weights[1,1]")}) {
    const Json answer = room_.get(base + "cell=" + cell).json();
    const Json by_library =
        explain::cell_json(run, explain::explain_cell(run, explain::parse_cell(run, cell)));
    for (const auto& [name, value] : *by_library.object()) {
      EXPECT_EQ(io::json_text(*answer.find(name)), io::json_text(value)) << cell << " " << name;
    }
    EXPECT_EQ(answer.find("term_count")->integer(), std::ssize(*by_library.find("terms")->array()));
  }
  EXPECT_EQ(room_.get(base + "name=encoder.0.self.head.1.scores&i=3&j=5").body,
            room_.get(base + "cell=encoder.0.self.head.1.scores[3,5]").body);
  const Json some =
      room_.get(base + "cell=encoder.0.self.head.1.scores[3,5]&from=1&limit=2").json();
  EXPECT_EQ(some.find("terms")->array()->size(), 2u);
  EXPECT_EQ(some.find("term_count")->integer(), 4);
}

TEST_F(StudioTrace, pools_large_matrices_into_tiles) {
  const Json trace = made({{"text", kText}});
  const io::Safetensors file =
      tensors(id_of(trace), "names=encoder.0.self.head.0.weights,encoder.sum&pool=4x4&rows=1:7");
  EXPECT_NE(file.find("encoder.0.self.head.0.weights:max"), nullptr);
  EXPECT_NE(file.find("encoder.sum:mean"), nullptr);
  const Json tiles = io::parse_json(file.metadata().at("tiles"), "tiles");
  const Json& tile = *tiles.find("encoder.0.self.head.0.weights");
  EXPECT_EQ(io::json_text(tile),
            R"({"rows":[1,7],"cols":[0,7],"row_step":2,"col_step":2,"shape":[1,7,7]})");
  const tensor::Tensor largest = file.load("encoder.0.self.head.0.weights:max");
  EXPECT_EQ(largest.shape(), (tensor::Shape{1, 3, 4}));
}

TEST_F(StudioTrace, gives_the_fewest_edges_that_make_up_the_mass) {
  const Json trace = made({{"text", kText}});
  const std::string base =
      "/api/trace/" + id_of(trace) + "/edges?name=encoder.0.self.head.1.weights";
  const Json found = room_.get(base + "&mass=0.5").json();
  const narrate::TraceDocument expected = alone({.text = kText});
  const tensor::Tensor weights = expected.trace(0).values("encoder.0.self.head.1.weights");
  EXPECT_EQ(found.find("total")->integer(), 49);
  EXPECT_GE(*found.find("reached")->number(), 0.5);
  double before = 2;
  for (const Json& edge : *found.find("edges")->array()) {
    const Json::Array& parts = *edge.array();
    const double weight = *parts[2].number();
    EXPECT_LE(weight, before);
    before = weight;
    EXPECT_EQ(weight, static_cast<double>(
                          weights.data<float>()[*parts[0].integer() * 7 + *parts[1].integer()]));
  }
  EXPECT_EQ(room_.get(base + "&rows=0,2&mass=1").json().find("rows")->integer(), 2);
}

TEST_F(StudioTrace, maps_all_heads) {
  const Json trace = made({{"model", "thrones"}, {"text", kText}});
  const Json map = room_.get("/api/trace/" + id_of(trace) + "/heads?size=4").json();
  const Json::Array& heads = *map.find("heads")->array();
  const Json::Array& measured = *run_of(trace).find("heads")->array();
  ASSERT_EQ(heads.size(), measured.size());
  std::set<std::string> kinds;
  for (size_t i = 0; i < heads.size(); ++i) {
    for (const auto& [name, value] : *measured[i].object()) {
      EXPECT_EQ(io::json_text(*heads[i].find(name)), io::json_text(value)) << name;
    }
    kinds.insert(*heads[i].find("stack")->text() + " " + *heads[i].find("kind")->text());
    EXPECT_LE(*heads[i].find("thumbnail")->find("rows")->integer(), 4);
    EXPECT_TRUE(heads[i].find("importance")->is_null());
  }
  EXPECT_EQ(kinds, (std::set<std::string>{"encoder self", "decoder self", "decoder cross"}));
}

TEST_F(StudioTrace, measures_importance_and_behaviour_where_they_are_asked_for) {
  const Json trace = made({{"model", "repeats"}, {"text", "ka lo mi tu se ka lo"}});
  const std::string target = "/api/trace/" + id_of(trace) + "/heads?behaviour=1&importance=1";
  const Json map = room_.get(target).json();
  std::set<std::string> roles;
  for (const Json& head : *map.find("heads")->array()) {
    EXPECT_TRUE(head.find("importance")->number().has_value());
    EXPECT_TRUE(head.find("induction")->number().has_value());
    roles.insert(*head.find("role")->text());
  }
  EXPECT_TRUE(roles.contains("induction")) << io::json_text(map).substr(0, 500);
  EXPECT_EQ(room_.get(target).body, io::json_text(map));  // and the model is as it was
}

TEST_F(StudioTrace, walks_back_to_a_weight) {
  const Json trace = made({{"text", kText}, {"weight", "encoder.layers.0.fc1.weight[3,2]"}});
  const Json& backward = *run_of(trace).find("backward");
  EXPECT_EQ(*backward.find("weight")->text(), "encoder.layers.0.fc1.weight[3,2]");
  EXPECT_EQ(run_of(trace).find("weight_is_asked")->boolean(), true);
  const io::Safetensors file = tensors(id_of(trace), "names=error,gradient.logits");
  EXPECT_EQ(file.load("error").shape(), file.load("gradient.logits").shape());
  EXPECT_TRUE(run_of(made({{"text", kText}, {"backward", false}})).find("backward")->is_null());
  // A large model has none unless it is asked for, a small one has.
  EXPECT_FALSE(
      run_of(made({{"model", "thrones"}, {"text", kText}, {"target", "you win or you die"}}))
          .find("backward")
          ->is_null());
}

TEST_F(StudioTrace, leaves_when_there_are_newer_ones) {
  const Json first = made({{"text", kText}});
  EXPECT_EQ(room_.get("/api/trace/" + id_of(first)).status, 200);
  const int64_t most = *room_.get("/api/models").json().find("limits")->find("traces")->integer();
  for (int64_t i = 0; i < most; ++i) made({{"text", kText}, {"seed", i}});
  const Answer gone = room_.get("/api/trace/" + id_of(first));
  EXPECT_EQ(gone.status, 404);
  EXPECT_EQ(gone.code(), "trace_not_found");
}

TEST_F(StudioTrace, is_let_go_when_it_is_deleted) {
  const Json trace = made({{"text", kText}});
  EXPECT_EQ(room_.ask("DELETE", "/api/trace/" + id_of(trace)).status, 204);
  EXPECT_EQ(room_.get("/api/trace/" + id_of(trace) + "/heads").status, 404);
  EXPECT_EQ(room_.ask("DELETE", "/api/trace/" + id_of(trace)).status, 404);
}

TEST_F(StudioTrace, is_not_made_for_a_client_that_is_gone) {
  const auto reply = std::make_shared<MemoryReply>();
  reply->go();
  room_.begin("POST", "/api/trace", R"({"text":"When you play the game of thrones"})", reply);
  // Whoever comes next is served.
  made({{"text", kText}});
  EXPECT_TRUE(reply->written().empty());
}

struct BadTarget {
  std::string target;  // after /api/trace/ID
  std::string param;
};

TEST_F(StudioTrace, refuses_questions_that_have_no_meaning) {
  const std::string id = id_of(made({{"text", kText}}));
  const BadTarget kTargets[] = {
      {"/tensors", "names"},
      {"/tensors?names=", "names"},
      {"/tensors?names=encoder.sums", "names"},
      {"/tensors?names=encoder.sum,", "names"},
      {"/tensors?names=encoder.sum,encoder.sum", "names"},
      {"/tensors?names=encoder.sum&rows=3", "rows"},
      {"/tensors?names=encoder.sum&rows=a:b", "rows"},
      {"/tensors?names=encoder.sum&rows=0:99", "names"},
      {"/tensors?names=encoder.sum&cols=-1:2", "cols"},
      {"/tensors?names=encoder.sum&pool=0x4", "pool"},
      {"/tensors?names=encoder.sum&pool=4", "pool"},
      {"/tensors?names=encoder.sum&pool=4x513", "pool"},
      {"/tensors?names=encoder.sum&pools=4x4", "pools"},
      {"/tensors?names=encoder.sum&run=1", "run"},
      {"/tensors?names=encoder.sum&run=-1", "run"},
      {"/tensors?names=encoder.sum&run=x", "run"},
      {"/tensors?names=gradient.nothing", "names"},
      {"/cell", "name"},
      {"/cell?name=encoder.sum", "i"},
      {"/cell?cell=encoder.sum[0]", "cell"},
      {"/cell?cell=encoder.sum[0,99]", "cell"},
      {"/cell?cell=encoder.sum", "cell"},
      {"/cell?cell=encoder.sum[0,0]&i=1", "cell"},
      {"/cell?name=encoder.sum&i=0&j=1e9", "j"},
      {"/cell?cell=encoder.sum[0,0]&limit=0", "limit"},
      {"/cell?cell=encoder.sum[0,0]&limit=5000", "limit"},
      {"/edges", "name"},
      {"/edges?name=encoder.0.self.weights", "name"},
      {"/edges?name=encoder.0.self.head.0.scores", "name"},
      {"/edges?name=encoder.0.self.head.9.weights", "name"},
      {"/edges?name=encoder.0.self.head.0.weights&mass=1.5", "mass"},
      {"/edges?name=encoder.0.self.head.0.weights&mass=nan", "mass"},
      {"/edges?name=encoder.0.self.head.0.weights&limit=0", "limit"},
      {"/edges?name=encoder.0.self.head.0.weights&rows=7", "rows"},
      {"/edges?name=encoder.0.self.head.0.weights&rows=a", "rows"},
      {"/edges?name=encoder.0.self.head.0.weights&skip_first=2", "skip_first"},
      {"/heads?size=3", "size"},
      {"/heads?size=65", "size"},
      {"/heads?pool=sum", "pool"},
      {"/heads?importance=yes", "importance"},
      {"/heads?zoom=1", "zoom"},
      {"/pushes", "head"},
      {"/pushes?head=decoder", "head"},
      {"/pushes?head=decoder.0.self.7", "head"},
      {"/pushes?head=decoder.0.self.0,decoder.0.self.1", "head"},
      {"/pushes?head=encoder.0.self.0", "head"},
      {"/pushes?head=decoder.0.self.0&at=99", "at"},
      {"/pushes?head=decoder.0.self.0&at=-1", "at"},
      {"/pushes?head=decoder.0.self.0&best=0", "best"},
      {"/pushes?head=decoder.0.self.0&best=101", "best"},
      {"/pushes?head=decoder.0.self.0&words=3", "words"},
      {"?run=0", "run"},
  };
  for (const BadTarget& one : kTargets) {
    const Answer answer = room_.get("/api/trace/" + id + one.target);
    EXPECT_EQ(answer.status, 400) << one.target << " " << answer.body.substr(0, 200);
    EXPECT_EQ(answer.param(), one.param) << one.target << " " << answer.body;
  }
}

// As `headlight heads attribute --json` gives the head's part of each word, whichever layers the
// trace shows.
TEST_F(StudioTrace, pushes_are_the_parts_of_attribute) {
  const std::string prompt = "Anna has three apples. She gives";
  const auto stories = room_.models().open("stories");
  int compared = 0;
  for (const bool whole : {true, false}) {
    Json::Object body = {{"model", "stories"}, {"text", prompt}, {"continue", 0}};
    if (!whole) body.emplace_back("layers", Json::Array{1});
    const std::string base = "/api/trace/" + id_of(made(std::move(body))) + "/pushes?head=";
    for (const char* head : {"decoder.0.self.1", "decoder.1.self.0"}) {
      const Answer answer = room_.get(base + head + "&best=4");
      ASSERT_EQ(answer.status, 200) << answer.body;
      const Json document = answer.json();
      for (const char* side : {"up", "down"}) {
        ASSERT_EQ(document.find(side)->array()->size(), 4u);
        for (const Json& word : *document.find(side)->array()) {
          const int64_t id = *word.find("id")->integer();
          const recipes::AttributeAnswer asked =
              recipes::attribute(room_.threads(), stories->model(), &*stories->tokenizer,
                                 {.text = {.prompt = prompt},
                                  .word = stories->tokenizer->decode(std::vector<int64_t>{id})});
          if (asked.word.id != id) continue;  // a text of several tokens
          ++compared;
          EXPECT_EQ(asked.prompt.position, *document.find("at")->integer());
          const auto part =
              std::ranges::find(asked.attribution.parts, head, &heads::AttributedPart::part);
          ASSERT_NE(part, asked.attribution.parts.end());
          EXPECT_NEAR(*word.find("value")->number(), part->value, 1e-5);
        }
      }
    }
  }
  EXPECT_GT(compared, 16);
}

struct BadBody {
  std::string body;
  std::string param;
};

TEST_F(StudioTrace, refuses_each_field_of_the_wrong_type_and_range) {
  const std::string text = R"("text":"When you play the game of thrones")";
  const BadBody kBodies[] = {
      {"", "body"},
      {"[1]", "body"},
      {"\"a\"", "body"},
      {"{", "body"},
      {"{" + text + "," + text + "}", "body"},
      {"{}", "text"},
      {R"({"text":""})", "text"},
      {R"({"text":7})", "text"},
      {R"({"text":["a"]})", "text"},
      {R"({"ids":[]})", "ids"},
      {R"({"ids":[1.5]})", "ids[0]"},
      {R"({"ids":[1,-1]})", "ids[1]"},
      {R"({"ids":["1"]})", "ids[0]"},
      {R"({"ids":"1"})", "ids"},
      {"{" + text + R"(,"ids":[1]})", "text"},
      {"{" + text + R"(,"target_ids":[1]})", "target_ids"},
      {"{" + text + R"(,"target":""})", "target"},
      {"{" + text + R"(,"target":"you win","continue":3})", "continue"},
      {"{" + text + R"(,"continue":-1})", "continue"},
      {"{" + text + R"(,"continue":1025})", "continue"},
      {"{" + text + R"(,"layers":[9]})", "layers"},
      {"{" + text + R"(,"layers":[-1]})", "layers[0]"},
      {"{" + text + R"(,"variants":["scale.nothing"]})", "variants[0]"},
      {"{" + text + R"(,"scale":"big"})", "scale"},
      {"{" + text + R"(,"scale":1})", "scale"},
      {"{" + text + R"(,"norm":"mid"})", "norm"},
      {"{" + text + R"(,"heads":0})", "heads"},
      {"{" + text + R"(,"heads":1025})", "heads"},
      {"{" + text + R"(,"heads":"2"})", "heads"},
      {"{" + text + R"(,"heads":1e400})", "body"},
      {"{" + text + R"(,"head_width":true})", "head_width"},
      {"{" + text + R"(,"width":7})", "width"},
      {"{" + text + R"(,"width":2.0})", "width"},
      {"{" + text + R"(,"layer_count":13})", "layer_count"},
      {"{" + text + R"(,"seed":-1})", "seed"},
      {"{" + text + R"(,"weights":"???"})", "weights"},
      {"{" + text + R"(,"weights":"AAAA"})", "weights"},
      {"{" + text + R"(,"train":1})", "train"},
      {"{" + text + R"(,"backward":"yes"})", "backward"},
      {"{" + text + R"(,"weight":"encoder"})", "weight"},
      {"{" + text + R"(,"weight":"a[0]","backward":false})", "weight"},
      {"{" + text + R"(,"special":0})", "special"},
      {"{" + text + R"(,"sentences":[]})", "sentences"},
      {"{" + text + R"(,"sentences":[{"source":"a"}]})", "sentences[0].target"},
      {"{" + text + R"(,"sentences":[{"source":"a","target":1}]})", "sentences[0].target"},
      {"{" + text + R"(,"sentences":[{"source":"a","target":"b","c":1}]})", "sentences[0].c"},
      {"{" + text + R"(,"sentences":["a"]})", "sentences[0]"},
      {"{" + text + R"(,"hats":2})", "hats"},
      {"{" + text + R"(,"model":"numbers","heads":2})", "heads"},
      {"{" + text + R"(,"model":5})", "model"},
  };
  for (const BadBody& one : kBodies) {
    const Answer answer = room_.ask("POST", "/api/trace", one.body);
    EXPECT_EQ(answer.status, 400) << one.body << " " << answer.body.substr(0, 200);
    EXPECT_EQ(answer.param(), one.param) << one.body << " " << answer.body.substr(0, 300);
  }
  const Answer unknown = room_.ask("POST", "/api/trace", R"({"text":"a","model":"nobody"})");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown.code(), "model_not_found");
}

}  // namespace
}  // namespace headlight::test
