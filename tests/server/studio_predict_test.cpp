// /api/predict: what generate writes, what could have been written, and why.
#include <cmath>

#include "tests/server/studio_room.h"

namespace headlight::test {
namespace {

using io::Json;

constexpr const char* kPrompt = "Anna has three apples. She gives";

class StudioPredict : public testing::Test {
 protected:
  Json predicted(Json::Object body) {
    const Answer answer = room_.post("/api/predict", std::move(body));
    EXPECT_EQ(answer.status, 200) << answer.body.substr(0, 400);
    return answer.json();
  }
  // What `headlight generate` would write.
  infer::Continuation written(const std::string& prompt, const infer::GenerateOptions& options,
                              autograd::Intervention* change = nullptr) {
    const auto served = room_.models().open("stories");
    tensor::Arena arena;
    autograd::Context context{.threads = room_.threads(), .arena = arena, .intervention = change};
    return infer::generate(context, served->model(), {{served->tokenizer->encode(prompt)}}, options)
        .front();
  }
  infer::GenerateOptions options(int64_t count, infer::SamplingOptions sampling = {}) {
    return {.sampling = sampling,
            .ending = {.max_new_tokens = count,
                       .tokenizer = &*room_.models().open("stories")->tokenizer}};
  }

  StudioRoom room_;
};

TEST_F(StudioPredict, writes_what_generate_writes) {
  for (const infer::SamplingOptions& sampling :
       {infer::SamplingOptions{},
        infer::SamplingOptions{.temperature = 0.8F, .top_k = 20, .top_p = 0.9F, .seed = 7},
        infer::SamplingOptions{.repetition_penalty = 1.5F, .temperature = 1, .min_p = 0.05F}}) {
    const infer::Continuation expected = written(kPrompt, options(12, sampling));
    const Json found =
        predicted({{"model", "stories"},
                   {"prompt", kPrompt},
                   {"max_new_tokens", 12},
                   {"temperature", static_cast<double>(sampling.temperature)},
                   {"top_k", sampling.top_k},
                   {"top_p", static_cast<double>(sampling.top_p)},
                   {"min_p", static_cast<double>(sampling.min_p)},
                   {"repetition_penalty", static_cast<double>(sampling.repetition_penalty)},
                   {"seed", sampling.seed},
                   {"stages", true}});
    EXPECT_EQ(*found.find("text")->text(), expected.text);
    EXPECT_EQ(*found.find("stopped")->text(), infer::stop_reason_name(expected.reason));
    EXPECT_DOUBLE_EQ(*found.find("log_probability")->number(), expected.log_probability());
    const Json::Array& tokens = *found.find("tokens")->array();
    ASSERT_EQ(tokens.size(), expected.log_probabilities.size());
    std::string text;
    for (size_t i = 0; i < tokens.size(); ++i) {
      text += *tokens[i].find("text")->text();
      EXPECT_EQ(*tokens[i].find("log_probability")->number(),
                static_cast<double>(expected.log_probabilities[i]));
    }
    EXPECT_EQ(text, expected.text);
  }
}

TEST_F(StudioPredict, tells_how_a_word_is_chosen) {
  const Json found = predicted({{"model", "stories"},
                                {"prompt", kPrompt},
                                {"temperature", 0.5},
                                {"top_k", 3},
                                {"best", 6},
                                {"stages", true}});
  const Json& token = found.find("tokens")->array()->front();
  EXPECT_EQ(token.find("kept")->find("top_k")->integer(), 3);
  const Json::Array& stages = *token.find("stages")->array();
  const Json::Array& best = *token.find("best")->array();
  ASSERT_EQ(best.size(), 6u);
  double drawn = 0;
  for (size_t i = 0; i < stages.size(); ++i) {
    const Json& one = stages[i];
    EXPECT_NEAR(*one.find("tempered")->number(), *one.find("logit")->number() / 0.5, 1e-4);
    if (i < best.size()) {
      EXPECT_EQ(one.find("id")->integer(), best[i].find("id")->integer());
      EXPECT_EQ(one.find("top_k")->boolean(), i < 3);
    }
    drawn += *one.find("drawn_with")->number();
  }
  EXPECT_NEAR(drawn, 1, 1e-9);
  double before = 1;
  for (const Json& one : best) {
    EXPECT_LE(*one.find("probability")->number(), before);
    before = *one.find("probability")->number();
  }
}

TEST_F(StudioPredict, goes_on_from_a_chosen_alternative) {
  const Json first = predicted({{"model", "stories"}, {"prompt", kPrompt}});
  const Json& second_best = (*first.find("tokens")->array()->front().find("best")->array())[1];
  const Json on = predicted({{"model", "stories"},
                             {"prompt", kPrompt},
                             {"append_ids", Json::Array{*second_best.find("id")}},
                             {"max_new_tokens", 4}});
  const Json::Array& read = *on.find("prompt_ids")->array();
  EXPECT_EQ(read.back().integer(), second_best.find("id")->integer());
  EXPECT_EQ(read.size(), first.find("prompt_ids")->array()->size() + 1);
}

TEST_F(StudioPredict, switches_heads_off_and_shows_the_old_words_beside) {
  const auto served = room_.models().open("stories");
  const std::vector<heads::HeadName> heads = heads::parse_head_names("decoder.0.self.0", "test");
  heads::HeadsOff off(heads, served->model());
  const infer::Continuation expected = written(kPrompt, options(3), &off);
  const Json found = predicted({{"model", "stories"},
                                {"prompt", kPrompt},
                                {"max_new_tokens", 3},
                                {"heads_off", Json::Array{"decoder.0.self.0"}}});
  EXPECT_EQ(*found.find("text")->text(), expected.text);
  const Json whole = predicted({{"model", "stories"}, {"prompt", kPrompt}});
  const Json::Array& ghosts =
      *found.find("tokens")->array()->front().find("with_all_heads")->array();
  const Json::Array& best = *found.find("tokens")->array()->front().find("best")->array();
  for (size_t i = 0; i < best.size(); ++i) {
    EXPECT_EQ(ghosts[i].find("id")->integer(), best[i].find("id")->integer());
  }
  for (const Json& one : *whole.find("tokens")->array()->front().find("best")->array()) {
    const auto ghost = std::ranges::find_if(ghosts, [&](const Json& other) {
      return other.find("id")->integer() == one.find("id")->integer();
    });
    ASSERT_NE(ghost, ghosts.end());
    EXPECT_EQ(ghost->find("probability")->number(), one.find("probability")->number());
  }
  // Nobody else is disturbed.
  EXPECT_EQ(io::json_text(predicted({{"model", "stories"}, {"prompt", kPrompt}})),
            io::json_text(whole));
}

TEST_F(StudioPredict, shows_where_a_new_word_looks) {
  const Json found =
      predicted({{"model", "stories"},
                 {"prompt", kPrompt},
                 {"max_new_tokens", 2},
                 {"attention", Json::Array{"decoder.1.self.1", "decoder.0.self.0"}}});
  const auto count = std::ssize(*found.find("prompt_ids")->array());
  int64_t keys = count;
  for (const Json& token : *found.find("tokens")->array()) {
    const Json::Array& rows = *token.find("attention")->array();
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(*rows[0].find("head")->text(), "decoder.0.self.0");
    EXPECT_EQ(rows[0].find("keys")->integer(), keys);
    ++keys;
  }
  // As the trace of the same text has it.
  const Json trace =
      room_
          .post("/api/trace",
                Json::Object{{"model", "stories"}, {"text", kPrompt}, {"continue", 0}})
          .json();
  const Answer row =
      room_.get("/api/trace/" + *trace.find("id")->text() +
                "/tensors?names=decoder.1.self.head.1.weights&rows=" + std::to_string(count - 1) +
                ":" + std::to_string(count));
  const io::Safetensors file(
      std::make_shared<base::MemoryInput>("row", std::as_bytes(std::span(row.body))));
  const tensor::Tensor weights = file.load("decoder.1.self.head.1.weights").contiguous();
  EXPECT_EQ(*(*found.find("tokens")->array()->front().find("attention")->array())[1]
                 .find("weights")
                 ->text(),
            *narrate::letters_json(weights).text());
}

TEST_F(StudioPredict, asks_each_layer) {
  const Json found = predicted({{"model", "stories"}, {"prompt", kPrompt}, {"lens", true}});
  const Json& token = found.find("tokens")->array()->front();
  const Json::Array& layers = *token.find("lens")->find("layers")->array();
  ASSERT_GT(layers.size(), 2u);
  EXPECT_EQ(layers.back().find("word")->find("id")->integer(), token.find("id")->integer());
  EXPECT_EQ(layers.back().find("word")->find("rank")->integer(), 1);
}

TEST_F(StudioPredict, translates_with_a_served_model_and_with_that_of_a_trace) {
  const Json found = predicted({{"model", "numbers"}, {"source", "on iki"}, {"max_new_tokens", 5}});
  EXPECT_EQ(*found.find("text")->text(), "12");
  EXPECT_EQ(*found.find("stopped")->text(), "end");
  EXPECT_EQ(found.find("tokens")->array()->back().find("is_stop")->boolean(), true);
  const Json trace =
      room_
          .post("/api/trace",
                Json::Object{{"text", "When you play the game of thrones"}, {"train", true}})
          .json();
  const std::string id = *trace.find("id")->text();
  const auto says = [&](int64_t run) {
    return *predicted({{"trace", id},
                       {"run", run},
                       {"source", "When you play the game of thrones"},
                       {"max_new_tokens", 12}})
                .find("text")
                ->text();
  };
  EXPECT_EQ(says(1), "you win or you die");
  EXPECT_NE(says(0), "you win or you die");
}

TEST_F(StudioPredict, streams_word_by_word) {
  const Json whole = predicted({{"model", "stories"}, {"prompt", kPrompt}, {"max_new_tokens", 6}});
  const Answer answer = room_.post(
      "/api/predict",
      Json::Object{
          {"model", "stories"}, {"prompt", kPrompt}, {"max_new_tokens", 6}, {"stream", true}});
  EXPECT_EQ(answer.type, "text/event-stream");
  const std::vector<Event> events = events_in(answer.body);
  ASSERT_EQ(events.size(), 2 + whole.find("tokens")->array()->size());
  EXPECT_EQ(events.front().name, "start");
  EXPECT_EQ(io::json_text(*events.front().data.find("prompt_ids")),
            io::json_text(*whole.find("prompt_ids")));
  for (size_t i = 0; i + 2 < events.size(); ++i) {
    EXPECT_EQ(events[i + 1].name, "token");
    EXPECT_EQ(io::json_text(events[i + 1].data),
              io::json_text((*whole.find("tokens")->array())[i]));
  }
  EXPECT_EQ(events.back().name, "done");
  EXPECT_EQ(*events.back().data.find("text")->text(), *whole.find("text")->text());
}

TEST_F(StudioPredict, stops_within_one_word_when_the_client_goes) {
  const auto reply = std::make_shared<MemoryReply>(3);  // start and two words
  const Answer answer =
      room_
          .begin("POST", "/api/predict",
                 R"({"model":"stories","prompt":"Anna has","max_new_tokens":60,"stream":true})",
                 reply)
          ->wait();
  EXPECT_EQ(events_in(answer.body).size(), 3u);
  predicted({{"model", "stories"}, {"prompt", kPrompt}});
  EXPECT_EQ(events_in(reply->written()).size(), 3u);
}

struct BadPrediction {
  std::string fields;  // beside the model
  std::string param;
};

TEST_F(StudioPredict, refuses_each_field_of_the_wrong_type_and_range) {
  const std::string good = R"("model":"stories","prompt":"Anna has")";
  const BadPrediction kBodies[] = {
      {R"("prompt":"a")", "model"},
      {R"("model":"stories","trace":"a","prompt":"a")", "model"},
      {R"("model":"stories","run":0,"prompt":"a")", "model"},
      {R"("model":"stories")", "prompt"},
      {R"("model":"stories","prompt":5)", "prompt"},
      {R"("model":"stories","prompt":"a","ids":[1])", "prompt"},
      {R"("model":"stories","ids":[-1])", "ids[0]"},
      {R"("model":"stories","ids":{})", "ids"},
      {R"("model":"numbers","prompt":"1")", "source"},
      {good + R"(,"source":"a")", "source"},
      {good + R"(,"append_ids":["a"])", "append_ids[0]"},
      {good + R"(,"at":-1)", "at"},
      {good + R"(,"max_new_tokens":0)", "max_new_tokens"},
      {good + R"(,"max_new_tokens":4097)", "max_new_tokens"},
      {good + R"(,"temperature":-0.1)", "temperature"},
      {good + R"(,"temperature":101)", "temperature"},
      {good + R"(,"temperature":"hot")", "temperature"},
      {good + R"(,"top_k":-1)", "top_k"},
      {good + R"(,"top_k":2.5)", "top_k"},
      {good + R"(,"top_p":1.1)", "top_p"},
      {good + R"(,"min_p":-1)", "min_p"},
      {good + R"(,"repetition_penalty":0)", "repetition_penalty"},
      {good + R"(,"seed":-1)", "seed"},
      {good + R"(,"best":0)", "best"},
      {good + R"(,"best":101)", "best"},
      {good + R"(,"stages":1)", "stages"},
      {good + R"(,"lens":"yes")", "lens"},
      {good + R"(,"heads_off":"decoder.0.self.0")", "heads_off"},
      {good + R"(,"heads_off":["decoder"])", "heads_off[0]"},
      {good + R"(,"heads_off":["decoder.0.self.99"])", "heads_off"},
      {good + R"(,"attention":"some")", "attention"},
      {good + R"(,"attention":["decoder.9.self.0"])", "attention"},
      {good + R"(,"attention":5)", "attention"},
      {good + R"(,"stream":"x")", "stream"},
      {good + R"(,"logprobs":1)", "logprobs"},
  };
  for (const BadPrediction& one : kBodies) {
    const Answer answer = room_.ask("POST", "/api/predict", "{" + one.fields + "}");
    EXPECT_EQ(answer.status, 400) << one.fields << " " << answer.body.substr(0, 200);
    EXPECT_EQ(answer.param(), one.param) << one.fields << " " << answer.body.substr(0, 300);
  }
}

}  // namespace
}  // namespace headlight::test
