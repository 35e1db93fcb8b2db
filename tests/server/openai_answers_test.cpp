// Answers of /v1 as JSON, letter by letter, and texts with their tokens as they come.
#include <gtest/gtest.h>

#include <cmath>

#include "apps/server/openai/answers.h"

namespace headlight::server::openai {
namespace {

TokenText plain(const std::string& text) { return {.token = text, .bytes = text}; }

AnswerHead head_for(AnswerForm form, bool is_scored) {
  return {.form = form,
          .id = form == AnswerForm::chat ? "chatcmpl-1" : "cmpl-1",
          .created = 1700000000,
          .model = "m",
          .fingerprint = "headlight-0-avx2",
          .is_scored = is_scored};
}

std::vector<TokenEntry> two_entries() {
  TokenEntry first;
  first.text = plain("A");
  TokenEntry second;
  second.text = {.token = "\\xe2\\x80", .is_text = false, .bytes = "\xe2\x80"};
  second.log_probability = -0.5f;
  second.alternatives = {{plain("b"), -0.25f},
                         {plain("b"), -0.75f},
                         {{.token = "<end>"}, -std::numeric_limits<float>::infinity()}};
  second.offset = 1;
  return {first, second};
}

TEST(OpenAiAnswers, a_completion_is_what_openai_documents) {
  const std::vector<Choice> choices = {{.text = "a\"b", .reason = infer::StopReason::limit},
                                       {.text = "", .reason = infer::StopReason::end}};
  EXPECT_EQ(answer_json(head_for(AnswerForm::completion, false), choices, {5, 2}),
            R"({"id":"cmpl-1","object":"text_completion","created":1700000000,"model":"m",)"
            R"("system_fingerprint":"headlight-0-avx2","choices":[)"
            R"({"text":"a\"b","index":0,"logprobs":null,"finish_reason":"length"},)"
            R"({"text":"","index":1,"logprobs":null,"finish_reason":"stop"}],)"
            R"("usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}})");
}

TEST(OpenAiAnswers, a_chat_completion_is_what_openai_documents) {
  const std::vector<Choice> choices = {{.text = "hi", .reason = infer::StopReason::stop_text}};
  EXPECT_EQ(
      answer_json(head_for(AnswerForm::chat, false), choices, {1, 1}),
      R"({"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"m",)"
      R"("system_fingerprint":"headlight-0-avx2","choices":[{"index":0,"message":)"
      R"({"role":"assistant","content":"hi","refusal":null,"annotations":[]},"logprobs":null,)"
      R"("finish_reason":"stop"}],)"
      R"("usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}})");
}

TEST(OpenAiAnswers, log_probabilities_have_the_shape_of_their_form) {
  EXPECT_EQ(
      io::json_text(log_probabilities_json(AnswerForm::completion, two_entries())),
      R"({"text_offset":[0,1],"token_logprobs":[null,-0.5],"tokens":["A","bytes:\\xe2\\x80"],)"
      R"("top_logprobs":[null,{"b":-0.25,"<end>":-9999.0}]})");
  std::vector<TokenEntry> entries = two_entries();
  entries.erase(entries.begin());
  EXPECT_EQ(
      io::json_text(log_probabilities_json(AnswerForm::chat, entries)),
      R"({"content":[{"token":"\\xe2\\x80","logprob":-0.5,"bytes":[226,128],"top_logprobs":[)"
      R"({"token":"b","logprob":-0.25,"bytes":[98]},{"token":"b","logprob":-0.75,"bytes":[98]},)"
      R"({"token":"<end>","logprob":-9999.0,"bytes":null}]}],"refusal":null})");
}

TEST(OpenAiAnswers, chunks_are_what_openai_documents) {
  ChunkHead chat;
  static_cast<AnswerHead&>(chat) = head_for(AnswerForm::chat, false);
  const std::string begin =
      R"({"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m",)"
      R"("system_fingerprint":"headlight-0-avx2","choices":[)";
  EXPECT_EQ(
      first_chunk(chat, 2),
      begin +
          R"({"index":2,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}]})");
  EXPECT_EQ(
      piece_chunk(chat, 0, {.text = "x"}),
      begin + R"({"index":0,"delta":{"content":"x"},"logprobs":null,"finish_reason":null}]})");
  EXPECT_EQ(last_chunk(chat, 0, infer::StopReason::context),
            begin + R"({"index":0,"delta":{},"logprobs":null,"finish_reason":"length"}]})");
  chat.has_usage = true;
  EXPECT_EQ(
      piece_chunk(chat, 0, {.text = "x"}),
      begin +
          R"({"index":0,"delta":{"content":"x"},"logprobs":null,"finish_reason":null}],"usage":null})");
  EXPECT_EQ(usage_chunk(chat, {3, 4}),
            begin + R"(],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}})");
  ChunkHead completion;
  static_cast<AnswerHead&>(completion) = head_for(AnswerForm::completion, false);
  EXPECT_EQ(piece_chunk(completion, 1, {.text = "x"}),
            R"({"id":"cmpl-1","object":"text_completion","created":1700000000,"model":"m",)"
            R"("system_fingerprint":"headlight-0-avx2","choices":[{"text":"x","index":1,)"
            R"("logprobs":null,"finish_reason":null}]})");
  EXPECT_EQ(last_chunk(completion, 0, infer::StopReason::end),
            R"({"id":"cmpl-1","object":"text_completion","created":1700000000,"model":"m",)"
            R"("system_fingerprint":"headlight-0-avx2","choices":[{"text":"","index":0,)"
            R"("logprobs":null,"finish_reason":"stop"}]})");
}

