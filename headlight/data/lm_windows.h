// Windows over a stream of tokens, in each of which every token is to be predicted from those
// before it.
#pragma once

#include "headlight/data/token_stream.h"
#include "headlight/tensor/tensor.h"

namespace headlight::data {

// int64 (B, T). Where a window is shorter than T, ids are 0 and targets -1 behind its end.
struct LmBatch {
  tensor::Tensor ids;
  tensor::Tensor targets;  // ids, one place further on in the stream
  int64_t target_count = 0;
};

// Windows anywhere in the stream, drawn evenly. `name` (a path) is for errors: the stream must have
// more than block_size tokens.
class TrainingWindows {
 public:
  TrainingWindows(TokenStream tokens, int64_t block_size, const std::string& name);

  const TokenStream& tokens() const noexcept { return tokens_; }
  // `rows` windows of block_size tokens. Steps that draw several batches number their batches.
  LmBatch batch(uint64_t seed, uint64_t step, int64_t rows) const;

 private:
  TokenStream tokens_;
  int64_t block_size_;
};

// Windows side by side, in order: each token but the first is a target exactly once. The stream has
// at least two tokens.
class ValidationWindows {
 public:
  ValidationWindows(TokenStream tokens, int64_t block_size, const std::string& name);

  const TokenStream& tokens() const noexcept { return tokens_; }
  int64_t target_count() const noexcept { return tokens_.size() - 1; }
  int64_t window_count() const noexcept;
  // Windows [first, first + rows), fewer at the end. When the stream is shorter than a block, T is
  // its length less one.
  LmBatch batch(int64_t first, int64_t rows) const;

 private:
  TokenStream tokens_;
  int64_t block_size_;
};

}  // namespace headlight::data
