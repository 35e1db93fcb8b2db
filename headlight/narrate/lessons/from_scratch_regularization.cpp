// Overfitting, and what dropout and weight decay do against it: a run of a few seconds at most.
#include <array>
#include <cmath>

#include "headlight/models/models.h"
#include "headlight/narrate/lessons/from_scratch.h"
#include "headlight/narrate/lessons/lesson_parts.h"
#include "headlight/optim/optim.h"

namespace headlight::narrate {
namespace {

using tensor::Tensor;

constexpr int64_t kSymbols = 8;
constexpr int64_t kLearned = 16;   // sequences to learn from
constexpr int64_t kHeldOut = 128;  // sequences that are never learned
constexpr int64_t kSequenceLength = 16;
constexpr int kOverfittingSteps = 150;
constexpr float kStrongDropout = 0.4F;
constexpr double kStrongDecay = 0.3;

using Chances = std::array<double, kSymbols>;

// What follows a symbol, by chance: mostly one of two others. No model can know more than this.
Chances chances_after(int64_t symbol) {
  Chances chances;
  chances.fill(0.2 / kSymbols);
  chances[static_cast<size_t>((symbol + 1) % kSymbols)] += 0.5;
  chances[static_cast<size_t>((symbol + 4) % kSymbols)] += 0.3;
  return chances;
}

// The smallest loss that is possible on what comes from this source.
double smallest_loss() {
  double loss = 0;
  for (const double chance : chances_after(0)) loss -= chance * std::log(chance);
  return loss;
}

// Sequences of the source, each symbol with the one that follows it as its target.
models::Batch drawn_batch(uint64_t seed, int64_t count) {
  const base::Random random(seed);
  std::vector<int64_t> ids, targets;
  uint64_t draws = 0;
  for (int64_t sequence = 0; sequence < count; ++sequence) {
    auto symbol = static_cast<int64_t>(random.below(draws++, kSymbols));
    for (int64_t t = 0; t < kSequenceLength; ++t) {
      ids.push_back(symbol);
      constexpr uint64_t kFine = 1 << 20;
      double left = static_cast<double>(random.below(draws++, kFine)) / kFine;
      const Chances chances = chances_after(symbol);
      int64_t next = 0;
      while (next + 1 < kSymbols && left >= chances[static_cast<size_t>(next)]) {
        left -= chances[static_cast<size_t>(next++)];
      }
      symbol = next;
      targets.push_back(symbol);
    }
  }
  const tensor::Shape shape{count, kSequenceLength};
  return {.ids = Tensor::of(shape, ids), .targets = Tensor::of(shape, targets)};
}

struct Losses {
  double learned = 0, held_out = 0;
};

Losses train_small_model(LessonOptions& options, float dropout, double weight_decay) {
  models::Gpt model({.block_size = kSequenceLength,
                     .vocab_size = kSymbols,
                     .n_layer = 2,
                     .n_head = 4,
                     .n_embd = 32,
                     .dropout = dropout});
  model.draw(options.seed);
  const models::Batch learned = drawn_batch(base::mix(options.seed, 1), kLearned);
  const models::Batch held_out = drawn_batch(base::mix(options.seed, 2), kHeldOut);
  optim::Optimizer optimizer(model.parameters(),
                             {.learning_rate = 5e-3, .weight_decay = weight_decay});
  tensor::Arena arena;
  for (int step = 0; step < kOverfittingSteps; ++step) {
    autograd::Tape tape;
    autograd::Context context{.threads = options.threads,
                              .arena = arena,
                              .tape = &tape,
                              .random = {options.seed, static_cast<uint64_t>(step)},
                              .training = true};
    tape.backward(context, model.loss(context, learned));
    optimizer.step(context.execution());
    optimizer.clear_gradients();
  }
  autograd::Context context{.threads = options.threads, .arena = arena};
  const auto loss = [&](const models::Batch& batch) {
    return static_cast<double>(model.loss(context, batch).data().data<float>()[0]);
  };
  return {loss(learned), loss(held_out)};
}

}  // namespace

ShownStep scratch_regularization(LessonOptions& options) {
  const Catalogue& catalogue = options.catalogue;
  const Losses& without =
      options.runs->once("unregularized", [&] { return train_small_model(options, 0, 0); });
  const Losses& with = options.runs->once(
      "regularized", [&] { return train_small_model(options, kStrongDropout, kStrongDecay); });
  ShownStep step = lesson_step(options, "from-scratch", 8);
  step.paragraphs.push_back(
      catalogue.text("lesson.from-scratch.8.run", {{"count", std::to_string(kLearned)},
                                                   {"held_out", std::to_string(kHeldOut)},
                                                   {"steps", std::to_string(kOverfittingSteps)}}));
  const auto shown = [&](double value) { return catalogue.number(value, 4); };
  step.tables = {
      {{{"", catalogue.text("label.learned_data"), catalogue.text("label.new_data")},
        {catalogue.text("label.unregularized"), shown(without.learned), shown(without.held_out)},
        {catalogue.text("label.regularized"), shown(with.learned), shown(with.held_out)},
        {catalogue.text("label.smallest_loss"), "", shown(smallest_loss())}}}};
  step.numbers = {{"unregularized_training_loss", without.learned},
                  {"unregularized_held_out_loss", without.held_out},
                  {"regularized_training_loss", with.learned},
                  {"regularized_held_out_loss", with.held_out},
                  {"smallest_possible_loss", smallest_loss()}};
  step.afterwards = {catalogue.text("lesson.from-scratch.8.answer")};
  return step;
}

}  // namespace headlight::narrate
