// The layouts in which people store multi-head attention, and loading it from them.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "headlight/nn/multi_head_attention.h"
#include "headlight/nn/state.h"

namespace headlight::nn {

enum class AttentionLayout {
  fused,  // c_attn (3C, C), c_proj: nanoGPT
  gpt2,   // the same names, (in, out)
  d2l,    // W_q, W_k, W_v, W_o
  named,  // W_query, W_key, W_value, out_proj
  torch,  // in_proj_weight or q_proj_weight ..., in_proj_bias, out_proj: nn.MultiheadAttention
};

std::span<const AttentionLayout> attention_layouts();  // all
// The enumerator's own.
const char* name_of(AttentionLayout layout);
std::optional<AttentionLayout> attention_layout(std::string_view name);

// The parameter names of a layout. `one_width`: torch has one weight when query, key and value have
// one width, and three otherwise.
AttentionNames names_of(AttentionLayout layout, bool one_width = true);

// Which layout the tensors under `prefix` have, by their names and, between fused and gpt2, by
// shape: the side that fits the bias, or without one the longer side, is the outputs. Throws Error
// when nothing fits, when several do or when shape cannot tell.
AttentionLayout detect_layout(const StoredState& state, const std::string& prefix = {});
AttentionLayout detect_layout(const StateDict& state, const std::string& prefix = {});

struct AttentionLoadOptions {
  std::optional<AttentionLayout> layout = {};  // unset: detect_layout
  std::string prefix = {};                     // of the names in the state; see name_prefix
  int64_t heads = 1;
  int64_t kv_heads = 0;  // 0: heads
  float weight_dropout = 0;
  float output_dropout = 0;
  std::string place = {};
  std::string where = "tensors";  // what errors name, e.g. a path
};

// The module as it is stored: its parameters have the names (prefix included), shapes and
// orientation they have in the state. Widths follow from shapes and heads. A missing bias is none;
// a missing weight is an Error, and so is a tensor under the prefix that is no part of the module;
// a missing output projection means none; see beside_module for what is ignored.
MultiHeadAttention load_attention(const StoredState& state, const AttentionLoadOptions& options);
MultiHeadAttention load_attention(const StateDict& state, const AttentionLoadOptions& options);

}  // namespace headlight::nn
