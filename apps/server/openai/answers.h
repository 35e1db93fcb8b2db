// Answers of OpenAI's API as JSON: whole ones and chunks of streams. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/server/openai/choice_text.h"
#include "headlight/io/io.h"

namespace headlight::server::openai {

enum class AnswerForm { completion, chat };

// What all chunks of an answer have in common.
struct AnswerHead {
  AnswerForm form = AnswerForm::completion;
  std::string id;       // "cmpl-..." or "chatcmpl-..."
  int64_t created = 0;  // seconds since 1970
  std::string model;
  std::string fingerprint;  // engine and instruction set: the same seed gives the same text
  bool is_scored = false;   // "logprobs" are wanted
};

struct Usage {
  int64_t prompt_tokens = 0;
  int64_t completion_tokens = 0;
};

struct Choice {
  std::string text = {};
  std::vector<TokenEntry> entries = {};
  std::optional<infer::StopReason> reason = {};
  void append(ChoicePiece piece);
};

io::Json usage_json(const Usage& usage);
// "logprobs" in the form's own shape.
io::Json log_probabilities_json(AnswerForm form, const std::vector<TokenEntry>& entries);

std::string answer_json(const AnswerHead& head, const std::vector<Choice>& choices,
                        const Usage& usage);

// Chunks of a stream, each a JSON document. `has_usage`: the stream ends with one that tells the
// usage, and the others hold null.
struct ChunkHead : AnswerHead {
  bool has_usage = false;
};
std::string first_chunk(const ChunkHead& head, size_t index);  // of a chat: who speaks
std::string piece_chunk(const ChunkHead& head, size_t index, const ChoicePiece& piece);
std::string last_chunk(const ChunkHead& head, size_t index, infer::StopReason reason);
std::string usage_chunk(const ChunkHead& head, const Usage& usage);

struct EmbeddingAnswer {
  std::string model;
  std::vector<std::vector<float>> vectors;
  bool base64 = false;
  int64_t prompt_tokens = 0;
};
std::string embeddings_json(const EmbeddingAnswer& answer);
// Little-endian float32 numbers, in base64.
std::string base64_floats(const std::vector<float>& numbers);

struct ModelEntry {
  std::string id;
  int64_t created = 0;
  std::string type;
  int64_t context_length = 0;
  std::vector<std::string> endpoints = {};  // "/v1/completions", ... that it answers
  std::string chat_template = {};           // empty: it does not chat
};
io::Json model_json(const ModelEntry& model);
io::Json models_json(const std::vector<ModelEntry>& models);

}  // namespace headlight::server::openai
