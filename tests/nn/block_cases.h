// Blocks with the switches of TransformerBlockOptions alone and combined, for the tests that hold
// for all of them.
#pragma once

#include <string>
#include <vector>

#include "headlight/nn/nn.h"

namespace headlight::nn {

struct BlockCase {
  std::string name;
  TransformerBlockOptions options;
};

// A pre-norm decoder with weights of its own for query, key and value.
TransformerBlockOptions plain_decoder();
std::vector<BlockCase> block_cases();

// A block of these options with all parameters drawn, biases and norms too.
TransformerBlock drawn_block(const TransformerBlockOptions& options);

}  // namespace headlight::nn
