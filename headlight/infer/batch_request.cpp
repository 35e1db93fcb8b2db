// What a request must be, and what it takes.
#include "headlight/infer/batch_request.h"

#include <utility>

namespace headlight::infer {
namespace {

GenerationRequest checked_request(const Model& model, GenerationRequest request) {
  const bool translates = model.capabilities().translates;
  if (translates == request.prompt.source.empty()) {
    base::refuse("request", "source",
                 translates ? "is missing, the model translates" : "a decoder alone takes none");
  }
  if (request.continuations < 1) {
    base::refuse("request", "continuations",
                 std::to_string(request.continuations) + " cannot be, at least 1 is needed");
  }
  if (request.top_log_probabilities < 0) {
    base::refuse("request", "top_log_probabilities",
                 std::to_string(request.top_log_probabilities) + " cannot be, 0 is the least");
  }
  request.prompt = checked_prompts(model, {request.prompt}, request.ending.tokenizer).front();
  request.ending = checked_ending(model, request.ending);
  return request;
}

}  // namespace

BatchRequest::BatchRequest(const Model& model, GenerationRequest request)
    : asked(checked_request(model, std::move(request))),
      sampler(asked.sampling),
      limit(limit_of(model, asked.ending, asked.prompt)),
      sequence_bytes(models::cache_bytes(*model.parts().decoder, most_ids(),
                                         static_cast<int64_t>(asked.prompt.source.size()))),
      going_on(asked.continuations) {}

int64_t BatchRequest::most_ids() const {
  if (limit.count > 0) return prompt_size() + limit.count - 1;
  return asked.prompt_log_probabilities ? prompt_size() : 0;
}

ScoredToken scored_token(const LogitRows& rows, size_t row, int64_t id, int64_t top) {
  ScoredToken token{.id = id, .log_probability = rows.log_probability(row, id)};
  for (const int64_t likely : top_ids(rows.logits_of(row), static_cast<size_t>(top))) {
    token.top.push_back({likely, rows.log_probability(row, likely)});
  }
  return token;
}

}  // namespace headlight::infer
