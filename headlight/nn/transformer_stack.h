// TransformerStack: blocks in a row.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headlight/nn/transformer_block.h"

namespace headlight::nn {

// Blocks and, where there is one, a final norm; dropout of what they give. Observed as
// "<place>.output"; the final norm as
// "<place>.norm.*".
class TransformerStack {
 public:
  TransformerStack(std::vector<TransformerBlock> blocks, std::optional<Norm> final_norm,
                   std::string place, float dropout = 0);
  Parameters parameters() const;  // of parameters that blocks share, one
  std::vector<MultiHeadAttention*> attentions();
  const std::vector<TransformerBlock>& blocks() const noexcept { return blocks_; }
  const Norm* final_norm() const noexcept { return final_norm_ ? &*final_norm_ : nullptr; }
  const std::string& place() const noexcept { return place_; }

  // (B, T, C) to (B, T, C); `caches` has one entry per block.
  Value forward(Context& context, const Value& x, const TransformerBlock::Call& call,
                std::vector<LayerCache>* caches = nullptr) const;
  void remember(Context& context, const Value& memory, const tensor::Tensor& memory_lens,
                std::vector<LayerCache>& caches) const;

 private:
  std::vector<TransformerBlock> blocks_;
  std::optional<Norm> final_norm_;
  std::string place_;
  float dropout_;
};

}  // namespace headlight::nn
