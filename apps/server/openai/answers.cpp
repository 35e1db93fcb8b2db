// Members in the order in which OpenAI documents them.
#include "apps/server/openai/answers.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace headlight::server::openai {
namespace {

using io::Json;

// What OpenAI says for a probability of nothing.
constexpr double kImpossible = -9999;

Json log_probability_json(const std::optional<float>& value) {
  if (!value) return {};
  return std::isfinite(*value) ? static_cast<double>(*value) : kImpossible;
}

std::string completion_token(const TokenText& text) {
  return text.is_text ? text.token : "bytes:" + text.token;
}

Json completion_alternatives(const TokenEntry& entry) {
  if (!entry.log_probability) return {};
  Json::Object map;
  for (const TokenScore& other : entry.alternatives) {
    std::string name = completion_token(other.text);
    // Of two tokens with the same text the likelier one, since a name stands once in an object.
    if (std::ranges::find(map, name, &Json::Member::first) != map.end()) continue;
    map.emplace_back(std::move(name), log_probability_json(other.log_probability));
  }
  return map;
}

Json completion_log_probabilities(const std::vector<TokenEntry>& entries) {
  Json::Array offsets, scores, tokens, alternatives;
  for (const TokenEntry& entry : entries) {
    offsets.emplace_back(entry.offset);
    scores.push_back(log_probability_json(entry.log_probability));
    tokens.emplace_back(completion_token(entry.text));
    alternatives.push_back(completion_alternatives(entry));
  }
  return Json::Object{{"text_offset", std::move(offsets)},
                      {"token_logprobs", std::move(scores)},
                      {"tokens", std::move(tokens)},
                      {"top_logprobs", std::move(alternatives)}};
}

Json::Object chat_token(const TokenScore& score) {
  Json bytes;
  if (score.text.bytes) {
    Json::Array values;
    for (const char byte : *score.text.bytes) {
      values.emplace_back(static_cast<int>(static_cast<unsigned char>(byte)));
    }
    bytes = std::move(values);
  }
  return {{"token", score.text.token},
          {"logprob", log_probability_json(score.log_probability)},
          {"bytes", std::move(bytes)}};
}

Json chat_log_probabilities(const std::vector<TokenEntry>& entries) {
  Json::Array content;
  for (const TokenEntry& entry : entries) {
    Json::Object token = chat_token(entry);
    Json::Array alternatives;
    for (const TokenScore& other : entry.alternatives) alternatives.emplace_back(chat_token(other));
    token.emplace_back("top_logprobs", std::move(alternatives));
    content.emplace_back(std::move(token));
  }
  return Json::Object{{"content", std::move(content)}, {"refusal", Json()}};
}

Json finish_json(const std::optional<infer::StopReason>& reason) {
  if (!reason) return {};
  return finish_reason(*reason);
}

Json choice_json(const AnswerHead& head, size_t index, const Choice& choice) {
  Json scores = head.is_scored ? log_probabilities_json(head.form, choice.entries) : Json();
  if (head.form == AnswerForm::completion) {
    return Json::Object{{"text", choice.text},
                        {"index", index},
                        {"logprobs", std::move(scores)},
                        {"finish_reason", finish_json(choice.reason)}};
  }
  return Json::Object{{"index", index},
                      {"message", Json::Object{{"role", "assistant"},
                                               {"content", choice.text},
                                               {"refusal", Json()},
                                               {"annotations", Json::Array()}}},
                      {"logprobs", std::move(scores)},
                      {"finish_reason", finish_json(choice.reason)}};
}

Json::Object head_json(const AnswerHead& head, bool is_chunk) {
  const bool is_chat = head.form == AnswerForm::chat;
  const char* object = !is_chat   ? "text_completion"
                       : is_chunk ? "chat.completion.chunk"
                                  : "chat.completion";
  return {{"id", head.id},
          {"object", object},
          {"created", head.created},
          {"model", head.model},
          {"system_fingerprint", head.fingerprint}};
}

std::string chunk_json(const ChunkHead& head, Json::Array choices, Json usage = {}) {
  Json::Object chunk = head_json(head, true);
  chunk.emplace_back("choices", std::move(choices));
  if (head.has_usage) chunk.emplace_back("usage", std::move(usage));
  return io::json_text(chunk);
}

Json chunk_choice(const ChunkHead& head, size_t index, Json::Object delta, Json scores,
                  Json finish) {
  if (head.form == AnswerForm::completion) {
    Json text = "";
    if (!delta.empty()) text = std::move(delta.front().second);
    return Json::Object{{"text", std::move(text)},
                        {"index", index},
                        {"logprobs", std::move(scores)},
                        {"finish_reason", std::move(finish)}};
  }
  return Json::Object{{"index", index},
                      {"delta", std::move(delta)},
                      {"logprobs", std::move(scores)},
                      {"finish_reason", std::move(finish)}};
}

}  // namespace

