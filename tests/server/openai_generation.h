// OpenAiGeneration: the routes of /v1 beside what the engine gives alone.
#pragma once

#include "headlight/infer/infer.h"
#include "tests/models/support.h"
#include "tests/server/openai_support.h"

namespace headlight::server::openai {

using io::Json;

class OpenAiGeneration : public OpenAiTest {
 protected:
  const ServedModel& model(const std::string& id) {
    if (!service_) serve();
    return *models_->open(id);
  }
  infer::Continuation alone(const std::string& id, const infer::Prompt& prompt,
                            infer::GenerateOptions options) {
    const ServedModel& served = model(id);
    options.ending.tokenizer = served.tokenizer ? &*served.tokenizer : nullptr;
    return infer::generate(context_, served.model(), {prompt}, options).front();
  }
  infer::Continuation alone(const std::string& id, const std::string& text,
                            const infer::GenerateOptions& options) {
    return alone(id, {.ids = model(id).tokenizer->encode(text)}, options);
  }
  // log_softmax of all rows of one forward pass, (T, V).
  tensor::Tensor rows_of(const std::string& id, const std::vector<int64_t>& ids) {
    const models::Model& loaded = model(id).model();
    const tensor::Tensor batch = tensor::Tensor::of({1, static_cast<int64_t>(ids.size())}, ids);
    return autograd::log_softmax(context_,
                                 loaded.logits(context_, loaded.forward(context_, {.ids = batch})))
        .data();
  }

  tensor::Arena arena_;
  autograd::Context context_{.threads = threads_, .arena = arena_};
};

inline std::string body_of(const Json::Object& fields) { return io::json_text(fields); }

inline Json::Object greedy(const std::string& model, const std::string& prompt, int64_t tokens) {
  return {{"model", model}, {"prompt", prompt}, {"max_tokens", tokens}, {"temperature", 0}};
}

inline Json::Object chat_body(const std::string& model, const std::string& content) {
  return {{"model", model},
          {"messages", Json::Array{Json::Object{{"role", "user"}, {"content", content}}}}};
}

}  // namespace headlight::server::openai
