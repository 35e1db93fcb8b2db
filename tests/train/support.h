// A small run for tests: an encoder-decoder that learns to copy.
#pragma once

#include <string>

#include "headlight/train/train.h"

namespace headlight::train {

inline TrainerOptions small_options() {
  return {.optimizer = {.grad_clip = 1},
          .schedule = {.learning_rate = 1e-2, .warmup_iters = 2},
          .label_smoothing = 0.1F,
          .seed = 3};
}

inline models::Seq2SeqConfig small_config(const data::GeneratedTask& task, int64_t width = 8) {
  const data::SequenceIds ids = task.ids();
  return {.vocab_size = task.tokenizer().size(),
          .decoder_vocab_size = task.tokenizer().size(),
          .d_model = width,
          .encoder_layers = 1,
          .decoder_layers = 1,
          .encoder_attention_heads = 2,
          .decoder_attention_heads = 2,
          .encoder_ffn_dim = 16,
          .decoder_ffn_dim = 16,
          .max_position_embeddings = 16,
          .dropout = 0.1F,
          .special_ids = {.padding = ids.pad, .end = ids.end, .decoder_start = ids.start}};
}

// All numbers that decide how a run goes on.
inline std::string bits_of(Trainer& trainer) {
  std::string bits;
  const auto add = [&bits](const auto* numbers, size_t count) {
    bits.append(reinterpret_cast<const char*>(numbers), count * sizeof *numbers);
  };
  for (const nn::StateDict& state : {trainer.model().state(), trainer.optimizer().state()}) {
    for (const auto& [name, tensor] : state)
      add(tensor.data<float>(), static_cast<size_t>(tensor.elements()));
  }
  const Progress& progress = trainer.progress();
  add(&progress.step, 1);
  add(&progress.evaluated_step, 1);
  add(&progress.valid_loss, 1);
  add(&progress.best_loss, 1);
  add(&progress.best_step, 1);
  add(&progress.evaluations_since_best, 1);
  return bits;
}

struct SmallRun {
  explicit SmallRun(int thread_count = 1, const TrainerOptions& options = small_options(),
                    int64_t width = 8)
      : threads(thread_count),
        cases(data::generated_task("copy")),
        model(small_config(*cases, width)),
        task(generated_task(*cases, 4, 7, 8)),
        trainer(threads, drawn(model), *task, options) {}

  static models::Model& drawn(models::Seq2Seq& model) {
    model.draw(5);
    return model;
  }
  void steps(int count) {
    for (int i = 0; i < count; ++i) trainer.step();
  }

  base::ThreadPool threads;
  std::unique_ptr<data::GeneratedTask> cases;
  models::Seq2Seq model;
  std::unique_ptr<Task> task;
  Trainer trainer;
};

}  // namespace headlight::train
