// Trains the English-Turkish model of docs/results.md for some steps without dropout, and leaves
// its first weights, every batch and its losses in a folder, for translation.py to do the same in
// PyTorch: translation TRAIN.tsv VALID.tsv FOLDER STEPS
#include <cstdio>
#include <filesystem>
#include <string>

#include "headlight/train/train.h"

using namespace headlight;

namespace {

constexpr uint64_t kSeed = 0;
constexpr int64_t kBatchTokens = 2048;

std::vector<data::Pair> read_pairs(base::FileSystem& files, const std::string& path) {
  return data::parse_pairs(text::read_text(files, path), path);
}

void write_batch(base::FileSystem& files, const std::string& path, const models::Batch& batch) {
  io::write_safetensors(files, path,
                        {{"ids", batch.ids},
                         {"source_ids", batch.source_ids},
                         {"source_lens", batch.source_lens},
                         {"targets", batch.targets}});
}

struct Comparison {
  base::FileSystem& files;
  std::string folder;
  data::SequenceIds ids;
  models::Seq2Seq model;
  std::unique_ptr<train::Task> task;
};

Comparison prepare(base::FileSystem& files, char** words) {
  const std::vector<data::Pair> training = read_pairs(files, words[1]);
  const std::vector<data::Pair> validation = read_pairs(files, words[2]);
  std::vector<std::string_view> texts;
  for (const data::Pair& pair : training) {
    texts.push_back(pair.source);
    texts.push_back(pair.target);
  }
  const text::Tokenizer tokenizer =
      text::train_bpe(texts, {.vocabulary_size = 8000, .special = text::sequence_tokens()});
  const text::SpecialIds& special = tokenizer.special();
  const data::SequenceIds ids{*special.pad, *special.bos, *special.eos};
  models::Seq2Seq model({.vocab_size = tokenizer.size(),
                         .d_model = 256,
                         .encoder_layers = 4,
                         .decoder_layers = 4,
                         .encoder_ffn_dim = 1024,
                         .decoder_ffn_dim = 1024,
                         .max_position_embeddings = 256,
                         .normalize_before = true,
                         .final_layer_norm = true});
  model.draw(kSeed);
  data::PairBatches batches(data::encode_pairs(tokenizer, tokenizer, training, words[1]),
                            {.batch_tokens = kBatchTokens, .ids = ids, .seed = kSeed}, words[1]);
  auto task = train::pair_task(std::move(batches),
                               data::encode_pairs(tokenizer, tokenizer, validation, words[2]), ids);
  return {files, words[3], ids, std::move(model), std::move(task)};
}

void leave_inputs(Comparison& c, int64_t steps) {
  models::save_model(c.files, c.folder, c.model);
  for (int64_t step = 0; step < steps; ++step)
    write_batch(c.files, c.folder + "/train-" + std::to_string(step) + ".safetensors",
                c.task->batch(step));
  for (int64_t i = 0; i < c.task->validation_batches(); ++i)
    write_batch(c.files, c.folder + "/valid-" + std::to_string(i) + ".safetensors",
                c.task->validation_batch(i));
}

}  // namespace

int main(int count, char** words) {
  if (count != 5) {
    std::fprintf(stderr, "usage: translation TRAIN.tsv VALID.tsv FOLDER STEPS\n");
    return 2;
  }
  try {
    const int64_t steps = std::stoll(words[4]);
    std::filesystem::create_directories(words[3]);
    Comparison c = prepare(base::real_files(), words);
    leave_inputs(c, steps);
    base::ThreadPool threads;
    train::Trainer trainer(threads, c.model, *c.task,
                           {.optimizer = {.beta2 = 0.98, .weight_decay = 0.05, .grad_clip = 1},
                            .schedule = {.kind = optim::ScheduleKind::constant,
                                         .learning_rate = 1e-3,
                                         .warmup_iters = 100},
                            .label_smoothing = 0.1F});
    for (int64_t step = 0; step < steps; ++step) {
      const train::StepResult result = trainer.step();
      if (step % 50 == 49)
        std::printf("step %lld  train loss %.4f  %.0f ms\n", static_cast<long long>(step + 1),
                    result.loss, 1000 * result.seconds);
      std::fflush(stdout);
    }
    std::printf("validation loss %.4f\n", trainer.evaluate());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
