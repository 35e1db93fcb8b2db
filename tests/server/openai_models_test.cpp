// /v1 with models of each kind: those that translate, those without a tokenizer, encoders; and what
// none of them can do.
#include "apps/server/openai/generation_reply.h"
#include "tests/server/openai_generation.h"

namespace headlight::server::openai {
namespace {

class OpenAiModels : public OpenAiGeneration {};

TEST_F(OpenAiModels, a_model_that_translates_is_given_the_prompt_or_the_last_message) {
  const text::Tokenizer& tokenizer = *model("numbers").tokenizer;
  // {"translate", "numbers", "--text", ...}
  const std::string source = recipes::embedded_example("numbers").at(3);
  const auto ids = tokenizer.encode(source);
  const auto expected =
      alone("numbers", infer::Prompt{.source = ids}, {.ending = {.max_beyond_source = 50}});
  const Json completion = answer("/v1/completions", body_of(greedy("numbers", source, 100)));
  EXPECT_EQ(text_at(completion, "choices.0.text"), expected.text);
  EXPECT_EQ(text_at(completion, "choices.0.finish_reason"), "stop");
  Json::Object body = chat_body("numbers", source);
  body.emplace_back("temperature", 0);
  body.emplace_back("logprobs", true);
  const Json chat = answer("/v1/chat/completions", body_of(body));
  EXPECT_EQ(text_at(chat, "choices.0.message.content"), expected.text);
  EXPECT_EQ(member(chat, "choices.0.logprobs.content").array()->size(), expected.ids.size());
  body[1].second.array()->insert(body[1].second.array()->begin(),
                                 Json::Object{{"role", "system"}, {"content", "Be kind."}});
  const Json refused = answer("/v1/chat/completions", body_of(body), 400);
  EXPECT_EQ(text_at(refused, "error.param"), "messages[0].role");
}

TEST_F(OpenAiModels, a_translation_is_at_most_fifty_tokens_longer_than_its_source) {
  models::Seq2SeqConfig config = models::small_seq2seq();
  config.max_position_embeddings = 120;
  config.special_ids.decoder_start = 2;
  models::Seq2Seq endless(config);
  models::fill(endless, 6);
  std::filesystem::create_directory(folder_ / "endless");
  models::save_model(files_, folder_ / "endless", endless);
  serve({folder_ / "endless"});
  const infer::Prompt prompt{.source = {3, 1, 4}};
  const auto expected = alone("endless", prompt, {.ending = {.max_beyond_source = 50}});
  ASSERT_EQ(expected.reason, infer::StopReason::limit);
  const Json got =
      answer("/v1/completions",
             R"({"model":"endless","prompt":[3,1,4],"max_tokens":200,"temperature":0})");
  EXPECT_EQ(member(got, "usage.completion_tokens").integer(), 53);
  EXPECT_EQ(text_at(got, "choices.0.finish_reason"), "length");
  std::string text;
  for (const int64_t id : expected.ids) text += (text.empty() ? "" : ",") + std::to_string(id);
  EXPECT_EQ(text_at(got, "choices.0.text"), text);
}

TEST_F(OpenAiModels, a_token_without_text_has_its_chunk_where_probabilities_are_wanted) {
  const std::string_view words = "a b";
  const text::Tokenizer tokenizer = text::word_tokenizer({&words, 1});
  for (const bool is_scored : {true, false}) {
    ChunkHead head;
    head.is_scored = is_scored;
    const auto reply = std::make_shared<KeptReply>();
    GenerationReply work({.head = head, .is_stream = true, .param = "prompt"},
                         {ChoiceText(TokenTexts(&tokenizer), {}, {.is_scored = is_scored})}, reply);
    infer::RequestEvent event;
    event.token = infer::ScoredToken{.id = *tokenizer.special().pad, .log_probability = -2};
    event.reason = infer::StopReason::limit;
    work.event(0, 0, event);
    work.finished();
    const std::vector<std::string> events = events_of(reply->wait().body);
    ASSERT_EQ(events.size(), is_scored ? 3u : 2u);
    if (!is_scored) continue;
    const Json chunk = io::parse_json(events.front(), "chunk");
    EXPECT_EQ(text_at(chunk, "choices.0.logprobs.tokens.0"), "<pad>");
    EXPECT_EQ(text_at(chunk, "choices.0.text"), "");
  }
}

TEST_F(OpenAiModels, what_a_model_cannot_do_is_refused_with_a_clear_line) {
  models::Bert bert(models::small_bert());
  models::fill(bert, 3);
  std::filesystem::create_directory(folder_ / "bert");
  models::save_model(files_, folder_ / "bert", bert);
  serve({folder_ / "bert", "stories", "numbers"});
  struct Case {
    std::string path;
    std::string body;
    int status;
    std::string param;
    std::string code;
    std::string has;
  };
  const std::vector<Case> cases = {
      {"/v1/completions", R"({"model":"bert","prompt":"a"})", 400, "model", "unsupported_model",
       "/v1/embeddings takes this one"},
      {"/v1/chat/completions", R"({"model":"bert","messages":[{"role":"user","content":"a"}]})",
       400, "model", "unsupported_model", "writes no text"},
      {"/v1/embeddings", R"({"model":"stories","input":"a"})", 400, "model", "unsupported_model",
       "bert"},
      {"/v1/completions", R"({"model":"gpt-9","prompt":"a"})", 404, "model", "model_not_found",
       "gpt-9"},
      {"/v1/embeddings", R"({"model":"bert","input":"1,2","dimensions":25})", 400, "dimensions",
       "unsupported_value", "24"},
      {"/v1/embeddings", R"({"model":"bert","input":[19]})", 400, "input", "invalid_value",
       "0 to 18"},
      {"/v1/embeddings", R"({"model":"bert","input":[[1],[1,2,3,4,5,6,7,8,9,10,11,12,13]]})", 400,
       "input[1]", "context_length_exceeded", "13 tokens"},
      {"/v1/embeddings", R"({"model":"bert","input":""})", 400, "input", "invalid_value", "empty"},
      {"/v1/embeddings", R"({"model":"bert","input":"one"})", 400, "input", "invalid_value",
       "no tokenizer"},
      {"/v1/completions", R"({"model":"stories","prompt":[468]})", 400, "prompt", "invalid_value",
       "0 to 467"},
      {"/v1/completions", R"({"model":"stories","prompt":[[1],[9999999999]]})", 400, "prompt[1]",
       "invalid_value", "9999999999"},
      {"/v1/completions", R"({"model":"stories","prompt":""})", 400, "prompt", "", "empty"},
      {"/v1/completions", R"({"model":"numbers","prompt":""})", 400, "prompt", "invalid_value",
       "nothing to translate"},
      {"/v1/completions", R"({"model":"numbers","prompt":"the cat"})", 400, "prompt",
       "invalid_value", ""},
      {"/v1/completions", R"({"model":"numbers","prompt":"12","echo":true})", 400, "echo", "",
       "translates"},
  };
  for (const Case& one : cases) {
    const Json got = answer(one.path, one.body, one.status);
    EXPECT_EQ(text_at(got, "error.param"), one.param) << io::json_text(got);
    if (!one.code.empty()) {
      EXPECT_EQ(text_at(got, "error.code"), one.code) << io::json_text(got);
    }
    EXPECT_EQ(text_at(got, "error.type"), "invalid_request_error") << io::json_text(got);
    EXPECT_NE(text_at(got, "error.message").find(one.has), std::string::npos) << io::json_text(got);
  }
  std::string many = "1";
  for (int i = 0; i < 96; ++i) many += ",1";
  const Json got = answer("/v1/completions", R"({"model":"stories","prompt":[)" + many + "]}", 400);
  EXPECT_EQ(text_at(got, "error.code"), "context_length_exceeded");
  EXPECT_NE(text_at(got, "error.message").find("97"), std::string::npos);
}

TEST_F(OpenAiModels, a_model_without_a_tokenizer_takes_and_gives_ids) {
  models::Gpt gpt(models::small_gpt());
  models::fill(gpt, 5);
  std::filesystem::create_directory(folder_ / "ids");
  models::save_model(files_, folder_ / "ids", gpt);
  serve({folder_ / "ids"});
  const auto expected =
      alone("ids", infer::Prompt{.ids = {3, 1, 4}}, {.ending = {.max_new_tokens = 5}});
  std::string text;
  for (const int64_t id : expected.ids) {
    text += (text.empty() ? "" : ",") + std::to_string(id);
  }
  for (const Json& prompt : {Json(Json::Array{3, 1, 4}), Json("3,1,4")}) {
    Json::Object body{{"model", "ids"}, {"prompt", prompt}, {"max_tokens", 5}, {"temperature", 0}};
    EXPECT_EQ(text_at(answer("/v1/completions", body_of(body)), "choices.0.text"), text);
    body.emplace_back("echo", true);
    EXPECT_EQ(text_at(answer("/v1/completions", body_of(body)), "choices.0.text"), "3,1,4," + text);
    body.emplace_back("stop", "1");
    EXPECT_EQ(text_at(answer("/v1/completions", body_of(body), 400), "error.param"), "stop");
  }
  EXPECT_EQ(
      text_at(answer("/v1/completions", R"({"model":"ids","prompt":"3,x"})", 400), "error.param"),
      "prompt");
}

TEST_F(OpenAiModels, embeddings_equal_those_of_the_engine) {
  models::Bert bert(models::small_bert());
  models::fill(bert, 4);
  std::filesystem::create_directory(folder_ / "bert");
  models::save_model(files_, folder_ / "bert", bert);
  serve({folder_ / "bert"});
  const std::vector<std::vector<int64_t>> sentences = {{1, 2, 3}, {4}, {5, 6, 7, 8, 9, 10, 11}};
  const auto expected = infer::sentence_vectors(context_, model("bert").model(), sentences);
  const Json got =
      answer("/v1/embeddings",
             R"({"model":"bert","input":[[1,2,3],[4],[5,6,7,8,9,10,11]],"dimensions":24})");
  EXPECT_EQ(member(got, "usage.total_tokens").integer(), 11);
  for (size_t i = 0; i < sentences.size(); ++i) {
    const std::string at = "data." + std::to_string(i);
    EXPECT_EQ(member(got, at + ".index").integer(), static_cast<int64_t>(i));
    const Json::Array& numbers = *member(got, at + ".embedding").array();
    ASSERT_EQ(numbers.size(), expected[i].size());
    for (size_t j = 0; j < numbers.size(); ++j) {
      EXPECT_EQ(static_cast<float>(*numbers[j].number()), expected[i][j]);
    }
  }
  const Json coded =
      answer("/v1/embeddings", R"({"model":"bert","input":[1,2,3],"encoding_format":"base64"})");
  EXPECT_EQ(text_at(coded, "data.0.embedding").size(), 128u);
  const Json text = answer("/v1/embeddings", R"({"model":"bert","input":"1,2,3"})");
  EXPECT_EQ(member(text, "data.0"), member(got, "data.0"));
}

TEST_F(OpenAiModels, models_are_listed_and_found) {
  serve({"stories", "numbers"});
  const Response list = ask("GET", "/v1/models")->wait();
  const Json models = io::parse_json(list.body, "models");
  EXPECT_EQ(text_at(models, "object"), "list");
  EXPECT_EQ(text_at(models, "data.0.id"), "stories");
  EXPECT_EQ(text_at(models, "data.0.chat_template"), "plain");
  EXPECT_EQ(text_at(models, "data.1.id"), "numbers");
  const Json one = io::parse_json(ask("GET", "/v1/models/numbers")->wait().body, "model");
  EXPECT_EQ(one, member(models, "data.1"));
  EXPECT_EQ(ask("GET", "/v1/models/none")->wait().status, 404);
}

}  // namespace
}  // namespace headlight::server::openai