void Choice::append(ChoicePiece piece) {
  text += piece.text;
  for (TokenEntry& entry : piece.entries) entries.push_back(std::move(entry));
  if (piece.reason) reason = piece.reason;
}

Json usage_json(const Usage& usage) {
  return Json::Object{{"prompt_tokens", usage.prompt_tokens},
                      {"completion_tokens", usage.completion_tokens},
                      {"total_tokens", usage.prompt_tokens + usage.completion_tokens}};
}

Json log_probabilities_json(AnswerForm form, const std::vector<TokenEntry>& entries) {
  return form == AnswerForm::chat ? chat_log_probabilities(entries)
                                  : completion_log_probabilities(entries);
}

std::string answer_json(const AnswerHead& head, const std::vector<Choice>& choices,
                        const Usage& usage) {
  Json::Array list;
  for (size_t i = 0; i < choices.size(); ++i) list.push_back(choice_json(head, i, choices[i]));
  Json::Object answer = head_json(head, false);
  answer.emplace_back("choices", std::move(list));
  answer.emplace_back("usage", usage_json(usage));
  return io::json_text(answer);
}

std::string first_chunk(const ChunkHead& head, size_t index) {
  const Json::Object delta{{"role", "assistant"}, {"content", ""}, {"refusal", Json()}};
  return chunk_json(head, {chunk_choice(head, index, delta, {}, {})});
}

std::string piece_chunk(const ChunkHead& head, size_t index, const ChoicePiece& piece) {
  Json scores = head.is_scored ? log_probabilities_json(head.form, piece.entries) : Json();
  return chunk_json(head,
                    {chunk_choice(head, index, {{"content", piece.text}}, std::move(scores), {})});
}

std::string last_chunk(const ChunkHead& head, size_t index, infer::StopReason reason) {
  return chunk_json(head, {chunk_choice(head, index, {}, {}, finish_reason(reason))});
}

std::string usage_chunk(const ChunkHead& head, const Usage& usage) {
  return chunk_json(head, {}, usage_json(usage));
}

std::string base64_floats(const std::vector<float>& numbers) {
  constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  for (const float number : numbers) {
    const auto bits = std::bit_cast<uint32_t>(number);
    for (int shift = 0; shift < 32; shift += 8) {
      bytes.push_back(static_cast<char>(static_cast<unsigned char>(bits >> shift)));
    }
  }
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - at);
    uint32_t group = 0;
    for (size_t i = 0; i < 3; ++i) {
      group = group << 8 | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    }
    for (size_t i = 0; i < 4; ++i) {
      text.push_back(i <= count ? kLetters[group >> (18 - 6 * i) & 63] : '=');
    }
  }
  return text;
}

// Written directly: a value for each number would take many times the memory.
std::string embeddings_json(const EmbeddingAnswer& answer) {
  std::string text = R"({"object":"list","data":[)";
  for (size_t i = 0; i < answer.vectors.size(); ++i) {
    text += (i == 0 ? "" : ",") + std::string(R"({"object":"embedding","index":)") +
            std::to_string(i) + R"(,"embedding":)";
    if (answer.base64) {
      text += '"' + base64_floats(answer.vectors[i]) + '"';
    } else {
      char mark = '[';
      for (const float number : answer.vectors[i]) {
        text += mark;
        text += std::isfinite(number) ? io::number_text(number) : "null";
        mark = ',';
      }
      text += ']';
    }
    text += '}';
  }
  const Json usage =
      Json::Object{{"prompt_tokens", answer.prompt_tokens}, {"total_tokens", answer.prompt_tokens}};
  return text + R"(],"model":)" + io::json_text(answer.model) + R"(,"usage":)" +
         io::json_text(usage) + "}";
}

Json model_json(const ModelEntry& model) {
  Json::Array endpoints;
  for (const std::string& endpoint : model.endpoints) endpoints.emplace_back(endpoint);
  return Json::Object{
      {"id", model.id},
      {"object", "model"},
      {"created", model.created},
      {"owned_by", "headlight"},
      {"model_type", model.type},
      {"context_length", model.context_length},
      {"endpoints", std::move(endpoints)},
      {"chat_template", model.chat_template.empty() ? Json() : Json(model.chat_template)}};
}

Json models_json(const std::vector<ModelEntry>& models) {
  Json::Array list;
  for (const ModelEntry& model : models) list.push_back(model_json(model));
  return Json::Object{{"object", "list"}, {"data", std::move(list)}};
}

}  // namespace headlight::server::openai
