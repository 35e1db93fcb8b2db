// The lesson "transformer": three sentences, a Transformer of width 6 with random weights, and
// training until it gives the right continuation.
#include <cstdio>

#include "headlight/explain/explain.h"
#include "headlight/infer/infer.h"
#include "headlight/recipes/recipes.h"

using namespace headlight;

namespace {

std::string continuation(base::ThreadPool& threads, const recipes::WorkedModel& worked,
                         const std::string& text) {
  tensor::Arena arena;
  autograd::Context context{.threads = threads, .arena = arena};
  const auto outputs = infer::greedy_outputs(
      context, *worked.model, {worked.tokenizer.encode(text)}, {.ending = {.max_new_tokens = 12}});
  return worked.tokenizer.decode(outputs.front().ids, {.special = false});
}

}  // namespace

int main() {
  base::ThreadPool threads;
  const recipes::WorkedModel worked =
      recipes::make_worked_model(recipes::default_sentences(), {.heads = 1});
  const recipes::SentencePair& pair = worked.sentences.front();
  std::printf("%s ...\nbefore training: %s\n", pair.source.c_str(),
              continuation(threads, worked, pair.source).c_str());

  const recipes::WorkedRecipe recipe;
  const models::Batch batch = recipes::sentence_batch(worked);
  optim::Optimizer optimizer(worked.model->parameters(), recipe.optimizer);
  tensor::Arena arena;
  for (int64_t step = 0; step < recipe.steps; ++step) {
    autograd::Tape tape;
    autograd::Context context{.threads = threads, .arena = arena, .tape = &tape, .training = true};
    const nn::Value loss = worked.model->loss(context, batch);
    tape.backward(context, loss);
    optimizer.step(context.execution(), optim::learning_rate_at(recipe.schedule, step));
    optimizer.clear_gradients();
    if (step % 100 == 0) {
      std::printf("step %3d  loss %.4f\n", static_cast<int>(step), loss.item());
    }
  }
  const std::string said = continuation(threads, worked, pair.source);
  std::printf("after training:  %s\n", said.c_str());

  // Every number of the run that says so can be asked for.
  const explain::Input input = explain::make_input(*worked.model, worked.tokenizer,
                                                   {.text = pair.source, .target = pair.target});
  const explain::Trace trace = explain::trace_model(threads, *worked.model, input);
  const explain::CellTerms cell =
      explain::explain_cell(trace, explain::parse_cell(trace, "encoder.0.self.head.0.scores[3,5]"));
  std::printf("encoder.0.self.head.0.scores[3,5] = %.4f, the sum of %zu products\n", cell.value,
              cell.terms.size());
  return said == pair.target ? 0 : 1;
}
