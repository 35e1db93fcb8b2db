// Fields of bodies: what is supported, what changes nothing, and what is refused by name.
#include "apps/server/openai/requests.h"

#include <limits>

#include "apps/server/openai/body_fields.h"
#include "apps/server/openai/request_inputs.h"

namespace headlight::server::openai {
namespace {

constexpr int64_t kMostTokens = 1'000'000'000;

void read_stop(BodyFields& fields, GenerationFields& request) {
  const io::Json* stop = fields.find("stop");
  if (stop == nullptr) return;
  if (stop->text() != nullptr) {
    request.stop = {*stop->text()};
  } else {
    const io::Json::Array* list = fields.array("stop");
    if (list->size() > kMostStops) {
      refuse_value("stop",
                   "has " + std::to_string(list->size()) + " texts, at most " +
                       std::to_string(kMostStops) + " are looked for",
                   "array_above_max_length");
    }
    for (size_t i = 0; i < list->size(); ++i) {
      const std::string* text = (*list)[i].text();
      if (text == nullptr) {
        refuse_value("stop[" + std::to_string(i) + "]", "must be a string, is " + shown((*list)[i]),
                     "invalid_type");
      }
      request.stop.push_back(*text);
    }
  }
  for (const std::string& text : request.stop) {
    if (text.empty()) {
      refuse_value("stop", "an empty text would end it before the first token", "invalid_value");
    }
  }
}

void read_stream_options(BodyFields& fields, GenerationFields& request) {
  request.stream = fields.boolean("stream").value_or(false);
  const io::Json* options = fields.find("stream_options");
  if (options == nullptr) return;
  if (!request.stream) {
    refuse_value("stream_options", "is only for streams: set \"stream\" to true", "invalid_value");
  }
  BodyFields members(*options, "stream_options.");
  request.include_usage = members.boolean("include_usage").value_or(false);
  members.only_false("include_obfuscation", "nothing is added to chunks");
  members.refuse_unknown();
}

void read_generation_fields(BodyFields& fields, GenerationFields& request) {
  constexpr double kMostTemperature = 2;
  request.model = fields.needed_text("model");
  request.choices = fields.integer("n", 1, kMostChoices).value_or(1);
  request.temperature = fields.number("temperature", 0, kMostTemperature).value_or(1);
  request.top_p = fields.number("top_p", 0, 1).value_or(1);
  request.seed = fields.integer("seed", std::numeric_limits<int64_t>::min(),
                                std::numeric_limits<int64_t>::max());
  read_stop(fields, request);
  read_stream_options(fields, request);
  fields.only_zero("frequency_penalty", -2, 2);
  fields.only_zero("presence_penalty", -2, 2);
  fields.only_empty("logit_bias", "logits are not changed");
  fields.ignore_text("user");
}

// Labels of the client's own.
void check_metadata(BodyFields& fields) {
  const io::Json* metadata = fields.find("metadata");
  if (metadata == nullptr) return;
  BodyFields members(*metadata, "metadata.");
  for (const auto& [name, value] : *metadata->object()) members.ignore_text(name);
}

// Fields of chat that ask for what is not there, with the values that ask for nothing.
void refuse_other_abilities(BodyFields& fields) {
  constexpr std::string_view kTools = "models here call no tools";
  constexpr std::string_view kTextOnly = "answers are text";
  fields.only_empty("tools", kTools);
  fields.only_empty("functions", kTools);
  fields.only_text("tool_choice", {"none"}, kTools);
  fields.only_text("function_call", {"none"}, kTools);
  fields.boolean("parallel_tool_calls");
  fields.only_empty("audio", kTextOnly);
  fields.only_empty("prediction", "nothing is predicted ahead");
  fields.only_empty("web_search_options", "nothing is looked up");
  fields.only_empty("moderation", "answers are not judged");
  fields.only_text("reasoning_effort", {"none"}, "models here do not reason before they answer");
  fields.only_text("verbosity", {"medium"}, "the length of answers is not steered");
  if (const io::Json::Array* modalities = fields.array("modalities")) {
    for (const io::Json& modality : *modalities) {
      if (modality.text() != nullptr && *modality.text() == "text") continue;
      refuse_value("modalities", shown(modality) + " is not supported: answers are text",
                   "unsupported_value");
    }
  }
  if (const io::Json* format = fields.find("response_format")) {
    BodyFields members(*format, "response_format.");
    members.needed_text("type");
    members.only_text("type", {"text"}, "answers are free text");
    members.refuse_unknown();
  }
}

void ignore_bookkeeping(BodyFields& fields) {
  check_metadata(fields);
  fields.only_false("store", "answers are not kept");
  fields.only_text("service_tier", {"auto", "default"}, "there is one tier");
  fields.ignore_text("safety_identifier");
  fields.ignore_text("prompt_cache_key");
  fields.ignore_text("prompt_cache_retention");
}

std::optional<int64_t> chat_limit(BodyFields& fields) {
  const auto old_limit = fields.integer("max_tokens", 1, kMostTokens);
  const auto limit = fields.integer("max_completion_tokens", 1, kMostTokens);
  if (old_limit && limit && *old_limit != *limit) {
    refuse_value("max_tokens",
                 "is " + std::to_string(*old_limit) + " and max_completion_tokens is " +
                     std::to_string(*limit) + ": give one of them",
                 "invalid_value");
  }
  return limit ? limit : old_limit;
}

std::optional<int64_t> chat_alternatives(BodyFields& fields) {
  constexpr int64_t kMostAlternatives = 20;
  const bool has_logprobs = fields.boolean("logprobs").value_or(false);
  const auto alternatives = fields.integer("top_logprobs", 0, kMostAlternatives);
  if (alternatives && !has_logprobs) {
    refuse_value("top_logprobs", "needs \"logprobs\" to be true", "invalid_value");
  }
  if (!has_logprobs) return std::nullopt;
  return alternatives.value_or(0);
}

}  // namespace

CompletionRequest parse_completion_request(std::string_view body) {
  constexpr int64_t kMostAlternatives = 5;
  constexpr int64_t kUsualTokens = 16;
  const io::Json json = parse_body(body);
  BodyFields fields(json);
  CompletionRequest request;
  read_generation_fields(fields, request);
  request.max_tokens = fields.integer("max_tokens", 0, kMostTokens).value_or(kUsualTokens);
  request.alternatives = fields.integer("logprobs", 0, kMostAlternatives);
  request.echo = fields.boolean("echo").value_or(false);
  const auto best_of = fields.integer("best_of", 1, kMostChoices);
  if (best_of && *best_of != request.choices) {
    refuse_value("best_of",
                 "is " + std::to_string(*best_of) + " and n is " + std::to_string(request.choices) +
                     "; only as many as are returned are written",
                 "unsupported_value");
  }
  fields.only_empty("suffix", "models here write on, they do not fill in");
  const io::Json* prompt = fields.find("prompt");
  request.prompts = prompt == nullptr ? std::vector<Input>{std::string()}
                                      : read_inputs("prompt", *prompt, kMostSequences);
  fields.refuse_unknown();
  const size_t sequences = request.prompts.size() * static_cast<size_t>(request.choices);
  if (sequences > kMostSequences) {
    refuse_value("n",
                 std::to_string(request.choices) + " for each of " +
                     std::to_string(request.prompts.size()) + " prompts are " +
                     std::to_string(sequences) + " texts, at most " +
                     std::to_string(kMostSequences) + " are written for a request",
                 "above_max_value");
  }
  return request;
}

ChatRequest parse_chat_request(std::string_view body) {
  const io::Json json = parse_body(body);
  BodyFields fields(json);
  ChatRequest request;
  read_generation_fields(fields, request);
  request.max_tokens = chat_limit(fields);
  request.alternatives = chat_alternatives(fields);
  refuse_other_abilities(fields);
  ignore_bookkeeping(fields);
  request.messages = read_messages(fields);
  fields.refuse_unknown();
  return request;
}

EmbeddingRequest parse_embedding_request(std::string_view body) {
  const io::Json json = parse_body(body);
  BodyFields fields(json);
  EmbeddingRequest request;
  request.model = fields.needed_text("model");
  const std::string format = fields.text("encoding_format").value_or("float");
  fields.only_text("encoding_format", {"float", "base64"}, "it is \"float\" or \"base64\"");
  request.base64 = format == "base64";
  request.dimensions = fields.integer("dimensions", 1, kMostTokens);
  fields.ignore_text("user");
  const io::Json* input = fields.find("input");
  if (input == nullptr) refuse_value("input", "is missing", "missing_required_parameter");
  request.inputs = read_inputs("input", *input, kMostInputs);
  fields.refuse_unknown();
  return request;
}

std::string plain_text(const std::vector<ChatMessage>& messages) {
  std::string text;
  for (const ChatMessage& message : messages) {
    if (&message != &messages.front()) text += '\n';
    text += message.content;
  }
  return text;
}

}  // namespace headlight::server::openai