TEST(OpenAiAnswers, embeddings_are_numbers_or_base64_of_little_endian_floats) {
  EXPECT_EQ(base64_floats({}), "");
  EXPECT_EQ(base64_floats({1.0f}), "AACAPw==");
  EXPECT_EQ(base64_floats({1.0f, -2.0f}), "AACAPwAAAMA=");
  EXPECT_EQ(base64_floats({1.0f, -2.0f, 0.1f}), "AACAPwAAAMDNzMw9");
  EXPECT_EQ(
      embeddings_json({.model = "b", .vectors = {{0.1f, -1.0f}, {2.0f, 0.0f}}, .prompt_tokens = 4}),
      R"({"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.1,-1.0]},)"
      R"({"object":"embedding","index":1,"embedding":[2.0,0.0]}],"model":"b",)"
      R"("usage":{"prompt_tokens":4,"total_tokens":4}})");
  EXPECT_EQ(embeddings_json({.model = "b", .vectors = {{1.0f}}, .base64 = true}),
            R"({"object":"list","data":[{"object":"embedding","index":0,"embedding":"AACAPw=="}],)"
            R"("model":"b","usage":{"prompt_tokens":0,"total_tokens":0}})");
}

TEST(OpenAiAnswers, models_name_their_template) {
  EXPECT_EQ(
      io::json_text(models_json({{.id = "g",
                                  .created = 5,
                                  .type = "gpt2",
                                  .context_length = 96,
                                  .endpoints = {"/v1/completions"},
                                  .chat_template = "plain"},
                                 {.id = "b", .type = "bert"}})),
      R"({"object":"list","data":[{"id":"g","object":"model","created":5,"owned_by":"headlight",)"
      R"("model_type":"gpt2","context_length":96,"endpoints":["/v1/completions"],"chat_template":"plain"},)"
      R"({"id":"b","object":"model","created":0,"owned_by":"headlight","model_type":"bert",)"
      R"("context_length":0,"endpoints":[],"chat_template":null}]})");
}

// Events as a batch would tell them.
infer::RequestEvent token_event(int64_t id, const std::string& text,
                                std::optional<infer::StopReason> reason = {}) {
  infer::RequestEvent event;
  event.token = infer::ScoredToken{.id = id, .log_probability = -1, .top = {{id, -1}}};
  event.text = text;
  event.reason = reason;
  return event;
}

std::string tokens_of(const std::vector<TokenEntry>& entries) {
  std::string all;
  for (const TokenEntry& entry : entries) all += entry.text.token + "|";
  return all;
}

TEST(OpenAiChoiceText, tokens_of_a_stop_text_are_told_by_nobody) {
  const std::string_view letters = "abcd";
  const text::Tokenizer tokenizer = text::char_tokenizer({&letters, 1});
  const auto id = [&](const char* token) { return *tokenizer.find(token); };
  ChoiceText choice(TokenTexts(&tokenizer), {id("a")}, {.is_scored = true});
  EXPECT_EQ(choice.begin({}).entries.size(), 0u);
  ChoicePiece piece = choice.add(token_event(id("b"), "b"));
  EXPECT_EQ(piece.text + " " + tokens_of(piece.entries), "b b|");
  EXPECT_EQ(piece.entries.front().offset, 1u) << "the prompt has one letter";
  // "cd" is the stop text: c is held back, then both are left out.
  piece = choice.add(token_event(id("c"), ""));
  EXPECT_TRUE(piece.text.empty() && piece.entries.empty());
  piece = choice.add(token_event(id("d"), "", infer::StopReason::stop_text));
  EXPECT_TRUE(piece.entries.empty());
  EXPECT_EQ(choice.tokens(), 3);
}

