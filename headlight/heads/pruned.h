// Heads removed for good.
#pragma once

#include <vector>

#include "headlight/nn/nn.h"

namespace headlight::heads {

// A smaller module of its own without these heads, which gives what the whole one gives with their
// gates at 0. Needs an output projection. With grouped heads, the key/value heads that still have a
// query head must be left with the same number of them; those without any go too. Throws
// Error(bad_input) otherwise, and when no head would stay.
nn::MultiHeadAttention pruned(const nn::MultiHeadAttention& attention,
                              const std::vector<int64_t>& heads);

}  // namespace headlight::heads
