// Heads of stacks, block by block.
#include "headlight/heads/attention_heads.h"

#include <algorithm>

namespace headlight::heads {
namespace {

AttentionHeads named_heads(const nn::MultiHeadAttention& attention) {
  AttentionHeads heads{.place = attention.options().place,
                       .head_names = {},
                       .head_width = attention.options().value_head_dim};
  for (const int64_t head : attention.heads().numbers) {
    heads.head_names.push_back(heads.place + "." + std::to_string(head));
  }
  return heads;
}

void add_stack(const nn::TransformerStack& stack, bool is_output_stack,
               std::vector<AttentionHeads>& all) {
  const std::vector<nn::TransformerBlock>& blocks = stack.blocks();
  const bool causal = std::ranges::all_of(
      blocks, [](const nn::TransformerBlock& block) { return block.options().causal; });
  for (const nn::TransformerBlock& block : blocks) {
    for (const nn::MultiHeadAttention* attention : {&block.self(), block.cross()}) {
      if (attention == nullptr) continue;
      AttentionHeads heads = named_heads(*attention);
      heads.is_output_stack = is_output_stack;
      heads.is_last_layer = &block == &blocks.back();
      heads.causal = causal;
      all.push_back(std::move(heads));
    }
  }
}

}  // namespace

std::vector<AttentionHeads> attention_heads(const models::Model& model) {
  const models::Parts parts = model.parts();
  std::vector<AttentionHeads> all;
  if (parts.encoder != nullptr) add_stack(*parts.encoder, parts.decoder == nullptr, all);
  if (parts.decoder != nullptr) add_stack(*parts.decoder, true, all);
  return all;
}

}  // namespace headlight::heads
