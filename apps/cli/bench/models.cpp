// GPTs of known sizes with random weights on random tokens.
#include "apps/cli/bench/work.h"
#include "headlight/train/train.h"

namespace headlight::cli {
namespace {

using kernels::Execution;

const models::GptConfig kGpt2Config = {};  // 124M parameters
// nanoGPT's recipe for a CPU.
const models::GptConfig kNanoConfig = {.block_size = 64,
                                       .vocab_size = 65,
                                       .n_layer = 4,
                                       .n_head = 4,
                                       .n_embd = 128,
                                       .bias = false,
                                       .activation = nn::Activation::gelu};

tensor::Tensor random_ids(int64_t rows, int64_t cols, int64_t vocabulary, uint64_t key) {
  std::vector<int64_t> ids;
  const base::Random random(key);
  for (uint64_t i = 0; i < static_cast<uint64_t>(rows * cols); ++i)
    ids.push_back(static_cast<int64_t>(random.below(i, static_cast<uint64_t>(vocabulary))));
  return tensor::Tensor::of({rows, cols}, ids);
}

// Numbers of all matrices that are multiplied with: four attention projections, two feed-forward
// layers, the output layer.
double matrix_numbers(const models::GptConfig& config) {
  return static_cast<double>(config.n_embd) *
         static_cast<double>(12 * config.n_layer * config.n_embd + config.vocab_size);
}

class RandomTokens : public train::Task {
 public:
  RandomTokens(int64_t rows, int64_t tokens, int64_t vocabulary, uint64_t seed)
      : batch_{.ids = random_ids(rows, tokens, vocabulary, seed),
               .targets = random_ids(rows, tokens, vocabulary, seed + 1)} {}
  models::Batch batch(int64_t) override { return batch_; }
  int64_t validation_batches() const override { return 0; }
  models::Batch validation_batch(int64_t) const override { return {}; }

 private:
  models::Batch batch_;
};

struct TrainingWork {
  TrainingWork(const Execution& execution, const models::GptConfig& config, int64_t rows,
               int64_t tokens, uint64_t seed)
      : model(config), task(rows, tokens, config.vocab_size, seed) {
    model.draw(seed);
    trainer.emplace(execution.threads, model, task,
                    train::TrainerOptions{.optimizer = {.grad_clip = 1}});
  }
  models::Gpt model;
  RandomTokens task;
  std::optional<train::Trainer> trainer;
};

WorkCase training(const std::string& name, const models::GptConfig& config, int64_t rows,
                  int64_t tokens) {
  // Causal attention counts half the square, a backward twice its forward.
  const double attention = 2.0 * static_cast<double>(config.n_layer * rows * tokens) *
                           static_cast<double>(tokens * config.n_embd);
  const double operations =
      3 * (2 * matrix_numbers(config) * static_cast<double>(rows * tokens) + attention);
  const auto make = [=](const Execution& execution, uint64_t seed) {
    const auto work = std::make_shared<TrainingWork>(execution, config, rows, tokens, seed);
    return Work{.operations = operations, .run = [work] { work->trainer->step(); }};
  };
  return {name + "-" + std::to_string(rows) + "x" + std::to_string(tokens), make};
}

struct DecodingWork {
  DecodingWork(const Execution& execution, const models::GptConfig& config, uint64_t seed)
      : execution(execution), model(config) {
    model.draw(seed);
  }
  // A token after a short prompt; when the context is full it begins again.
  void step() {
    autograd::Context context{.threads = execution.threads, .arena = execution.arena};
    if (!decoding || decoding->room() == 0) {
      decoding.emplace(model.start(context));
      decoding->read(context, random_ids(1, 16, model.vocab_size(), 1));
    }
    decoding->read(context, random_ids(1, 1, model.vocab_size(), 2));
  }
  Execution execution;
  models::Gpt model;
  std::optional<models::Decoding> decoding;
};

WorkCase decoding(const std::string& name, const models::GptConfig& config) {
  const auto make = [=](const Execution& execution, uint64_t seed) {
    const auto work = std::make_shared<DecodingWork>(execution, config, seed);
    return Work{.operations = 2 * matrix_numbers(config),
                .bytes = sizeof(float) * matrix_numbers(config),
                .run = [work] { work->step(); }};
  };
  return {name, make};
}

}  // namespace

std::vector<WorkCase> model_cases() {
  return {training("train-gpt2", kGpt2Config, 4, 64),
          training("train-nanogpt", kNanoConfig, 12, 64), decoding("decode-gpt2", kGpt2Config)};
}

}  // namespace headlight::cli
