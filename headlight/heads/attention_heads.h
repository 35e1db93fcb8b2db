// The attention modules of a model with the names of their heads: the one place that names them.
#pragma once

#include <string>
#include <vector>

#include "headlight/models/models.h"

namespace headlight::heads {

// Heads of one attention. Row t of stack `is_output_stack` gives the logits of position t; heads of
// an encoder whose output a decoder reads are of the other stack.
struct AttentionHeads {
  std::string place;                    // "decoder.0.self"
  std::vector<std::string> head_names;  // "decoder.0.self.3", one per head that there is
  int64_t head_width = 0;               // of what a head gives, before the output projection
  bool is_output_stack = false;
  bool is_last_layer = false;  // of its stack
  bool causal = false;         // a row depends on no later row of its stack

  int64_t heads() const { return static_cast<int64_t>(head_names.size()); }
};

// Of the whole model, in the order in which they compute.
std::vector<AttentionHeads> attention_heads(const models::Model& model);

}  // namespace headlight::heads
