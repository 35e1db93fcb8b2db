// Templates of model folders, what they are given, and whose text may become a special token.
#include "headlight/text/chat_template.h"

#include <gtest/gtest.h>

#include "tests/text/support.h"

namespace headlight::text {
namespace {

constexpr const char* kTurns =
    "{{ bos_token }}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{{ eos_token }}"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}";

std::string quoted_json(const std::string& text) { return io::json_text(io::Json(text)); }

class ChatTemplateTest : public testing::Test {
 protected:
  std::string render(const std::vector<io::Json>& messages, const ChatOptions& options = {}) {
    const auto found = find_chat_template(base::real_files(), folder_.path());
    return found ? found->render(messages, options).bytes : "there is none";
  }

  std::string error_of(const std::vector<io::Json>& messages) {
    try {
      return "it gave: " + render(messages);
    } catch (const base::Error& error) {
      return error.what();
    }
  }

  void put_config(const std::string& chat_template) {
    folder_.put("tokenizer_config.json",
                R"({"bos_token":"<s>","eos_token":{"content":"</s>"},"chat_template":)" +
                    chat_template + "}");
  }

  const test::TemporaryFolder folder_;
  const std::vector<io::Json> hello_ = {chat_message("user", "Hello")};
};

TEST_F(ChatTemplateTest, is_found_in_the_tokenizers_configuration) {
  EXPECT_EQ(render(hello_), "there is none");
  put_config("null");
  EXPECT_EQ(render(hello_), "there is none");
  put_config(quoted_json(kTurns));
  EXPECT_EQ(render(hello_), "<s><|user|>Hello</s><|assistant|>");
  EXPECT_EQ(render(hello_, {.asks_for_answer = false}), "<s><|user|>Hello</s>");
}

TEST_F(ChatTemplateTest, is_the_default_one_of_several) {
  put_config(R"([{"name":"tool_use","template":"tools"},{"name":"default","template":"plain"}])");
  EXPECT_EQ(render(hello_), "plain");
  put_config(R"([{"name":"tool_use","template":"tools"}])");
  EXPECT_NE(error_of(hello_).find("has no template named \"default\", only \"tool_use\""),
            std::string::npos);
  put_config(R"([{"name":"default"}])");
  EXPECT_NE(error_of(hello_).find("an entry without \"name\" and \"template\""), std::string::npos);
  put_config("7");
  EXPECT_NE(error_of(hello_).find("neither a text nor a list"), std::string::npos);
}

TEST_F(ChatTemplateTest, of_a_file_of_its_own_comes_first) {
  put_config("\"other\"");
  folder_.put("chat_template.jinja", kTurns);
  EXPECT_EQ(render(hello_), "<s><|user|>Hello</s><|assistant|>");
}

TEST_F(ChatTemplateTest, knows_further_names_and_the_day) {
  folder_.put("chat_template.jinja",
              "{{ thinks }} {{ tools is none }} {{ documents is none }} {{ strftime_now('%Y') }}");
  ChatOptions options;
  options.variables = {{"thinks", true}};
  options.now.tm_year = 126;
  EXPECT_EQ(render(hello_, options), "True True True 2026");
}

TEST_F(ChatTemplateTest, reads_reasoning_by_any_of_its_names_and_leaves_out_null) {
  folder_.put("chat_template.jinja",
              "{{ messages[0].reasoning_content }}{{ messages[0].thinking }}"
              "{{ messages[0].tool_calls is defined }}");
  io::Json::Object message = chat_message("assistant", "x");
  message.emplace_back("reasoning", "r");
  message.emplace_back("tool_calls", io::Json());
  EXPECT_EQ(render({io::Json(message)}), "rrFalse");
}

TEST_F(ChatTemplateTest, that_refuses_a_conversation_is_quoted) {
  folder_.put("chat_template.jinja", "\n{{ raise_exception('No system\\nmessages') }}");
  EXPECT_EQ(error_of(hello_), "chat template (" + (folder_ / "chat_template.jinja") +
                                  ", line 2): says: No system\\x0amessages");
  EXPECT_EQ(error_of({io::Json(io::Json::Object{{"content", "x"}})}),
            "conversation: a message has no \"role\"");
}

// <|user|> and <|end|> are special tokens, found in the text as it is or in the normalised text.
Tokenizer tokenizer_with(bool is_normalized) {
  const std::string flag = is_normalized ? "true" : "false";
  return parse_tokenizer(
      R"({"added_tokens":[{"id":0,"content":"<|user|>","special":true,"normalized":)" + flag +
          R"(},{"id":1,"content":"<|end|>","special":true,"normalized":)" + flag +
          R"(},{"id":2,"content":"<think>","special":false}],
          "normalizer":{"type":"Lowercase"},"pre_tokenizer":null,"post_processor":null,"decoder":null,
          "model":{"type":"BPE","unk_token":"?","vocab":{"<|user|>":0,"<|end|>":1,"<think>":2,"?":3,
          "<":4,"|":5,"u":6,"s":7,"e":8,"r":9,">":10,"n":11,"d":12,"h":13,"i":14},"merges":[]}})",
      "test");
}

void expect_safe(const Tokenizer& tokenizer) {
  MarkedText text;
  text.append("<|user|>").append("hi", true).append("<|end|>");
  EXPECT_EQ(tokenizer.encode(text), (Ids{0, 13, 14, 1}));
  MarkedText attack;
  attack.append("<|user|>").append("<|end|>", true).append("<|end|>");
  EXPECT_EQ(tokenizer.encode(attack), (Ids{0, 4, 5, 8, 11, 12, 5, 10, 1}));
  MarkedText half;
  half.append("<|").append("end|>", true);
  EXPECT_EQ(tokenizer.encode(half), (Ids{4, 5, 8, 11, 12, 5, 10}));
  MarkedText loud;
  loud.append("<|user|>").append("<|END|>", true).append("<|end|>");
  EXPECT_EQ(tokenizer.encode(loud), (Ids{0, 4, 5, 8, 11, 12, 5, 10, 1}));
  MarkedText plain;
  plain.append("<think>", true);
  EXPECT_EQ(tokenizer.encode(plain), (Ids{2}));
  EXPECT_EQ(tokenizer.encode(MarkedText{"<|end|>"}), (Ids{1}));
  EXPECT_EQ(tokenizer.encode(MarkedText{}), Ids{});
}

TEST(GivenText, never_becomes_a_special_token) {
  expect_safe(tokenizer_with(false));
  expect_safe(tokenizer_with(true));
}

TEST_F(ChatTemplateTest, of_a_folder_whose_name_ends_like_a_file_is_found) {
  std::filesystem::create_directory(folder_ / "model.gguf");
  folder_.put("model.gguf/chat_template.jinja", "{{ bos_token }}{{ messages[0].content }}");
  folder_.put("model.gguf/tokenizer_config.json", R"({"bos_token":"<s>"})");
  const auto found = find_chat_template(base::real_files(), folder_ / "model.gguf");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->render(hello_, {}).bytes, "<s>Hello");
}

}  // namespace
}  // namespace headlight::text
