// The routes of /v1: a body becomes a request, the request work for a model's thread.
#include <chrono>
#include <random>

#include "apps/server/openai/body_fields.h"
#include "apps/server/openai/embedding_reply.h"
#include "apps/server/openai/generation_reply.h"
#include "apps/server/openai/model_room.h"
#include "apps/server/openai/requests.h"
#include "apps/server/service.h"

namespace headlight::server {
namespace openai {
namespace {

constexpr uint64_t kInputBodyLimit = uint64_t{2} << 20;  // of completions and embeddings

int64_t seconds_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

uint64_t random_number() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

std::string random_id(std::string_view prefix) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string id(prefix);
  for (int half = 0; half < 2; ++half) {
    uint64_t bits = random_number();
    for (int i = 0; i < 12; ++i, bits >>= 4) id.push_back(kDigits[bits & 15]);
  }
  return id;
}

// Where the same seed gives the same text.
std::string fingerprint() { return "headlight-" HEADLIGHT_VERSION "-" + kernels::simd_target(); }

ChunkHead head_of(AnswerForm form, const GenerationFields& fields) {
  ChunkHead head;
  head.form = form;
  head.id = random_id(form == AnswerForm::chat ? "chatcmpl-" : "cmpl-");
  head.created = seconds_now();
  head.model = fields.model;
  head.fingerprint = fingerprint();
  head.is_scored = fields.alternatives.has_value();
  head.has_usage = fields.include_usage;
  return head;
}

infer::GenerationRequest generation_of(const ModelRoom& room, const GenerationFields& fields,
                                       uint64_t seed) {
  constexpr int64_t kBeyondSource = 50;  // as `headlight translate` writes at most
  infer::GenerationRequest request;
  request.sampling = {.repetition_penalty = room.writing().repetition_penalty,
                      .temperature = static_cast<float>(fields.temperature),
                      .top_p = static_cast<float>(fields.top_p),
                      .seed = seed};
  request.ending.max_new_tokens = fields.max_tokens.value_or(infer::kNoLimit);
  if (room.translates()) request.ending.max_beyond_source = kBeyondSource;
  request.ending.stop_texts = fields.stop;
  request.ending.tokenizer = room.texts().tokenizer();
  request.continuations = fields.choices;
  request.top_log_probabilities = fields.alternatives.value_or(0);
  return request;
}

// A prompt with the text that an answer begins with.
struct AskedPrompt {
  infer::Prompt prompt;
  std::optional<std::string> echo = {};
};

void submit_generation(const std::shared_ptr<ModelRoom>& room, const GenerationFields& fields,
                       GenerationReply::Setting setting, std::vector<AskedPrompt> prompts,
                       const std::shared_ptr<Reply>& reply) {
  if (!fields.stop.empty() && room->texts().tokenizer() == nullptr) {
    refuse_field("stop", "the model has no tokenizer, so there is no text to look in");
  }
  const uint64_t seed = fields.seed ? static_cast<uint64_t>(*fields.seed) : random_number();
  std::vector<infer::GenerationRequest> parts;
  std::vector<ChoiceText> texts;
  for (AskedPrompt& asked : prompts) {
    infer::GenerationRequest part = generation_of(*room, fields, seed);
    part.prompt = std::move(asked.prompt);
    part.first_sequence = parts.size() * static_cast<uint64_t>(fields.choices);
    part.prompt_log_probabilities = asked.echo && setting.head.is_scored;
    setting.prompt_tokens +=
        static_cast<int64_t>(part.prompt.ids.size() + part.prompt.source.size());
    for (int64_t i = 0; i < fields.choices; ++i) {
      texts.emplace_back(room->texts(), part.prompt.ids,
                         ChoiceOptions{.is_scored = setting.head.is_scored, .echo = asked.echo});
    }
    parts.push_back(std::move(part));
  }
  setting.is_stream = fields.stream;
  setting.choices = static_cast<size_t>(fields.choices);
  setting.served = room->served();
  auto work = std::make_shared<GenerationReply>(std::move(setting), std::move(texts), reply);
  work->parts = std::move(parts);
  reply->on_gone([weak = std::weak_ptr<GenerationReply>(work)] {
    if (const auto gone = weak.lock()) gone->cancel();
  });
  room->thread().submit(work);
}

void answer_completion(ModelRooms& rooms, const Request& request,
                       const std::shared_ptr<Reply>& reply) {
  const CompletionRequest asked = parse_completion_request(request.body);
  const std::shared_ptr<ModelRoom> room = rooms.open(asked.model);
  room->check_writes();
  if (asked.echo && room->translates()) {
    refuse_field("echo", "the model translates prompts, its texts do not go on from them");
  }
  std::vector<AskedPrompt> prompts;
  for (size_t i = 0; i < asked.prompts.size(); ++i) {
    const Input& input = asked.prompts[i];
    const std::string param =
        asked.prompts.size() == 1 ? "prompt" : "prompt[" + std::to_string(i) + "]";
    AskedPrompt prompt{.prompt = room->prompt_of(param, input)};
    if (asked.echo) {
      const std::string* text = std::get_if<std::string>(&input);
      prompt.echo = text != nullptr ? *text : room->texts().joined(prompt.prompt.ids);
    }
    prompts.push_back(std::move(prompt));
  }
  submit_generation(room, asked,
                    {.head = head_of(AnswerForm::completion, asked), .param = "prompt"},
                    std::move(prompts), reply);
}

// A model that translates is asked with one message at a time.
const std::string& translated_text(const std::vector<ChatMessage>& messages) {
  for (size_t i = 0; i < messages.size(); ++i) {
    const std::string& role = messages[i].role;
    const bool is_last = i + 1 == messages.size();
    if (role == "system" || role == "developer" || (is_last && role != "user")) {
      refuse_field("messages[" + std::to_string(i) + "].role",
                   "is " + role +
                       "; the model translates the last message, which a user says, "
                       "and takes no instructions");
    }
  }
  return messages.back().content;
}

// The ids that the model's own template gives. Templates know a developer's message as a system's.
Ids templated_ids(const ServedModel& served, const std::vector<ChatMessage>& messages) {
  std::vector<io::Json> list;
  for (const ChatMessage& message : messages) {
    list.emplace_back(
        text::chat_message(message.role == "developer" ? "system" : message.role, message.content));
  }
  try {
    return recipes::conversation_ids(*served.chat_template, *served.tokenizer, list);
  } catch (const base::Error& error) {
    refuse_value("messages", error.what(), "invalid_value");
  }
}

Input conversation_input(const ModelRoom& room, const std::vector<ChatMessage>& messages) {
  const ServedModel& served = *room.served();
  if (room.translates()) return translated_text(messages);
  if (served.template_problem) std::rethrow_exception(served.template_problem);
  if (served.chat_template) return templated_ids(served, messages);
  return plain_text(messages);
}

void answer_chat(ModelRooms& rooms, const Request& request, const std::shared_ptr<Reply>& reply) {
  const ChatRequest asked = parse_chat_request(request.body);
  const std::shared_ptr<ModelRoom> room = rooms.open(asked.model);
  room->check_writes();
  std::vector<AskedPrompt> prompts;
  prompts.push_back(
      {.prompt = room->prompt_of("messages", conversation_input(*room, asked.messages))});
  submit_generation(room, asked, {.head = head_of(AnswerForm::chat, asked), .param = "messages"},
                    std::move(prompts), reply);
}

void answer_embedding(ModelRooms& rooms, const Request& request,
                      const std::shared_ptr<Reply>& reply) {
  const EmbeddingRequest asked = parse_embedding_request(request.body);
  const std::shared_ptr<ModelRoom> room = rooms.open(asked.model);
  room->check_embeds(asked.dimensions);
  std::vector<std::vector<int64_t>> sentences;
  for (size_t i = 0; i < asked.inputs.size(); ++i) {
    sentences.push_back(room->sentence_of(
        asked.inputs.size() == 1 ? "input" : "input[" + std::to_string(i) + "]", asked.inputs[i]));
  }
  auto work = std::make_shared<EmbeddingReply>(*room, std::move(sentences), asked.base64, reply);
  reply->on_gone([weak = std::weak_ptr<EmbeddingReply>(work)] {
    if (const auto gone = weak.lock()) gone->cancel();
  });
  room->thread().submit(std::shared_ptr<TurnWork>(work));
}

}  // namespace
}  // namespace openai

