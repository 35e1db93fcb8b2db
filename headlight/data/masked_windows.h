// Windows over a stream of tokens with what a tokenizer puts around a text, in which some words are
// hidden and to be predicted.
#pragma once

#include "headlight/data/hidden_words.h"
#include "headlight/data/token_stream.h"
#include "headlight/tensor/tensor.h"

namespace headlight::data {

// int64 (B, T). Of row b the first lens[b] ids count; behind them stands padding, and -1 in
// targets.
struct MaskedBatch {
  tensor::Tensor ids;
  tensor::Tensor lens;     // (B,)
  tensor::Tensor targets;  // the hidden words; -1: not hidden
};

// What windows have in common: how many ids they hold, what is around them, what can be hidden.
struct MaskedWindowOptions {
  int64_t block_size = 0;            // ids of a window, those around it included
  std::vector<int64_t> before = {};  // of the tokenizer's frame: [CLS]
  std::vector<int64_t> after = {};   // [SEP]
  int64_t padding = 0;
  HiddenWords hidden = {};

  int64_t words() const { return block_size - std::ssize(before) - std::ssize(after); }
};
// As the tokenizer has it; throws Error(bad_input) with `name` (a path) where it has no mask.
MaskedWindowOptions masked_window_options(const text::Tokenizer& tokenizer, int64_t block_size,
                                          const std::string& name);

// Windows anywhere in the stream, drawn evenly, with other words hidden each time. `name` (a path)
// is for errors: the stream must fill a window.
class MaskedTrainingWindows {
 public:
  MaskedTrainingWindows(TokenStream tokens, MaskedWindowOptions options, const std::string& name);

  const TokenStream& tokens() const noexcept { return tokens_; }
  // What is drawn for a row depends on seed, step and row alone.
  MaskedBatch batch(uint64_t seed, uint64_t step, int64_t rows) const;

 private:
  TokenStream tokens_;
  MaskedWindowOptions options_;
};

// Windows side by side, in order; in each the same words are hidden every time.
class MaskedValidationWindows {
 public:
  MaskedValidationWindows(TokenStream tokens, MaskedWindowOptions options, const std::string& name);

  const TokenStream& tokens() const noexcept { return tokens_; }
  int64_t window_count() const noexcept;
  int64_t window_length() const noexcept;  // T of all batches
  // Words hidden in all windows.
  int64_t target_count() const;
  // Windows [first, first + rows), fewer at the end.
  MaskedBatch batch(int64_t first, int64_t rows) const;

 private:
  TokenStream tokens_;
  MaskedWindowOptions options_;
};

}  // namespace headlight::data
