// The state of a run of several ranks, of which each owns a part, as one. Inside train only.
#pragma once

#include <optional>
#include <vector>

#include "headlight/train/trainer.h"

namespace headlight::train {

// The optimizer's tensors in the order of the file. On the first rank load() gives the whole
// tensor; on the others it sends what they own of it and gives nothing: all ranks load all, in
// this order. The trainer must outlive it.
std::vector<io::PromisedTensor> promised_state(Trainer& trainer);

// The first rank's weights to all, and each rank's part of the optimizer's state, which the first
// one has read.
void share_state(Trainer& trainer, const nn::StoredState& optimizer_state);

// The first rank's.
std::optional<Progress> shared_progress(ranks::Group& group, const std::optional<Progress>& mine);

}  // namespace headlight::train
