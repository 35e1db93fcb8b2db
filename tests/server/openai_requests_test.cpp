// Bodies of /v1: what is read, and each field that is refused, by name.
#include <gtest/gtest.h>

#include "apps/server/http/http.h"
#include "apps/server/openai/requests.h"
#include "headlight/io/io.h"

namespace headlight::server::openai {
namespace {

enum class Body { completion, chat, embedding };

void parse_as(Body kind, const std::string& text) {
  switch (kind) {
    case Body::completion:
      parse_completion_request(text);
      return;
    case Body::chat:
      parse_chat_request(text);
      return;
    case Body::embedding:
      parse_embedding_request(text);
      return;
  }
}

// A body that is right but for the fields given.
std::string body_with(Body kind, const std::string& fields) {
  const char* needed = kind == Body::completion ? R"("model":"m","prompt":"p")"
                       : kind == Body::chat
                           ? R"("model":"m","messages":[{"role":"user","content":"hi"}])"
                           : R"("model":"m","input":"p")";
  return "{" + std::string(needed) + (fields.empty() ? "" : ",") + fields + "}";
}

// The fields of the error, or nothing when the body is taken.
std::optional<HttpErrorFields> refusal_of_body(Body kind, const std::string& text) {
  try {
    parse_as(kind, text);
  } catch (const HttpError& error) {
    return error.fields();
  }
  return std::nullopt;
}

struct Wrong {
  Body kind;
  std::string fields;
  std::string param;
  std::string code;
};

void expect_wrong(const std::string& text, const Wrong& wrong) {
  const auto refusal = refusal_of_body(wrong.kind, text);
  ASSERT_TRUE(refusal) << text << " was taken";
  EXPECT_EQ(refusal->status, 400) << text;
  EXPECT_EQ(refusal->type, "invalid_request_error") << text;
  EXPECT_EQ(refusal->param, wrong.param) << text << ": " << refusal->message;
  EXPECT_EQ(refusal->code, wrong.code) << text << ": " << refusal->message;
  EXPECT_EQ(refusal->message.find('\n'), std::string::npos);
  EXPECT_NE(refusal->message.find(wrong.param), std::string::npos) << refusal->message;
}

TEST(OpenAiRequests, every_field_of_the_wrong_type_is_named) {
  struct Field {
    std::string name;
    std::vector<Body> bodies;
    std::vector<std::string> wrong;
  };
  const std::vector<Body> both = {Body::completion, Body::chat};
  const std::vector<std::string> no_number = {R"("1")", "true", "[]", "{}"};
  const std::vector<std::string> no_integer = {
      R"("1")", "true", "[]", "{}", "1.5", "1e3", "99999999999999999999"};
  const std::vector<std::string> no_boolean = {R"("true")", "0", "1", "[]", "{}"};
  const std::vector<std::string> no_text = {"1", "true", "[]", "{}", "1.5"};
  const std::vector<Field> fields = {
      {"temperature", both, no_number},
      {"top_p", both, no_number},
      {"frequency_penalty", both, no_number},
      {"presence_penalty", both, no_number},
      {"n", both, no_integer},
      {"seed", both, no_integer},
      {"max_tokens", both, no_integer},
      {"max_completion_tokens", {Body::chat}, no_integer},
      {"best_of", {Body::completion}, no_integer},
      {"logprobs", {Body::completion}, no_integer},
      {"logprobs", {Body::chat}, no_boolean},
      {"top_logprobs", {Body::chat}, no_integer},
      {"stream", both, no_boolean},
      {"echo", {Body::completion}, no_boolean},
      {"store", {Body::chat}, no_boolean},
      {"parallel_tool_calls", {Body::chat}, no_boolean},
      {"user", {Body::completion, Body::chat, Body::embedding}, no_text},
      {"safety_identifier", {Body::chat}, no_text},
      {"prompt_cache_key", {Body::chat}, no_text},
      {"prompt_cache_retention", {Body::chat}, no_text},
      {"service_tier", {Body::chat}, no_text},
      {"reasoning_effort", {Body::chat}, no_text},
      {"verbosity", {Body::chat}, no_text},
      {"tool_choice", {Body::chat}, no_text},
      {"function_call", {Body::chat}, no_text},
      {"metadata", {Body::chat}, {"1", "true", "[]", R"("a")"}},
      {"modalities", {Body::chat}, {"1", "true", "{}", R"("text")"}},
      {"response_format", {Body::chat}, {"1", "true", "[]", R"("text")"}},
      {"stop", both, {"1", "true", "{}", "1.5"}},
      {"encoding_format", {Body::embedding}, no_text},
      {"dimensions", {Body::embedding}, no_integer},
  };
  for (const Field& field : fields) {
    for (const Body kind : field.bodies) {
      for (const std::string& value : field.wrong) {
        const std::string given = "\"" + field.name + "\":" + value;
        expect_wrong(body_with(kind, given), {kind, given, field.name, "invalid_type"});
      }
      const auto refusal = refusal_of_body(kind, body_with(kind, "\"" + field.name + "\":null"));
      EXPECT_FALSE(refusal) << field.name << ": null is the same as nothing";
    }
  }
}

TEST(OpenAiRequests, values_out_of_range_and_what_is_not_supported_are_refused_by_name) {
  using enum Body;
  const std::vector<Wrong> wrong = {
      {completion, R"("temperature":-0.1)", "temperature", "below_min_value"},
      {chat, R"("temperature":2.0001)", "temperature", "above_max_value"},
      {chat, R"("temperature":1e308)", "temperature", "above_max_value"},
      {chat, R"("top_p":1.1)", "top_p", "above_max_value"},
      {completion, R"("top_p":-1)", "top_p", "below_min_value"},
      {completion, R"("n":0)", "n", "below_min_value"},
      {chat, R"("n":-1)", "n", "below_min_value"},
      {chat, R"("n":129)", "n", "above_max_value"},
      {completion, R"("max_tokens":-1)", "max_tokens", "below_min_value"},
      {chat, R"("max_tokens":0)", "max_tokens", "below_min_value"},
      {chat, R"("max_completion_tokens":0)", "max_completion_tokens", "below_min_value"},
      {chat, R"("max_completion_tokens":3,"max_tokens":4)", "max_tokens", "invalid_value"},
      {completion, R"("max_completion_tokens":3)", "max_completion_tokens", "unknown_parameter"},
      {completion, R"("logprobs":6)", "logprobs", "above_max_value"},
      {completion, R"("logprobs":-1)", "logprobs", "below_min_value"},
      {chat, R"("logprobs":true,"top_logprobs":21)", "top_logprobs", "above_max_value"},
      {chat, R"("top_logprobs":2)", "top_logprobs", "invalid_value"},
      {chat, R"("logprobs":false,"top_logprobs":0)", "top_logprobs", "invalid_value"},
      {completion, R"("best_of":2)", "best_of", "unsupported_value"},
      {completion, R"("n":3,"best_of":4)", "best_of", "unsupported_value"},
      {completion, R"("suffix":"x")", "suffix", "unsupported_parameter"},
      {completion, R"("stop":"")", "stop", "invalid_value"},
      {chat, R"("stop":["a",""])", "stop", "invalid_value"},
      {chat, R"("stop":["a",1])", "stop[1]", "invalid_type"},
      {chat, R"("stop":["a","b","c","d","e"])", "stop", "array_above_max_length"},
      {chat, R"("frequency_penalty":0.5)", "frequency_penalty", "unsupported_value"},
      {completion, R"("frequency_penalty":3)", "frequency_penalty", "above_max_value"},
      {completion, R"("presence_penalty":-1)", "presence_penalty", "unsupported_value"},
      {chat, R"("logit_bias":{"5":1})", "logit_bias", "unsupported_parameter"},
      {chat, R"("tools":[{"type":"function"}])", "tools", "unsupported_parameter"},
      {chat, R"("functions":[{}])", "functions", "unsupported_parameter"},
      {chat, R"("tool_choice":"auto")", "tool_choice", "unsupported_value"},
      {chat, R"("response_format":{"type":"json_object"})", "response_format.type",
       "unsupported_value"},
      {chat, R"("response_format":{})", "response_format.type", "missing_required_parameter"},
      {chat, R"("modalities":["text","audio"])", "modalities", "unsupported_value"},
      {chat, R"("modalities":[1])", "modalities", "unsupported_value"},
      {chat, R"("audio":{"voice":"x"})", "audio", "unsupported_parameter"},
      {chat, R"("prediction":{"type":"content"})", "prediction", "unsupported_parameter"},
      {chat, R"("web_search_options":{"a":1})", "web_search_options", "unsupported_parameter"},
      {chat, R"("moderation":{"a":1})", "moderation", "unsupported_parameter"},
      {chat, R"("reasoning_effort":"high")", "reasoning_effort", "unsupported_value"},
      {chat, R"("verbosity":"low")", "verbosity", "unsupported_value"},
      {chat, R"("store":true)", "store", "unsupported_value"},
      {chat, R"("service_tier":"flex")", "service_tier", "unsupported_value"},
      {chat, R"("metadata":{"a":1})", "metadata.a", "invalid_type"},
      {chat, R"("stream_options":{"include_usage":true})", "stream_options", "invalid_value"},
      {chat, R"("stream":true,"stream_options":1)", "stream_options", "invalid_type"},
      {chat, R"("stream":true,"stream_options":{"include_usage":1})",
       "stream_options.include_usage", "invalid_type"},
      {chat, R"("stream":true,"stream_options":{"usage":true})", "stream_options.usage",
       "unknown_parameter"},
      {completion, R"("stream":true,"stream_options":{"include_obfuscation":true})",
       "stream_options.include_obfuscation", "unsupported_value"},
      {chat, R"("echo":true)", "echo", "unknown_parameter"},
      {chat, R"("temprature":0)", "temprature", "unknown_parameter"},
      {completion, R"("messages":[])", "messages", "unknown_parameter"},
      {embedding, R"("temperature":0)", "temperature", "unknown_parameter"},
      {embedding, R"("dimensions":0)", "dimensions", "below_min_value"},
      {embedding, R"("encoding_format":"hex")", "encoding_format", "unsupported_value"},
  };
  for (const Wrong& one : wrong) expect_wrong(body_with(one.kind, one.fields), one);
}

TEST(OpenAiRequests, inputs_are_texts_or_ids_of_one_kind) {
  using enum Body;
  const auto body = [](Body kind, const std::string& value) {
    return R"({"model":"m",")" + std::string(kind == completion ? "prompt" : "input") +
           "\":" + value + "}";
  };
  for (const Body kind : {completion, embedding}) {
    const std::string name = kind == completion ? "prompt" : "input";
    const std::vector<Wrong> wrong = {
        {kind, "1", name, "invalid_type"},
        {kind, "true", name, "invalid_type"},
        {kind, "{}", name, "invalid_type"},
        {kind, "[]", name, "empty_array"},
        {kind, "[[]]", name + "[0]", "empty_array"},
        {kind, "[null]", name + "[0]", "invalid_type"},
        {kind, "[true]", name + "[0]", "invalid_type"},
        {kind, "[1,\"a\"]", name + "[1]", "invalid_type"},
        {kind, "[1,-2]", name + "[1]", "below_min_value"},
        {kind, "[1.5]", name + "[0]", "invalid_type"},
        {kind, "[\"a\",1]", name + "[1]", "invalid_type"},
        {kind, "[[1],\"a\"]", name + "[1]", "invalid_type"},
        {kind, "[[1],[2,\"a\"]]", name + "[1][1]", "invalid_type"},
        {kind, "[[[1]]]", name + "[0][0]", "invalid_type"},
    };
    for (const Wrong& one : wrong) expect_wrong(body(kind, one.fields), one);
  }
  EXPECT_EQ(parse_completion_request(body(completion, R"("a")")).prompts,
            std::vector<Input>{std::string("a")});
  EXPECT_EQ(parse_completion_request(body(completion, R"(["a",""])")).prompts,
            (std::vector<Input>{std::string("a"), std::string()}));
  EXPECT_EQ(parse_completion_request(body(completion, "[3,1]")).prompts,
            (std::vector<Input>{Ids{3, 1}}));
  EXPECT_EQ(parse_embedding_request(body(embedding, "[[3,1],[2]]")).inputs,
            (std::vector<Input>{Ids{3, 1}, Ids{2}}));
  EXPECT_EQ(parse_completion_request(R"({"model":"m"})").prompts, std::vector<Input>{std::string()})
      << "as from the beginning of a document";
}

TEST(OpenAiRequests, many_texts_of_one_request_are_bounded) {
  std::string prompts = R"("a")";
  for (int i = 0; i < 2; ++i) prompts += R"(,"a")";
  expect_wrong(R"({"model":"m","n":86,"prompt":[)" + prompts + "]}",
               {Body::completion, "", "n", "above_max_value"});
  EXPECT_FALSE(
      refusal_of_body(Body::completion, R"({"model":"m","n":85,"prompt":[)" + prompts + "]}"));
  std::string many = "1";
  for (int i = 0; i < 2048; ++i) many += ",1";
  EXPECT_FALSE(refusal_of_body(Body::embedding, R"({"model":"m","input":[)" + many + "]}"));
  std::string texts = R"("a")";
  for (int i = 0; i < 2048; ++i) texts += R"(,"a")";
  expect_wrong(R"({"model":"m","input":[)" + texts + "]}",
               {Body::embedding, "", "input", "array_above_max_length"});
}

TEST(OpenAiRequests, messages_are_texts_of_known_roles) {
  const auto body = [](const std::string& messages) {
    return R"({"model":"m","messages":)" + messages + "}";
  };
  using enum Body;
  const std::vector<Wrong> wrong = {
      {chat, "1", "messages", "invalid_type"},
      {chat, "[]", "messages", "empty_array"},
      {chat, "null", "messages", "missing_required_parameter"},
      {chat, "[1]", "messages[0]", "invalid_type"},
      {chat, "[{}]", "messages[0].role", "missing_required_parameter"},
      {chat, R"([{"role":"user"}])", "messages[0].content", "missing_required_parameter"},
      {chat, R"([{"role":"user","content":1}])", "messages[0].content", "invalid_type"},
      {chat, R"([{"role":"user","content":[]}])", "messages[0].content", "empty_array"},
      {chat, R"([{"role":1,"content":"a"}])", "messages[0].role", "invalid_type"},
      {chat, R"([{"role":"tool","content":"a"}])", "messages[0].role", "unsupported_value"},
      {chat, R"([{"role":"king","content":"a"}])", "messages[0].role", "unsupported_value"},
      {chat, R"([{"role":"user","content":[{"type":"image_url","image_url":{}}]}])",
       "messages[0].content[0].type", "unsupported_value"},
      {chat, R"([{"role":"user","content":[{"type":"text"}]}])", "messages[0].content[0].text",
       "missing_required_parameter"},
      {chat, R"([{"role":"user","content":["a"]}])", "messages[0].content[0]", "invalid_type"},
      {chat, R"([{"role":"user","content":"a","weight":1}])", "messages[0].weight",
       "unknown_parameter"},
      {chat, R"([{"role":"assistant","content":"a","tool_calls":[{}]}])", "messages[0].tool_calls",
       "unsupported_parameter"},
  };
  for (const Wrong& one : wrong) expect_wrong(body(one.fields), one);
  const ChatRequest request = parse_chat_request(body(
      R"([{"role":"system","content":"Be kind.","name":"a"},{"role":"user","content":[{"type":"text","text":"one "},)"
      R"({"type":"text","text":"two"}]},{"role":"assistant","content":"three","refusal":null,"annotations":[]}])"));
  ASSERT_EQ(request.messages.size(), 3u);
  EXPECT_EQ(request.messages[1].content, "one two");
  EXPECT_EQ(plain_text(request.messages), "Be kind.\none two\nthree");
  EXPECT_EQ(plain_text({{"user", "a"}}), "a");
}

TEST(OpenAiRequests, what_is_no_object_or_lacks_a_model_is_refused) {
  using enum Body;
  for (const Body kind : {completion, chat, embedding}) {
    for (const std::string& text :
         {std::string(), std::string("{"), std::string("[]"), std::string("null"),
          std::string("\"a\""), std::string("{\"model\":\"m\",\"model\":\"m\"}"),
          "{\"a\":" + std::string(100'000, '['), std::string("{\"model\":\"\xff\"}"),
          std::string("{\"model\":\"\\ud800\"}")}) {
      const auto refusal = refusal_of_body(kind, text);
      ASSERT_TRUE(refusal) << text.substr(0, 50);
      EXPECT_EQ(refusal->status, 400);
      EXPECT_EQ(refusal->code, "invalid_json") << text.substr(0, 50);
    }
    const auto missing = refusal_of_body(kind, "{}");
    ASSERT_TRUE(missing);
    EXPECT_EQ(missing->param, "model");
    EXPECT_EQ(missing->code, "missing_required_parameter");
  }
}

TEST(OpenAiRequests, a_long_name_or_value_does_not_come_back_whole) {
  const std::string name(100'000, 'x');
  const auto unknown = refusal_of_body(Body::chat, body_with(Body::chat, "\"" + name + "\":1"));
  ASSERT_TRUE(unknown);
  EXPECT_LT(unknown->message.size() + unknown->param.size(), 500u);
  const auto wrong =
      refusal_of_body(Body::chat, body_with(Body::chat, "\"seed\":\"" + name + "\""));
  ASSERT_TRUE(wrong);
  EXPECT_LT(wrong->message.size(), 500u);
}

TEST(OpenAiRequests, fields_that_change_nothing_are_taken) {
  const ChatRequest chat = parse_chat_request(body_with(
      Body::chat,
      R"("user":"u","safety_identifier":"s","prompt_cache_key":"k","prompt_cache_retention":"24h","metadata":{"a":"b"},)"
      R"("store":false,"service_tier":"auto","parallel_tool_calls":true,"tools":[],"tool_choice":"none","functions":[],)"
      R"("function_call":"none","response_format":{"type":"text"},"modalities":["text"],"audio":null,"prediction":null,)"
      R"("reasoning_effort":"none","verbosity":"medium","logit_bias":{},"frequency_penalty":0,"presence_penalty":0.0,)"
      R"("web_search_options":{},"n":null,"stop":null)"));
  EXPECT_EQ(chat.temperature, 1);
}

TEST(OpenAiRequests, absent_fields_are_as_openai_has_them) {
  const CompletionRequest completion = parse_completion_request(body_with(Body::completion, ""));
  EXPECT_EQ(completion.max_tokens, 16);
  EXPECT_EQ(completion.temperature, 1);
  EXPECT_EQ(completion.top_p, 1);
  EXPECT_EQ(completion.choices, 1);
  EXPECT_FALSE(completion.seed || completion.alternatives || completion.echo || completion.stream);
  const ChatRequest chat = parse_chat_request(body_with(Body::chat, ""));
  EXPECT_FALSE(chat.max_tokens || chat.alternatives || chat.include_usage);
  const ChatRequest full = parse_chat_request(body_with(
      Body::chat,
      R"("temperature":0,"top_p":0.5,"n":2,"seed":-7,"stop":["a","b"],"stream":true,"max_completion_tokens":9,"max_tokens":9,)"
      R"("stream_options":{"include_usage":true,"include_obfuscation":false},"logprobs":true,"top_logprobs":3)"));
  EXPECT_EQ(full.temperature, 0);
  EXPECT_EQ(full.top_p, 0.5);
  EXPECT_EQ(full.choices, 2);
  EXPECT_EQ(full.seed, -7);
  EXPECT_EQ(full.stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(full.max_tokens, 9);
  EXPECT_TRUE(full.stream && full.include_usage);
  EXPECT_EQ(full.alternatives, 3);
  EXPECT_TRUE(parse_embedding_request(
                  body_with(Body::embedding, R"("encoding_format":"base64","dimensions":8)"))
                  .base64);
}

}  // namespace
}  // namespace headlight::server::openai
