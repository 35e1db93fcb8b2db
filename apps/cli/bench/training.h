// Training steps of GPTs of known sizes, with random weights on random tokens.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headlight/train/train.h"

namespace headlight::cli {

struct TrainingSize {
  std::string name;  // "train-gpt2-4x64": what, then sequences and tokens of each
  models::GptConfig config;
  int64_t rows = 0;
  int64_t tokens = 0;

  double operations() const;  // useful ones, of a step
};
std::vector<TrainingSize> training_sizes();

// A model and its trainer. The threads and the group outlive it.
class TrainingWork {
 public:
  TrainingWork(base::ThreadPool& threads, const TrainingSize& size, uint64_t seed,
               int64_t shards = 1, ranks::Group* group = nullptr);
  ~TrainingWork();
  TrainingWork(const TrainingWork&) = delete;
  TrainingWork& operator=(const TrainingWork&) = delete;

  train::Trainer& trainer() { return *trainer_; }

 private:
  class RandomTokens;
  models::Gpt model_;
  std::unique_ptr<RandomTokens> task_;
  std::optional<train::Trainer> trainer_;
};

}  // namespace headlight::cli
