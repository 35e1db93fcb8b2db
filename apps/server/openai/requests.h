// What OpenAI's API is asked for: bodies of completions, chat completions and embeddings, checked
// field by field. Pure functions: text in, a request or an HttpError 400 that names the field out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace headlight::server::openai {

using Ids = std::vector<int64_t>;
// A text, or the ids of one.
using Input = std::variant<std::string, Ids>;

inline constexpr int64_t kMostChoices = 128;     // n
inline constexpr size_t kMostSequences = 256;    // prompts times n
inline constexpr size_t kMostStops = 4;          // stop texts
inline constexpr size_t kMostInputs = 2048;      // of embeddings
inline constexpr size_t kMostMessages = 10'000;  // of a conversation

// What completions and chat have in common.
struct GenerationFields {
  std::string model;
  int64_t choices = 1;                     // n
  std::optional<int64_t> max_tokens = {};  // nothing: as many as the context has room for
  double temperature = 1;                  // 0: greedy
  double top_p = 1;
  std::optional<int64_t> seed = {};  // nothing: another one each time
  std::vector<std::string> stop = {};
  // Alternatives told for each token; nothing: no logarithms of probabilities at all.
  std::optional<int64_t> alternatives = {};
  bool stream = false;
  bool include_usage = false;
};

struct CompletionRequest : GenerationFields {
  std::vector<Input> prompts = {};  // at least one
  bool echo = false;
};

struct ChatMessage {
  std::string role;  // "system", "developer", "user" or "assistant"
  std::string content;
};

struct ChatRequest : GenerationFields {
  std::vector<ChatMessage> messages = {};  // at least one
};

struct EmbeddingRequest {
  std::string model;
  std::vector<Input> inputs = {};  // at least one
  bool base64 = false;
  std::optional<int64_t> dimensions = {};
};

CompletionRequest parse_completion_request(std::string_view body);
ChatRequest parse_chat_request(std::string_view body);
EmbeddingRequest parse_embedding_request(std::string_view body);

// The text that a conversation is for a model without a template of its own: the contents of its
// messages, each on its own line, without a word about who said what. Such a model has not been
// trained on conversations, and a single message is continued as /v1/completions would.
inline constexpr std::string_view kPlainTemplate = "plain";
inline constexpr std::string_view kOwnTemplate = "model";  // the one that comes with the model
std::string plain_text(const std::vector<ChatMessage>& messages);

}  // namespace headlight::server::openai
