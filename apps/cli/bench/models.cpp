// GPTs of known sizes with random weights on random tokens.
#include "apps/cli/bench/training.h"
#include "apps/cli/bench/work.h"

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

WorkCase training(const TrainingSize& size) {
  const auto make = [size](const Execution& execution, uint64_t seed) {
    const auto work = std::make_shared<TrainingWork>(execution.threads, size, seed);
    return Work{.operations = size.operations(), .run = [work] { work->trainer().step(); }};
  };
  return {size.name, make};
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

double TrainingSize::operations() const {
  // Causal attention counts half the square, a backward twice its forward.
  const double attention = 2.0 * static_cast<double>(config.n_layer * rows * tokens) *
                           static_cast<double>(tokens * config.n_embd);
  return 3 * (2 * matrix_numbers(config) * static_cast<double>(rows * tokens) + attention);
}

std::vector<TrainingSize> training_sizes() {
  return {{"train-gpt2-4x64", kGpt2Config, 4, 64}, {"train-nanogpt-12x64", kNanoConfig, 12, 64}};
}

class TrainingWork::RandomTokens : public train::Task {
 public:
  RandomTokens(const TrainingSize& size, uint64_t seed)
      : batch_{.ids = random_ids(size.rows, size.tokens, size.config.vocab_size, seed),
               .targets = random_ids(size.rows, size.tokens, size.config.vocab_size, seed + 1)} {}
  models::Batch batch(int64_t) override { return batch_; }
  int64_t validation_batches() const override { return 0; }
  models::Batch validation_batch(int64_t) const override { return {}; }

 private:
  models::Batch batch_;
};

TrainingWork::TrainingWork(base::ThreadPool& threads, const TrainingSize& size, uint64_t seed,
                           int64_t shards, ranks::Group* group)
    : model_(size.config), task_(std::make_unique<RandomTokens>(size, seed)) {
  model_.draw(seed);
  trainer_.emplace(threads, model_, *task_,
                   train::TrainerOptions{.optimizer = {.grad_clip = 1}, .shards = shards}, group);
}

TrainingWork::~TrainingWork() = default;

std::vector<WorkCase> model_cases() {
  std::vector<WorkCase> cases;
  for (const TrainingSize& size : training_sizes()) cases.push_back(training(size));
  cases.push_back(decoding("decode-gpt2", kGpt2Config));
  return cases;
}

}  // namespace headlight::cli
