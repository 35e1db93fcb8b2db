// /v1/chat/completions by the model's own template.
#include "tests/server/openai_generation.h"

namespace headlight::server::openai {
namespace {

class OpenAiTemplate : public OpenAiGeneration {
 protected:
  // A GPT over letters with a template beside it.
  std::string make_model(const std::string& chat_template) {
    models::Gpt gpt({.block_size = 64, .vocab_size = 16, .n_layer = 1, .n_head = 2, .n_embd = 8});
    models::fill(gpt, 5);
    std::filesystem::create_directories(folder_ / "talks");
    models::save_model(files_, folder_ / "talks", gpt);
    const std::string_view letters = "abcdefgh:\n<>n";
    text::char_tokenizer({&letters, 1}, {"<end>"}).save(files_, folder_ / "talks");
    return folder_.put("talks/chat_template.jinja", chat_template);
  }

  Json ask_chat(const std::string& messages, int status = 200) {
    return answer("/v1/chat/completions",
                  R"({"model":"talks","temperature":0,"max_tokens":5,"messages":)" + messages + "}",
                  status);
  }
};

TEST_F(OpenAiTemplate, is_what_the_model_reads) {
  make_model(
      "{% for m in messages %}{{ 'a' if m.role == 'user' else 'b' }}:{{ m.content }}<end>"
      "{% endfor %}{% if add_generation_prompt %}b:{% endif %}");
  serve({folder_ / "talks"});
  const text::Tokenizer& tokenizer = *model("talks").tokenizer;
  const Json got =
      ask_chat(R"([{"role":"developer","content":"c"},{"role":"user","content":"<end>d"}])");
  // What the user says stays text.
  text::MarkedText text;
  text.append("b:").append("c", true).append("<end>a:").append("<end>d", true).append("<end>b:");
  const infer::Prompt prompt{.ids = tokenizer.encode(text)};
  const auto expected = alone("talks", prompt, {.ending = {.max_new_tokens = 5}});
  EXPECT_EQ(text_at(got, "choices.0.message.content"), expected.text);
  EXPECT_EQ(member(got, "usage.prompt_tokens").integer(), static_cast<int64_t>(prompt.ids.size()));
  const Response models = ask("GET", "/v1/models")->wait();
  EXPECT_NE(models.body.find("\"chat_template\":\"model\""), std::string::npos) << models.body;
}

TEST_F(OpenAiTemplate, that_refuses_a_conversation_is_quoted) {
  make_model("{{ raise_exception('Only bees may speak') }}");
  serve({folder_ / "talks"});
  const Json refused = ask_chat(R"([{"role":"user","content":"a"}])", 400);
  EXPECT_EQ(text_at(refused, "error.param"), "messages");
  EXPECT_NE(text_at(refused, "error.message").find("says: Only bees may speak"), std::string::npos);
}

TEST_F(OpenAiTemplate, that_is_malformed_is_never_passed_over) {
  make_model("{% if %}");
  serve({folder_ / "talks"});
  const Json refused = ask_chat(R"([{"role":"user","content":"a"}])", 400);
  EXPECT_NE(text_at(refused, "error.message").find("line 1): unexpected %}"), std::string::npos);
  answer("/v1/completions", R"({"model":"talks","prompt":"a","max_tokens":2})");
}

}  // namespace
}  // namespace headlight::server::openai
