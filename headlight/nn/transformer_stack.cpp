// TransformerStack: the residual stream through all blocks, and the final norm.
#include "headlight/nn/transformer_stack.h"

#include <utility>

namespace headlight::nn {

TransformerStack::TransformerStack(std::vector<TransformerBlock> blocks,
                                   std::optional<Norm> final_norm, std::string place, float dropout)
    : blocks_(std::move(blocks)),
      final_norm_(std::move(final_norm)),
      place_(std::move(place)),
      dropout_(dropout) {}

Parameters TransformerStack::parameters() const {
  Parameters all;
  for (const TransformerBlock& block : blocks_) append(all, block.parameters());
  if (final_norm_) append(all, final_norm_->parameters());
  return all;
}

std::vector<MultiHeadAttention*> TransformerStack::attentions() {
  std::vector<MultiHeadAttention*> all;
  for (TransformerBlock& block : blocks_) {
    for (MultiHeadAttention* attention : block.attentions()) all.push_back(attention);
  }
  return all;
}

Value TransformerStack::forward(Context& context, const Value& input,
                                const TransformerBlock::Call& call,
                                std::vector<LayerCache>* caches) const {
  Residual x{input};
  for (size_t i = 0; i < blocks_.size(); ++i) {
    x = blocks_[i].forward(context, x, call, caches == nullptr ? nullptr : &(*caches)[i]);
  }
  const std::string name = autograd::place_name(place_, "output");
  const Value output =
      autograd::dropout(context, x.normalized(context, final_norm_).normalized, dropout_, name);
  autograd::observe(context, place_, "output", output);
  return output;
}

void TransformerStack::remember(Context& context, const Value& memory,
                                const tensor::Tensor& memory_lens,
                                std::vector<LayerCache>& caches) const {
  for (size_t i = 0; i < blocks_.size(); ++i) {
    blocks_[i].remember(context, memory, memory_lens, caches[i]);
  }
}

}  // namespace headlight::nn
