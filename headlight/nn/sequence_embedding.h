// SequenceEmbedding: ids to rows, with positions added.
#pragma once

#include <optional>
#include <string>

#include "headlight/nn/linear.h"
#include "headlight/nn/positions.h"

namespace headlight::nn {

struct SequenceEmbeddingOptions {
  int64_t max_length = 0;              // most ids of a sequence
  std::string learned_positions = {};  // name of their table; empty: sinusoidal
  bool adds_positions = true;          // false: none, attention knows them by other ways
  // Number of the first position. A learned table has that many rows more.
  int64_t position_start = 0;
  // An id that takes no position, RoBERTa's padding: it has the row before the first one's.
  std::optional<int64_t> unplaced_id = {};
  kernels::SinusoidOptions sinusoids = {};  // `first` is position_start
  float scale = 1;                          // of the embeddings, before positions are added
  // Name of a layer without a bias that brings rows of the table to `width`; empty: there is none.
  std::string projection = {};
  int64_t width = 0;       // of the result; only with a projection
  float dropout = 0;       // of the sum
  std::string place = {};  // e.g. "decoder"
};

// An observer may want at "<place>.": embedding (scaled), widened (where there is a projection),
// positions, where they are added, and sum, all (B, T, C).
class SequenceEmbedding {
 public:
  SequenceEmbedding(Embedding tokens, const SequenceEmbeddingOptions& options);
  Parameters parameters() const;  // the table of ids included
  const SequenceEmbeddingOptions& options() const noexcept { return options_; }
  int64_t max_length() const noexcept { return options_.max_length; }

  struct Call {
    tensor::Tensor lens = {};  // i64 (B,): rows from here on are padding, their positions any
    tensor::Tensor past = {};  // i64 (B,): ids before these; absent: none
    Value added = {};          // (B, T, C), e.g. segments
  };
  // ids i64 (B, T) to (B, T, C). Throws Error(bad_input) past max_length.
  Value forward(Context& context, const tensor::Tensor& ids, const Call& call) const;

 private:
  Value positions(Context& context, const tensor::Tensor& ids) const;
  bool has_unplaced(const tensor::Tensor& ids) const;
  Value with_positions(Context& context, const Value& rows, const tensor::Tensor& ids,
                       const Call& call) const;
  tensor::Tensor batch_positions(const tensor::Tensor& ids, const Call& call) const;
  void check(const tensor::Tensor& ids, const Call& call) const;

  SequenceEmbeddingOptions options_;
  Embedding tokens_;
  std::optional<Linear> projection_;
  std::optional<LearnedPositions> learned_;
  std::optional<SinusoidalPositions> sinusoidal_;
};

}  // namespace headlight::nn