TEST(OpenAiChoiceText, what_was_held_back_comes_with_its_tokens_when_nothing_stops_it) {
  const std::string_view letters = "abcd";
  const text::Tokenizer tokenizer = text::char_tokenizer({&letters, 1});
  const auto id = [&](const char* token) { return *tokenizer.find(token); };
  ChoiceText choice(TokenTexts(&tokenizer), {}, {.is_scored = true});
  choice.begin({});
  EXPECT_TRUE(choice.add(token_event(id("c"), "")).entries.empty());
  const ChoicePiece both = choice.add(token_event(id("b"), "cb"));
  EXPECT_EQ(tokens_of(both.entries), "c|b|");
  choice.add(token_event(id("c"), ""));
  infer::RequestEvent end = token_event(0, "c", infer::StopReason::end);
  end.is_stop = true;
  const ChoicePiece last = choice.add(end);
  EXPECT_EQ(tokens_of(last.entries), "c|") << "the token that ends it is none of the text";
  EXPECT_EQ(choice.tokens(), 3);
}

TEST(OpenAiChoiceText, parts_of_letters_are_shown_as_their_codes) {
  const std::string_view text = "abc";
  const text::Tokenizer tokenizer = text::train_bpe({&text, 1}, {.vocabulary_size = 257});
  const std::vector<int64_t> ids = tokenizer.encode("é!");
  ASSERT_EQ(ids.size(), 3u);
  ChoiceText choice(TokenTexts(&tokenizer), {}, {.is_scored = true});
  choice.begin({});
  std::vector<TokenEntry> entries;
  std::string bytes;
  const std::vector<std::string> certain = {"", "é", "!"};
  for (size_t i = 0; i < ids.size(); ++i) {
    for (TokenEntry& entry : choice.add(token_event(ids[i], certain[i])).entries) {
      bytes += *entry.text.bytes;
      entries.push_back(std::move(entry));
    }
  }
  EXPECT_EQ(tokens_of(entries), "\\xc3|\\xa9|!|");
  EXPECT_EQ(bytes, "é!");
  EXPECT_EQ(entries[1].offset, 0u);
  EXPECT_EQ(entries[2].offset, 1u) << "letters are counted, not bytes";
}

TEST(OpenAiChoiceText, an_echo_begins_with_the_prompt_and_its_scores) {
  const std::string_view letters = "abcd";
  const text::Tokenizer tokenizer = text::char_tokenizer({&letters, 1});
  const auto id = [&](const char* token) { return *tokenizer.find(token); };
  ChoiceText choice(TokenTexts(&tokenizer), {id("a"), id("b")}, {.is_scored = true, .echo = "ab"});
  const ChoicePiece begin = choice.begin({{.id = id("b"), .log_probability = -3}});
  EXPECT_EQ(begin.text, "ab");
  ASSERT_EQ(tokens_of(begin.entries), "a|b|");
  EXPECT_FALSE(begin.entries[0].log_probability) << "nothing stands before the first";
  EXPECT_EQ(begin.entries[1].log_probability, -3);
  const ChoicePiece next = choice.add(token_event(id("c"), "c"));
  EXPECT_EQ(tokens_of(next.entries), "c|");
  EXPECT_EQ(next.entries[0].offset, 2u);
}

TEST(OpenAiChoiceText, without_a_tokenizer_a_text_is_its_ids) {
  ChoiceText choice(TokenTexts(nullptr), {7, 8}, {});
  choice.begin({});
  EXPECT_EQ(choice.add(token_event(3, "")).text, "3");
  EXPECT_EQ(choice.add(token_event(12, "")).text, ",12");
  ChoiceText echoed(TokenTexts(nullptr), {7, 8}, {.is_scored = true, .echo = "7,8"});
  EXPECT_EQ(echoed.begin({{.id = 8}}).text, "7,8");
  const ChoicePiece piece = echoed.add(token_event(3, ""));
  EXPECT_EQ(piece.text, ",3");
  EXPECT_EQ(tokens_of(piece.entries), ",3|");
  EXPECT_EQ(piece.entries.front().offset, 3u);
}

TEST(OpenAiChoiceText, special_tokens_add_no_text_but_are_named) {
  const std::string_view words = "a b";
  const text::Tokenizer tokenizer = text::word_tokenizer({&words, 1});
  ASSERT_TRUE(tokenizer.special().eos);
  const TokenTexts texts(&tokenizer);
  const TokenText end = texts.text_of(*tokenizer.special().eos, false);
  EXPECT_EQ(end.token, tokenizer.token(*tokenizer.special().eos));
  EXPECT_FALSE(end.bytes);
  EXPECT_FALSE(texts.text_of(tokenizer.size() + 3, false).bytes);
  EXPECT_EQ(texts.text_of(*tokenizer.find("b"), false).token, " b");
  EXPECT_EQ(texts.text_of(*tokenizer.find("b"), true).token, "b");
}

}  // namespace
}  // namespace headlight::server::openai
