// Models that have lost heads for good.
#pragma once

#include <memory>
#include <vector>

#include "headlight/heads/head_name.h"

namespace headlight::heads {

// The numbers of `whole` for the heads that `smaller` has, which are among its own: another module
// of the same options but for heads_left. Gates go along.
void copy_kept_heads(const nn::MultiHeadAttention& whole, nn::MultiHeadAttention& smaller);

// A smaller model of its own without these heads: their columns and rows are gone, and it gives
// what the whole one gives with their gates at 0. Numbers of heads stay as they are; a key/value
// head goes with its last reader, and an attention may lose all its heads. Throws Error(bad_input)
// for heads that the model does not have, when none at all would stay, and where the model's type
// cannot lose heads.
std::unique_ptr<models::Model> pruned_model(const models::Model& model,
                                            const std::vector<HeadName>& removed);

// A copy that gives the same and has kept its shape: output weights of these heads are 0. Throws as
// pruned_model does.
std::unique_ptr<models::Model> silenced_model(const models::Model& model,
                                              const std::vector<HeadName>& removed);

}  // namespace headlight::heads
