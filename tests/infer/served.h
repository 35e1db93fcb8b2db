// A RequestBatch with what was asked of it and what came, and comparisons with generate() alone.
#pragma once

#include <map>

#include "tests/infer/support.h"

namespace headlight::infer {

// What a request has got so far.
struct Answer {
  std::vector<Continuation> continuations = {};
  std::vector<std::vector<ScoredToken>> tokens = {};  // by continuation
  std::vector<bool> has_ended = {};
  std::optional<std::vector<ScoredToken>> prompt = {};
  std::string error = {};
  bool is_done = false;
};

inline void add_event(Answer& answer, const RequestEvent& event) {
  EXPECT_FALSE(answer.is_done) << "request " << event.request << " goes on after its last event";
  answer.is_done = event.is_last;
  if (event.error) {
    answer.error = event.error->what();
    return;
  }
  if (!event.token && !event.reason) {
    EXPECT_FALSE(answer.prompt.has_value());
    answer.prompt = event.prompt;
    return;
  }
  ASSERT_LT(event.continuation, answer.continuations.size());
  EXPECT_FALSE(answer.has_ended[event.continuation]);
  Continuation& continuation = answer.continuations[event.continuation];
  if (event.token) {
    continuation.log_probabilities.push_back(event.token->log_probability);
    answer.tokens[event.continuation].push_back(*event.token);
    if (!event.is_stop) continuation.ids.push_back(event.token->id);
  }
  continuation.text += event.text;
  if (!event.reason) return;
  continuation.reason = *event.reason;
  answer.has_ended[event.continuation] = true;
}

// A batch, what was asked of it and what came.
class Served {
 public:
  Served(const models::Model& model, const BatchLimits& limits = {}) : batch(model, limits) {}

  uint64_t add(const GenerationRequest& request) {
    const uint64_t number = batch.add(request);
    requests[number] = request;
    const auto count = static_cast<size_t>(request.continuations);
    answers[number] = {.continuations = std::vector<Continuation>(count),
                       .tokens = std::vector<std::vector<ScoredToken>>(count),
                       .has_ended = std::vector<bool>(count)};
    return number;
  }

  bool drop(uint64_t number) {
    answers.erase(number);
    return batch.drop(number);
  }

  std::vector<RequestEvent> step(autograd::Context& context) {
    const std::vector<RequestEvent> events = batch.step(context);
    for (const RequestEvent& event : events) {
      const auto found = answers.find(event.request);
      EXPECT_TRUE(found != answers.end()) << "an event of dropped request " << event.request;
      if (found != answers.end()) add_event(found->second, event);
    }
    const RequestBatch::Load load = batch.load();
    EXPECT_LE(load.cached_bytes, load.reserved_bytes);
    return events;
  }

  void finish(autograd::Context& context) {
    for (int i = 0; i < 10000 && !batch.is_idle(); ++i) step(context);
    EXPECT_TRUE(batch.is_idle());
    expect_empty();
  }

  void expect_empty() const {
    const RequestBatch::Load load = batch.load();
    EXPECT_EQ(load.waiting + load.reading + load.writing, 0);
    EXPECT_EQ(load.reserved_bytes, 0U);
    EXPECT_EQ(load.cached_bytes, 0U);
  }

  RequestBatch batch;
  std::map<uint64_t, GenerationRequest> requests;
  std::map<uint64_t, Answer> answers;
};

// Sequences of several tiles of keys.
inline std::unique_ptr<models::Model> long_gpt() {
  return std::make_unique<models::Gpt>(models::GptConfig{
      .block_size = 400, .vocab_size = 30, .n_layer = 2, .n_head = 2, .n_embd = 10});
}

class Requests : public ModelTest {
 protected:
  autograd::Context alone_context() { return {.threads = one_thread_, .arena = arena_}; }

  // Log-probabilities after these ids, computed from scratch.
  std::vector<float> scored(const models::Model& model, const Ids& ids, const Ids& source) {
    autograd::Context context = alone_context();
    models::Batch batch{.ids = Tensor::of({1, static_cast<int64_t>(ids.size())}, ids)};
    if (!source.empty()) {
      batch.source_ids = Tensor::of({1, static_cast<int64_t>(source.size())}, source);
    }
    const Tensor logits = model.next_logits(context, batch);
    const Tensor rows =
        autograd::log_softmax(context, autograd::Value::leaf(logits)).data().contiguous();
    return {rows.data<float>(), rows.data<float>() + rows.elements()};
  }

  // The token is scored as it is from scratch, and so are the `top` likeliest.
  void expect_scored(const ScoredToken& token, const std::vector<float>& expected, int64_t top) {
    EXPECT_EQ(token.log_probability, expected[static_cast<size_t>(token.id)]);
    const auto count = std::min<size_t>(static_cast<size_t>(top), expected.size());
    ASSERT_EQ(token.top.size(), count);
    std::vector<float> sorted = expected;
    std::ranges::sort(sorted, std::greater<>());
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(token.top[i].log_probability, sorted[i]);
      EXPECT_EQ(expected[static_cast<size_t>(token.top[i].id)], sorted[i]);
    }
  }

  void expect_prompt(const models::Model& model, const GenerationRequest& request,
                     const Answer& answer) {
    ASSERT_EQ(answer.prompt.has_value(), request.prompt_log_probabilities);
    if (!answer.prompt) return;
    const Ids& ids = request.prompt.ids;
    ASSERT_EQ(answer.prompt->size() + 1, ids.size());
    const size_t step = ids.size() > 50 ? 37 : 1;  // from scratch each of them takes its time
    for (size_t i = 1; i < ids.size(); i += step) {
      const ScoredToken& token = (*answer.prompt)[i - 1];
      EXPECT_EQ(token.id, ids[i]);
      expect_scored(token,
                    scored(model, Ids(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(i)),
                           request.prompt.source),
                    request.top_log_probabilities);
    }
  }

  // The answer is that of generate() alone.
  void expect_alone(const models::Model& model, const GenerationRequest& request,
                    const Answer& answer) {
    EXPECT_TRUE(answer.is_done);
    EXPECT_EQ(answer.error, "");
    expect_prompt(model, request, answer);
    autograd::Context context = alone_context();
    for (size_t i = 0; i < answer.continuations.size(); ++i) {
      const Continuation alone = generate(context, model, {request.prompt},
                                          {.sampling = request.sampling,
                                           .ending = request.ending,
                                           .use_cache = i == 0,
                                           .first_sequence = request.first_sequence + i})
                                     .front();
      expect_same(answer.continuations[i], alone);
      const std::vector<ScoredToken>& tokens = answer.tokens[i];
      for (size_t t = 0; t<tokens.size(); t += tokens.size()> 20 ? 13 : 1) {
        Ids so_far = request.prompt.ids;
        so_far.insert(so_far.end(), alone.ids.begin(),
                      alone.ids.begin() + static_cast<std::ptrdiff_t>(t));
        expect_scored(tokens[t], scored(model, so_far, request.prompt.source),
                      request.top_log_probabilities);
      }
    }
  }

  base::ThreadPool one_thread_{1};
};

}  // namespace headlight::infer