RoomState add_openai_routes(Router& router, Service& service) {
  using Answer = void (*)(openai::ModelRooms&, const Request&, const std::shared_ptr<Reply>&);
  auto rooms = std::make_shared<openai::ModelRooms>(service);
  const int64_t created = openai::seconds_now();
  service.on_stop.push_back([rooms](auto until) { return rooms->stop(until); });
  const Models& models = service.models;
  router.add("GET", "/v1/models", [&models, created](const Request&, std::shared_ptr<Reply> reply) {
    std::vector<openai::ModelEntry> entries;
    for (const std::string& id : models.ids()) {
      entries.push_back(openai::model_entry(*models.open(id), created));
    }
    reply->send_json(openai::models_json(entries));
  });
  router.add("GET", "/v1/models/{model}",
             [&models, created](const Request& request, std::shared_ptr<Reply> reply) {
               const auto served = models.open(request.parameters.at("model"));
               reply->send_json(openai::model_json(openai::model_entry(*served, created)));
             });
  const auto add = [&](const char* path, Answer answer, uint64_t body_limit) {
    router.add("POST", path,
               [rooms, answer](const Request& request, std::shared_ptr<Reply> reply) {
                 answer(*rooms, request, reply);
               },
               {.body_limit = body_limit});
  };
  add("/v1/completions", openai::answer_completion, openai::kInputBodyLimit);
  add("/v1/chat/completions", openai::answer_chat, RouteOptions().body_limit);
  add("/v1/embeddings", openai::answer_embedding, openai::kInputBodyLimit);
  return rooms;
}

}  // namespace headlight::server
