// Sequences: a batch that a model reads on, with a cache or from scratch each time; and how prompts
// begin and sequences end. Inside infer only.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "headlight/infer/generate.h"

namespace headlight::infer {

// Logits (B, V), and the logarithms of their probabilities. What the model never writes has -inf.
struct LogitRows {
  tensor::Tensor logits;
  tensor::Tensor log_probabilities;

  LogitRows(Context& context, const Model& model, const tensor::Tensor& rows);
  std::span<const float> logits_of(size_t row) const { return row_of(logits, row); }
  // Throws Error(failed) when it is not a number.
  float log_probability(size_t row, int64_t id) const;

 private:
  static std::span<const float> row_of(const tensor::Tensor& rows, size_t row);
};

class Sequences {
 public:
  // Throws Error(bad_input) for what the model cannot read. `read_before`: as GenerateOptions has
  // it, for one prompt with a cache.
  Sequences(Context& context, const Model& model, std::vector<Prompt> prompts, bool use_cache,
            ReadPrompts* read_before = nullptr);

  // The rows after the last id of each prompt; to be called first and once. Long prompts are read
  // in slices, so that memory does not grow with them.
  LogitRows begin();
  // The same, or nothing once `is_stopped`, asked before each slice, says so; no function: never.
  std::optional<LogitRows> begin_unless(const std::function<bool()>& is_stopped);
  // Each sequence reads one id more.
  LogitRows read(std::span<const int64_t> ids);
  // Goes on with these sequences, in this order: repeated, reordered or left out.
  void select(const std::vector<int64_t>& sequences);
  // Keeps what was read for later prompts, where that is wanted.
  void keep() const;
  int64_t reused() const noexcept { return reused_; }

 private:
  LogitRows from_scratch();
  std::optional<int64_t> read_slices(const std::function<bool()>& is_stopped);
  models::Batch sources() const;

  Context& context_;
  const Model& model_;
  std::vector<Prompt> sequences_;  // all that was read; with a cache, the prompts until begin()
  std::optional<models::Decoding> decoding_;  // with a cache
  ReadPrompts* read_before_;
  std::vector<int64_t> read_ids_ = {};  // of the one sequence, where they are kept
  int64_t reused_ = 0;
};

// Prompts as they are read: an empty one becomes the id that the model starts with. Throws
// Error(bad_input) for ids outside the vocabulary and prompts longer than the context.
std::vector<Prompt> checked_prompts(const Model& model, const std::vector<Prompt>& prompts,
                                    const text::Tokenizer* tokenizer);

// The ending with its stop ids filled in. Throws Error(bad_input) for one that cannot be.
Ending checked_ending(const Model& model, const Ending& ending);

bool is_stop_id(const Ending& ending, int64_t id);

// How many new ids a prompt may get, and why not more.
struct Limit {
  int64_t count = 0;
  StopReason reason = StopReason::limit;
};
Limit limit_of(const Model& model, const Ending& ending, const Prompt& prompt);
// The same where the context slides and ends nothing.
Limit wanted_limit(const Ending& ending, const Prompt& prompt);

}  // namespace headlight::infer
