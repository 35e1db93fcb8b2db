// /v1/completions, /v1/chat/completions and /v1/embeddings without sockets: the same as the engine
// alone, to the bit.
#include "tests/server/openai_generation.h"

#include <set>

namespace headlight::server::openai {
namespace {

// What the chunks of one choice say together, in the form of a whole choice.
struct Joined {
  std::string text;
  Json::Array tokens;                                // of chat: "content"
  Json::Array names, scores, offsets, alternatives;  // of completions
  std::string finish;
};

Joined joined_choice(const std::vector<Json>& chunks, int64_t index) {
  Joined all;
  const auto append = [](Json::Array& to, const Json& from) {
    to.insert(to.end(), from.array()->begin(), from.array()->end());
  };
  for (const Json& chunk : chunks) {
    for (const Json& choice : *member(chunk, "choices").array()) {
      if (member(choice, "index").integer() != index) continue;
      EXPECT_TRUE(all.finish.empty()) << "nothing comes after the end";
      const Json* delta = choice.find("delta");
      const Json* text = delta == nullptr ? choice.find("text") : delta->find("content");
      if (text != nullptr) all.text += *text->text();
      const Json& scores = member(choice, "logprobs");
      if (const Json* content = scores.find("content")) append(all.tokens, *content);
      if (const Json* names = scores.find("tokens")) {
        append(all.names, *names);
        append(all.scores, member(scores, "token_logprobs"));
        append(all.offsets, member(scores, "text_offset"));
        append(all.alternatives, member(scores, "top_logprobs"));
      }
      if (!member(choice, "finish_reason").is_null()) all.finish = text_at(choice, "finish_reason");
    }
  }
  return all;
}

TEST_F(OpenAiGeneration, greedy_completions_equal_generate) {
  for (const char* id : {"stories", "repeats"}) {
    for (const int64_t tokens : {1, 7, 40}) {
      const std::string prompt = std::string(id) == "stories" ? "Once upon a time" : "mu ye mu";
      const auto expected = alone(id, prompt, {.ending = {.max_new_tokens = tokens}});
      const Json got = answer("/v1/completions", body_of(greedy(id, prompt, tokens)));
      EXPECT_EQ(text_at(got, "choices.0.text"), expected.text);
      EXPECT_EQ(member(got, "usage.completion_tokens").integer(),
                static_cast<int64_t>(expected.ids.size()));
      EXPECT_EQ(member(got, "usage.prompt_tokens").integer(),
                static_cast<int64_t>(model(id).tokenizer->encode(prompt).size()));
      EXPECT_EQ(text_at(got, "choices.0.finish_reason"),
                expected.reason == infer::StopReason::end ? "stop" : "length");
      EXPECT_EQ(text_at(got, "object"), "text_completion");
      EXPECT_EQ(text_at(got, "model"), id);
    }
  }
}

TEST_F(OpenAiGeneration, a_single_message_is_continued_like_a_prompt) {
  Json::Object body = chat_body("stories", "Tom had a");
  body.emplace_back("temperature", 0);
  body.emplace_back("max_completion_tokens", 12);
  const auto expected = alone("stories", "Tom had a", {.ending = {.max_new_tokens = 12}});
  const Json got = answer("/v1/chat/completions", body_of(body));
  EXPECT_EQ(text_at(got, "choices.0.message.content"), expected.text);
  EXPECT_EQ(text_at(got, "choices.0.message.role"), "assistant");
}

TEST_F(OpenAiGeneration, messages_are_joined_by_the_plain_template) {
  const Json got = answer(
      "/v1/chat/completions",
      R"({"model":"stories","temperature":0,"max_tokens":5,"messages":[{"role":"system","content":"One."},)"
      R"({"role":"user","content":"Two"}]})");
  EXPECT_EQ(text_at(got, "choices.0.message.content"),
            alone("stories", "One.\nTwo", {.ending = {.max_new_tokens = 5}}).text);
}

TEST_F(OpenAiGeneration, without_a_limit_a_chat_goes_on_to_the_contexts_end) {
  Json::Object body = chat_body("repeats", "mu ye mu ye mu");
  body.emplace_back("temperature", 0);
  const auto expected = alone("repeats", "mu ye mu ye mu", {});
  const Json got = answer("/v1/chat/completions", body_of(body));
  EXPECT_EQ(text_at(got, "choices.0.message.content"), expected.text);
  EXPECT_EQ(text_at(got, "choices.0.finish_reason"),
            expected.reason == infer::StopReason::end ? "stop" : "length");
}

TEST_F(OpenAiGeneration, samples_equal_generate_with_the_same_seed_and_number) {
  const std::string prompt = "Lily went to";
  Json::Object body{{"model", "stories"},
                    {"prompt", Json::Array{prompt, "The dog"}},
                    {"max_tokens", 9},
                    {"temperature", 1.3},
                    {"top_p", 0.9},
                    {"seed", 42},
                    {"n", 3}};
  const Json got = answer("/v1/completions", body_of(body));
  ASSERT_EQ(member(got, "choices").array()->size(), 6u);
  std::set<std::string> texts;
  for (uint64_t i = 0; i < 6; ++i) {
    const auto expected = alone("stories", i < 3 ? prompt : "The dog",
                                {.sampling = {.temperature = 1.3f, .top_p = 0.9f, .seed = 42},
                                 .ending = {.max_new_tokens = 9},
                                 .first_sequence = i});
    const std::string path = "choices." + std::to_string(i);
    EXPECT_EQ(text_at(got, path + ".text"), expected.text) << i;
    EXPECT_EQ(member(got, path + ".index").integer(), static_cast<int64_t>(i));
    texts.insert(text_at(got, path + ".text"));
  }
  EXPECT_GT(texts.size(), 3u) << "choices differ";
  EXPECT_EQ(answer("/v1/completions", body_of(body)).find("choices")->array()->size(), 6u);
  EXPECT_EQ(*answer("/v1/completions", body_of(body)).find("choices"), *got.find("choices"));
}

TEST_F(OpenAiGeneration, without_a_seed_answers_differ_and_many_choices_are_all_written) {
  const std::string body = body_of(
      {{"model", "stories"}, {"prompt", "The"}, {"max_tokens", 12}, {"n", 40}, {"temperature", 2}});
  const Json got = answer("/v1/completions", body);
  ASSERT_EQ(member(got, "choices").array()->size(), 40u);
  EXPECT_EQ(member(got, "usage.prompt_tokens").integer(),
            static_cast<int64_t>(model("stories").tokenizer->encode("The").size()));
  EXPECT_NE(*got.find("choices"), *answer("/v1/completions", body).find("choices"));
}

TEST_F(OpenAiGeneration, prompts_may_be_ids) {
  const std::vector<int64_t> ids = model("stories").tokenizer->encode("Once upon");
  const Json text = answer("/v1/completions", body_of(greedy("stories", "Once upon", 6)));
  Json::Object body = greedy("stories", "", 6);
  body[1].second = Json::Array(ids.begin(), ids.end());
  EXPECT_EQ(*answer("/v1/completions", body_of(body)).find("choices"), *text.find("choices"));
  body[1].second = Json::Array{Json::Array(ids.begin(), ids.end()), Json::Array{ids[0]}};
  const Json both = answer("/v1/completions", body_of(body));
  EXPECT_EQ(member(both, "choices.0"), member(text, "choices.0"));
  EXPECT_EQ(member(both, "choices").array()->size(), 2u);
}

TEST_F(OpenAiGeneration, it_ends_before_a_stop_text) {
  const std::string whole =
      alone("stories", "Once upon a time", {.ending = {.max_new_tokens = 60}}).text;
  const size_t dot = whole.find('.');
  ASSERT_NE(dot, std::string::npos) << whole;
  Json::Object body = greedy("stories", "Once upon a time", 60);
  body.emplace_back("stop", Json::Array{"@@@", "."});
  body.emplace_back("logprobs", 0);
  const Json got = answer("/v1/completions", body_of(body));
  EXPECT_EQ(text_at(got, "choices.0.text"), whole.substr(0, dot));
  EXPECT_EQ(text_at(got, "choices.0.finish_reason"), "stop");
  std::string tokens;
  for (const Json& token : *member(got, "choices.0.logprobs.tokens").array()) {
    tokens += *token.text();
  }
  EXPECT_EQ(tokens.substr(0, dot), whole.substr(0, dot)) << "tokens cover the text";
  body[4].second = ".";
  const Json one = answer("/v1/completions", body_of(body));
  EXPECT_EQ(*one.find("choices"), *got.find("choices"));
}

TEST_F(OpenAiGeneration, chunks_joined_are_the_whole_answer) {
  for (const bool is_chat : {false, true}) {
    Json::Object body =
        is_chat
            ? chat_body("stories", "Once upon a time")
            : Json::Object{{"model", "stories"}, {"prompt", "Once upon a time"}, {"echo", true}};
    for (const auto& [name, value] : Json::Object{{"max_tokens", 30},
                                                  {"temperature", 1.8},
                                                  {"seed", 3},
                                                  {"n", 5},
                                                  {"stop", Json::Array{" the ", "x"}}}) {
      body.emplace_back(name, value);
    }
    if (is_chat) {
      body.emplace_back("logprobs", true);
      body.emplace_back("top_logprobs", 3);
    } else {
      body.emplace_back("logprobs", 3);
    }
    const std::string path = is_chat ? "/v1/chat/completions" : "/v1/completions";
    const Json whole = answer(path, body_of(body));
    body.emplace_back("stream", true);
    body.emplace_back("stream_options", Json::Object{{"include_usage", true}});
    const std::vector<Json> streamed = chunks(path, body_of(body));
    ASSERT_GT(streamed.size(), 12u);
    EXPECT_EQ(member(streamed.back(), "usage"), member(whole, "usage"));
    EXPECT_TRUE(member(streamed.back(), "choices").array()->empty());
    EXPECT_TRUE(member(streamed.front(), "usage").is_null());
    for (int64_t i = 0; i < 5; ++i) {
      const std::string at = "choices." + std::to_string(i);
      const Joined joined = joined_choice(streamed, i);
      EXPECT_EQ(joined.text, text_at(whole, at + (is_chat ? ".message.content" : ".text")));
      EXPECT_EQ(joined.finish, text_at(whole, at + ".finish_reason"));
      const Json& scores = member(whole, at + ".logprobs");
      if (is_chat) {
        EXPECT_EQ(Json(joined.tokens), member(scores, "content"));
      } else {
        EXPECT_EQ(Json(joined.names), member(scores, "tokens"));
        EXPECT_EQ(Json(joined.scores), member(scores, "token_logprobs"));
        EXPECT_EQ(Json(joined.offsets), member(scores, "text_offset"));
        EXPECT_EQ(Json(joined.alternatives), member(scores, "top_logprobs"));
      }
    }
    for (const Json& chunk : streamed) {
      EXPECT_EQ(text_at(chunk, "id"), text_at(streamed.front(), "id"));
      EXPECT_EQ(member(chunk, "created"), member(streamed.front(), "created"));
    }
  }
}

TEST_F(OpenAiGeneration, a_stream_of_a_chat_says_first_who_speaks) {
  Json::Object body = chat_body("stories", "Hi");
  body.emplace_back("max_tokens", 3);
  body.emplace_back("stream", true);
  const std::vector<Json> streamed = chunks("/v1/chat/completions", body_of(body));
  EXPECT_EQ(text_at(streamed.front(), "choices.0.delta.role"), "assistant");
  EXPECT_EQ(streamed.front().find("usage"), nullptr);
  for (size_t i = 1; i < streamed.size(); ++i) {
    EXPECT_EQ(member(streamed[i], "choices.0.delta").find("role"), nullptr);
  }
  EXPECT_TRUE(member(streamed.back(), "choices.0.delta").object()->empty());
}

TEST_F(OpenAiGeneration, log_probabilities_equal_those_of_a_forward_pass) {
  const std::string prompt = "Once upon a time";
  const text::Tokenizer& tokenizer = *model("stories").tokenizer;
  std::vector<int64_t> ids = tokenizer.encode(prompt);
  const auto expected = alone("stories", prompt, {.ending = {.max_new_tokens = 10}});
  const size_t prompt_size = ids.size();
  ids.insert(ids.end(), expected.ids.begin(), expected.ids.end());
  const tensor::Tensor rows = rows_of("stories", ids);
  Json::Object body = greedy("stories", prompt, 10);
  body.emplace_back("logprobs", 5);
  body.emplace_back("echo", true);
  const Json got = answer("/v1/completions", body_of(body));
  EXPECT_EQ(text_at(got, "choices.0.text"), prompt + expected.text);
  const Json& scores = member(got, "choices.0.logprobs");
  ASSERT_EQ(member(scores, "tokens").array()->size(), ids.size());
  EXPECT_TRUE(member(scores, "token_logprobs.0").is_null());
  EXPECT_TRUE(member(scores, "top_logprobs.0").is_null());
  std::string text;
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::string at = std::to_string(i);
    EXPECT_EQ(member(scores, "text_offset." + at).integer(), static_cast<int64_t>(text.size()));
    text += text_at(scores, "tokens." + at);
    if (i == 0) continue;
    const float* row = rows.data<float>() + static_cast<int64_t>(i - 1) * rows.size(2);
    EXPECT_EQ(member(scores, "token_logprobs." + at).number(), static_cast<double>(row[ids[i]]))
        << i;
    std::vector<float> best(row, row + rows.size(2));
    std::ranges::sort(best, std::greater());
    const Json::Object& top = *member(scores, "top_logprobs." + at).object();
    ASSERT_EQ(top.size(), 5u);
    for (size_t k = 0; k < 5; ++k) EXPECT_EQ(top[k].second.number(), static_cast<double>(best[k]));
  }
  EXPECT_EQ(text, prompt + expected.text);
  EXPECT_GT(prompt_size, 1u);
}

TEST_F(OpenAiGeneration, a_prompt_alone_is_scored_when_nothing_is_to_be_written) {
  Json::Object body = greedy("stories", "The cat sat", 0);
  body.emplace_back("logprobs", 1);
  body.emplace_back("echo", true);
  const Json got = answer("/v1/completions", body_of(body));
  EXPECT_EQ(text_at(got, "choices.0.text"), "The cat sat");
  EXPECT_EQ(text_at(got, "choices.0.finish_reason"), "length");
  EXPECT_EQ(member(got, "usage.completion_tokens").integer(), 0);
  EXPECT_EQ(member(got, "choices.0.logprobs.tokens").array()->size(),
            model("stories").tokenizer->encode("The cat sat").size());
}

TEST_F(OpenAiGeneration, bytes_of_a_chats_tokens_make_its_content) {
  Json::Object body = chat_body("stories", "é and ");
  for (const auto& [name, value] : Json::Object{{"max_tokens", 40},
                                                {"temperature", 2},
                                                {"seed", 11},
                                                {"logprobs", true},
                                                {"top_logprobs", 20}}) {
    body.emplace_back(name, value);
  }
  const Json got = answer("/v1/chat/completions", body_of(body));
  const Json::Array& content = *member(got, "choices.0.logprobs.content").array();
  std::string bytes;
  for (const Json& token : content) {
    EXPECT_EQ(member(token, "top_logprobs").array()->size(), 20u);
    if (member(token, "bytes").is_null()) continue;
    for (const Json& byte : *member(token, "bytes").array()) {
      bytes.push_back(static_cast<char>(*byte.integer()));
    }
  }
  const std::string text = text_at(got, "choices.0.message.content");
  // Bytes that are no text stand as U+FFFD in the content.
  if (io::valid_utf8_length(bytes) == bytes.size()) {
    EXPECT_EQ(bytes, text);
  }
  EXPECT_FALSE(content.empty());
}

}  // namespace
}  // namespace headlight::server::openai
