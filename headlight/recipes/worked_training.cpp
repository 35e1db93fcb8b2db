// All sentences in each step, through the trainer that trains everything else.
#include "headlight/recipes/worked_training.h"

#include <algorithm>
#include <chrono>

#include "headlight/infer/infer.h"
#include "headlight/train/train.h"

namespace headlight::recipes {
namespace {

class SentencesTask : public train::Task {
 public:
  explicit SentencesTask(models::Batch batch) : batch_(std::move(batch)) {}
  models::Batch batch(int64_t) override { return batch_; }
  int64_t validation_batches() const override { return 1; }
  models::Batch validation_batch(int64_t) const override { return batch_; }

 private:
  models::Batch batch_;
};

}  // namespace

WorkedTraining train_worked_model(base::ThreadPool& threads, const WorkedModel& worked,
                                  const std::function<void(int64_t, double)>& on_step) {
  const WorkedRecipe recipe;
  SentencesTask task(sentence_batch(worked));
  train::Trainer trainer(threads, *worked.model, task,
                         {.optimizer = recipe.optimizer, .schedule = recipe.schedule});
  WorkedTraining training{.steps = recipe.steps};
  const auto start = std::chrono::steady_clock::now();
  for (int64_t step = 0; step < recipe.steps; ++step) {
    const train::StepResult result = trainer.step();
    training.losses.push_back(result.loss);
    if (on_step) on_step(result.step, result.loss);
  }
  training.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  training.losses.push_back(trainer.evaluate());
  for (const auto& [name, numbers] : trainer.optimizer().state()) {
    tensor::Tensor copy = tensor::Tensor::uninitialized(numbers.dtype(), numbers.shape());
    std::copy_n(numbers.raw(), numbers.bytes(), copy.mutable_raw());
    training.optimizer_state.emplace(name, copy);
  }
  training.next_learning_rate = optim::learning_rate_at(recipe.schedule, recipe.steps);
  return training;
}

std::string continuation_of(base::ThreadPool& threads, const models::Model& model,
                            const text::Tokenizer& tokenizer, const std::string& text,
                            text::EncodeOptions options) {
  tensor::Arena arena;
  autograd::Context context{.threads = threads, .arena = arena};
  constexpr int64_t kMostWords = 12;
  const auto outputs = infer::greedy_outputs(context, model, {tokenizer.encode(text, options)},
                                             {.ending = {.max_new_tokens = kMostWords}});
  const infer::Continuation& output = outputs.front();
  return tokenizer.decode(output.ids, {.special = false}) +
         (output.reason == infer::StopReason::limit ? " …" : "");
}

std::vector<int64_t> written_ids(base::ThreadPool& threads, const models::Model& model,
                                 const std::vector<int64_t>& ids, int64_t most,
                                 const std::function<void()>& go_on) {
  const models::Capabilities can = model.capabilities();
  if (most <= 0 || (!can.translates && !can.continues_prompt)) return {};
  tensor::Arena arena;
  autograd::Context context{.threads = threads, .arena = arena};
  infer::Prompt prompt;
  (can.translates ? prompt.source : prompt.ids) = ids;
  const auto read = static_cast<int64_t>(can.translates ? 1 : ids.size());
  most = std::min(most, model.context_length() - read);
  if (most <= 0) return {};
  const auto on_token = [&](const infer::NewToken&) {
    if (go_on) go_on();
    return true;
  };
  return infer::generate(context, model, {prompt}, {.ending = {.max_new_tokens = most}}, on_token)
      .front()
      .ids;
}

}  // namespace headlight::recipes
